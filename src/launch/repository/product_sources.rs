//! The files of a product's repository that facts and snippets are read from.
//!
//! It reads the working copy of the pinned commit and writes nothing. Invariants: a file is opened strictly below the repository and never
//! through a link; sizes and counts are bounded; what can't be read is left out; the order is that of the inventory.

use std::collections::BTreeMap;
use std::path::Path;

use codeyard_base::digest::sha256hex;
use codeyard_files::gate::RootReader;
use codeyard_index::{Language, Symbol};
use codeyard_runs::stage::{StageError, StopFlag};

use crate::artifacts::facts::Evidence;
use crate::artifacts::repository::{FileKind, RepoInventory};
use crate::limits::MAX_API_FILE_BYTES;

/// Source files of a product that are read for its API.
const MAX_API_FILES: usize = 20_000;
/// Size of all source files that are read for the API, in bytes; the rest is left out.
const MAX_API_SOURCE_BYTES: usize = 64 * 1024 * 1024;

/// Largest file whose beginning is read.
const MAX_WHOLE_BYTES: u64 = 64 * 1024 * 1024;

/// Reads files of one repository.
pub(crate) struct ProductReader {
    reader: RootReader,
}

/// The text of a file, divided into lines.
pub(crate) struct SourceText {
    pub(crate) path: String,
    pub(crate) text: String,
    /// The byte at which each line begins.
    starts: Vec<usize>,
}

/// A source file and its symbols.
pub(crate) struct ParsedSource {
    pub(crate) source: SourceText,
    pub(crate) language: Language,
    pub(crate) symbols: Vec<Symbol>,
    /// By symbol, those directly inside of it; `None` is the file.
    inner: BTreeMap<Option<u32>, Vec<usize>>,
}

impl ProductReader {
    /// A reader of the files below `repo`.
    ///
    /// # Errors
    /// If the folder doesn't exist.
    pub(crate) fn open(repo: &Path) -> Result<Self, StageError> {
        let root = std::fs::canonicalize(repo).map_err(|error| {
            StageError::new("INTERNAL", format!("the working copy of the product can't be read: {error}"))
                .with("cause_class", "io")
        })?;
        Ok(Self { reader: RootReader::open(&root) })
    }

    /// The bytes of a file; `None` if it isn't a regular file below the repository, or is too large.
    pub(crate) fn read(&self, path: &str, max_bytes: u64) -> Option<Vec<u8>> {
        let is_plain = !path.is_empty() && !path.split('/').any(|part| matches!(part, "" | "." | ".."));
        let mut bytes = Vec::new();
        (is_plain && self.reader.read(Path::new(path), max_bytes, &mut bytes).is_ok()).then_some(bytes)
    }

    /// The text of a file. Bytes that aren't UTF-8 make it `None`.
    pub(crate) fn text(&self, path: &str, max_bytes: u64) -> Option<SourceText> {
        String::from_utf8(self.read(path, max_bytes)?).ok().map(|text| SourceText::new(path, text))
    }

    /// The beginning of a text of any size: whole lines of at most `max_bytes`.
    pub(crate) fn beginning(&self, path: &str, max_bytes: usize) -> Option<SourceText> {
        let mut bytes = self.read(path, MAX_WHOLE_BYTES)?;
        if bytes.len() > max_bytes {
            bytes.truncate(max_bytes);
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            bytes.truncate(end);
            bytes.shrink_to_fit();
        }
        String::from_utf8(bytes).ok().map(|text| SourceText::new(path, text))
    }

    /// The source files in one of `languages`, parsed.
    ///
    /// # Errors
    /// If the work has to stop.
    pub(crate) fn parse(
        &self,
        inventory: &RepoInventory,
        languages: &[Language],
        stop: &StopFlag,
    ) -> Result<Vec<ParsedSource>, StageError> {
        let mut parsed = Vec::new();
        let mut bytes = 0;
        let of_kind = inventory.files.iter().filter(|file| file.kind == FileKind::Source);
        for file in of_kind {
            if stop.is_set() {
                return Err(StageError::cancelled());
            }
            let language = file.language.as_deref().and_then(Language::by_name);
            let Some(language) = language.filter(|language| languages.contains(language)) else { continue };
            if parsed.len() >= MAX_API_FILES {
                break;
            }
            let Some(source) = self.text(&file.path, MAX_API_FILE_BYTES) else { continue };
            bytes += source.text.len();
            if bytes > MAX_API_SOURCE_BYTES {
                break;
            }
            let symbols = codeyard_index::extract::extract(language, &source.text).symbols;
            let language =
                if language == Language::C && is_cpp_header(&source.text) { Language::CPP } else { language };
            parsed.push(ParsedSource::new(source, language, symbols));
        }
        Ok(parsed)
    }
}

impl SourceText {
    pub(crate) fn new(path: &str, text: String) -> Self {
        let after = text.match_indices('\n').map(|(at, _)| at + 1).filter(|start| *start < text.len());
        let starts = std::iter::once(0).filter(|_| !text.is_empty()).chain(after).collect();
        Self { path: path.to_owned(), text, starts }
    }

    /// The number of lines.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// A line without its end, from 1; empty if there is none.
    pub(crate) fn line(&self, number: usize) -> &str {
        self.raw_lines(number, number).trim_end_matches(['\n', '\r'])
    }

    /// Lines with their ends.
    pub(crate) fn raw_lines(&self, first: usize, last: usize) -> &str {
        let Some(start) = first.checked_sub(1).and_then(|at| self.starts.get(at)) else { return "" };
        let end = self.starts.get(last).copied().unwrap_or(self.text.len());
        self.text.get(*start..end).unwrap_or_default()
    }

    /// The line of a byte, from 1.
    pub(crate) fn line_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).max(1)
    }

    /// These lines as evidence. Lines that don't exist are left out.
    pub(crate) fn evidence(&self, first: usize, last: usize) -> Option<Evidence> {
        let last = last.min(self.len());
        if first == 0 || first > last {
            return None;
        }
        let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        let sha256 = sha256hex(self.raw_lines(first, last));
        Some(Evidence { path: self.path.clone(), line_start: number(first), line_end: number(last), sha256 })
    }
}

impl ParsedSource {
    fn new(source: SourceText, language: Language, symbols: Vec<Symbol>) -> Self {
        let mut inner: BTreeMap<Option<u32>, Vec<usize>> = BTreeMap::new();
        for (at, symbol) in symbols.iter().enumerate() {
            inner.entry(symbol.parent).or_default().push(at);
        }
        Self { source, language, symbols, inner }
    }

    pub(crate) fn path(&self) -> &str {
        &self.source.path
    }

    /// The symbols directly inside of `parent`, with their places.
    pub(crate) fn children(&self, parent: Option<u32>) -> impl Iterator<Item = (usize, &Symbol)> {
        self.inner.get(&parent).into_iter().flatten().map(|at| (*at, &self.symbols[*at]))
    }

    /// The text of the lines of a symbol.
    pub(crate) fn text_of(&self, symbol: &Symbol) -> &str {
        self.source.raw_lines(symbol.line_start as usize, symbol.line_end as usize)
    }
}

/// Whether a header with the ending of C has C++. The index decides the same for itself.
fn is_cpp_header(text: &str) -> bool {
    let begins =
        |line: &str| ["namespace ", "template <", "template<", "class "].iter().any(|word| line.starts_with(word));
    text.lines().any(|line| begins(line.trim_start()))
}

/// Whether a character has no place on a page: it controls a terminal, changes the direction of the text, or means something to one program
/// only.
fn is_hidden_sign(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\t');
    is_control || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e000}'..='\u{f8ff}' | '\u{feff}')
}

/// Whether a text has such characters.
pub(crate) fn has_hidden_signs(text: &str) -> bool {
    text.contains(is_hidden_sign)
}

/// A text without such characters.
pub(crate) fn without_hidden_signs(text: &str) -> String {
    text.replace(is_hidden_sign, "")
}

/// The folder of a path; empty at the top.
pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path below a folder.
pub(crate) fn join(folder: &str, rest: &str) -> String {
    if folder.is_empty() { rest.to_owned() } else { format!("{folder}/{rest}") }
}

/// The path that `rest`, which may begin with `./` and `../`, means below a folder; `None` if it leaves the repository.
pub(crate) fn resolve(folder: &str, rest: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_evidence_are_those_of_the_artifacts() {
        for text in ["", "a", "a\n", "a\nb\r\n\nlast", "\n\n", "ä\n😀"] {
            let source = SourceText::new("f", text.to_owned());
            for first in 0..6 {
                for last in 0..6 {
                    let expected = Evidence::of("f", text.as_bytes(), first, last.min(source.len() as u32));
                    assert_eq!(source.evidence(first as usize, last as usize), expected, "{text:?} {first}-{last}");
                }
            }
        }
        let source = SourceText::new("f", "a\nb\r\nc".to_owned());
        assert_eq!((source.len(), source.line(2), source.line(9), source.line_of(3)), (3, "b", "", 2));
    }

    #[test]
    fn links_and_paths_that_leave_the_repository_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().join("repo");
        std::fs::create_dir_all(repo.join("sub")).unwrap();
        std::fs::write(dir.path().join("secret"), "s").unwrap();
        std::fs::write(repo.join("sub/plain"), "one\ntwo\nthree\n").unwrap();
        std::os::unix::fs::symlink("../secret", repo.join("link")).unwrap();
        std::os::unix::fs::symlink("sub", repo.join("folder")).unwrap();
        let reader = ProductReader::open(&repo).unwrap();
        for path in ["link", "folder/plain", "../secret", "sub/../sub/plain", "/etc/hostname", "sub", "", "none"] {
            assert!(reader.read(path, 100).is_none(), "{path}");
        }
        assert_eq!(reader.read("sub/plain", 100).unwrap(), b"one\ntwo\nthree\n");
        assert!(reader.read("sub/plain", 5).is_none());
        assert_eq!(reader.beginning("sub/plain", 9).unwrap().text, "one\ntwo\n");
        assert_eq!(ProductReader::open(&dir.path().join("none")).err().unwrap().code, "INTERNAL");
    }

    #[test]
    fn relative_paths_are_resolved() {
        assert_eq!(resolve("src/a", "../b/./c.ts").as_deref(), Some("src/b/c.ts"));
        assert_eq!(resolve("src", "../../x"), None);
        assert_eq!((folder("a/b.c"), folder("b"), join("", "x"), join("a", "x")), ("a", "", "x".into(), "a/x".into()));
    }
}
