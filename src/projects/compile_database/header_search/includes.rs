//! Reads the includes of a C or C++ file, without preprocessing it.
//!
//! Directives in comments and in branches that are never compiled are read too: an include directory too many does no harm, one too few
//! does. The branch that an include stands in is recorded, because only those outside of all conditions must be resolvable. An include of
//! a macro has no name and is left out. Invariants: any bytes give a result; at most [`MAX_SCANNED_BYTES`] are read and [`MAX_INCLUDES`] kept.

use std::collections::HashMap;
use std::path::Path;

use memchr::memchr_iter;

use super::conditions::{Branch, Conditions, first_word};
use crate::compile_database::build_files::build_hints::names_other_system;
use crate::limits::MAX_SCANNED_BYTES;
use codeyard_files::gate::read_start_below;

/// Includes of one file.
const MAX_INCLUDES: usize = 4_096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum IncludeForm {
    /// `"name"`: the directory of the including file comes first.
    Quoted,
    /// `<name>`.
    Angled,
    /// `#include_next`: the directory of the including file is skipped.
    Next,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Include {
    /// The name between the delimiters.
    pub name: Box<str>,
    /// How it is written.
    pub form: IncludeForm,
    /// The branch that it stands in. Of several includes of one name, the one that is compiled most often counts.
    pub branch: Branch,
}

/// What is known about a file from its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ScannedFile {
    /// Its includes, in order, without repetition.
    pub includes: Vec<Include>,
    /// It has declarations that only C++ has, outside of conditional branches.
    pub is_cpp: bool,
    /// The definition, `NAME` or `NAME=VALUE`, without which most of the file isn't compiled.
    pub needs: Option<Box<str>>,
    /// It has nothing but directives and comments.
    pub is_only_directives: bool,
}

/// Scans the file at `path` below `root`; `None` if it can't be read.
pub(crate) fn scan_file(root: &Path, path: &Path) -> Option<ScannedFile> {
    Some(scan(&read_start_below(root, path, MAX_SCANNED_BYTES).ok()?))
}

pub(super) fn scan(text: &[u8]) -> ScannedFile {
    let mut found = ScannedFile::default();
    // Where each include is in the list.
    let mut known: HashMap<(Box<str>, IncludeForm), usize> = HashMap::new();
    let mut conditions = Conditions::default();
    // The branch outside of all others that is open, by the definition that it needs and where it begins.
    let mut branch: Option<(Box<str>, usize)> = None;
    let mut end = 0;
    for at in memchr_iter(b'#', text) {
        // A line that continues a directive begins none.
        if at < end {
            continue;
        }
        let Some(directive) = directive_at(text, at) else { continue };
        end = at + 1 + directive.len();
        let directive = trimmed(directive);
        let name_end = directive.iter().position(|byte| !byte.is_ascii_alphabetic() && *byte != b'_');
        let (name, rest) = directive.split_at(name_end.unwrap_or(directive.len()));
        match name {
            b"include" | b"import" | b"include_next" => {
                conditions.on_include();
                let Some(include) = include(name, rest, conditions.branch()) else { continue };
                match known.get(&(include.name.clone(), include.form)) {
                    Some(at) => found.includes[*at].branch = found.includes[*at].branch.min(include.branch),
                    None if found.includes.len() < MAX_INCLUDES => {
                        known.insert((include.name.clone(), include.form), found.includes.len());
                        found.includes.push(include);
                    }
                    None => {}
                }
            }
            _ => {
                let before = conditions.depth();
                conditions.on_directive(name, trimmed(rest));
                match (before, conditions.depth()) {
                    (0, 1) => branch = definition_for(name, trimmed(rest)).map(|definition| (definition, at)),
                    (1, 0) => {
                        let whole = branch.take().filter(|(_, start)| (at - start) * 2 > text.len());
                        found.needs = found.needs.or(whole.map(|(definition, _)| definition));
                    }
                    _ => {}
                }
            }
        }
    }
    found.is_cpp = looks_like_cpp(text);
    found.is_only_directives = has_only_directives(text);
    found
}

/// The definition that makes a condition true: for `#ifdef NAME`, `#if defined(NAME)`, `#if NAME == 1`. Of several names the first counts.
/// `None` for conditions on compilers and other systems, and for those that are true without it.
fn definition_for(directive: &[u8], condition: &[u8]) -> Option<Box<str>> {
    let text = std::str::from_utf8(condition).ok()?.trim_start_matches(['(', ' ']);
    let text = text.strip_prefix("defined").map_or(text, |rest| rest.trim_start_matches(['(', ' ']));
    let name = std::str::from_utf8(first_word(text.as_bytes())).ok()?;
    let is_own = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.len() > 2
        && !names_other_system(&name.replace('_', " "));
    if !is_own || !matches!(directive, b"if" | b"ifdef") {
        return None;
    }
    let rest = text[name.len()..].trim_start();
    match rest.strip_prefix("==") {
        Some(value) => {
            let value: String = value.trim_start().chars().take_while(char::is_ascii_digit).collect();
            (!value.is_empty()).then(|| format!("{name}={value}").into())
        }
        None if rest.starts_with(['<', '>', '!', '+', '-', '(']) => None,
        None => Some(name.into()),
    }
}

/// The directive whose `#` is at `at`: its text behind the `#`, up to the end of the line and of those that continue it. `None` if the `#`
/// doesn't begin the line.
fn directive_at(text: &[u8], at: usize) -> Option<&[u8]> {
    let line_start = text[..at].iter().rposition(|byte| !matches!(byte, b' ' | b'\t'));
    let begins_line = line_start.is_none_or(|before| {
        matches!(text[before], b'\n' | b'\r') || text[..at].starts_with(b"\xef\xbb\xbf") && before == 2
    });
    if !begins_line {
        return None;
    }
    let rest = &text[at + 1..];
    let mut ends = memchr::memchr2_iter(b'\n', b'\r', rest);
    let end = ends.find(|end| !is_continued(&rest[..*end])).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// Whether a line goes on behind its end.
fn is_continued(line: &[u8]) -> bool {
    line.strip_suffix(b"\r").unwrap_or(line).ends_with(b"\\")
}

fn include(directive: &[u8], rest: &[u8], branch: Branch) -> Option<Include> {
    let rest = trimmed(rest);
    let (close, form) = match rest.first()? {
        b'"' => (b'"', IncludeForm::Quoted),
        b'<' => (b'>', IncludeForm::Angled),
        _ => return None,
    };
    let length = memchr::memchr(close, &rest[1..])?;
    let name = std::str::from_utf8(&rest[1..=length]).ok()?.trim();
    let form = if directive == b"include_next" { IncludeForm::Next } else { form };
    let is_usable = !name.is_empty() && !name.contains(['\0', '\t']);
    is_usable.then(|| Include { name: name.replace('\\', "/").into(), form, branch })
}

/// Whether a text has nothing but directives and comments.
fn has_only_directives(text: &[u8]) -> bool {
    let mut rest = text.trim_ascii_start();
    while let Some(first) = rest.first() {
        let end = match first {
            _ if rest.starts_with(b"/*") => memchr::memmem::find(rest, b"*/").map(|end| end + 2),
            _ if rest.starts_with(b"//") => memchr::memchr(b'\n', rest),
            b'#' => memchr_iter(b'\n', rest).find(|end| !rest[..*end].trim_ascii_end().ends_with(b"\\")),
            _ => return false,
        };
        rest = end.map_or(&[][..], |end| &rest[end..]).trim_ascii_start();
    }
    true
}

/// Whether a line begins with a word that only C++ has, outside of all conditional branches.
fn looks_like_cpp(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 9] = [
        b"namespace ", b"template<", b"template <", b"class ", b"using ", b"constexpr ", b"public:", b"private:",
        b"enum class ",
    ];
    let mut open = 0_usize;
    for line in text.split(|byte| *byte == b'\n') {
        let line = trimmed(line);
        match line.first() {
            Some(b'#') => {
                let directive = trimmed(&line[1..]);
                // The body of an include guard is one branch deep.
                let tests_cpp = || directive.windows(11).any(|word| word == b"__cplusplus");
                if directive.starts_with(b"if") && (open > 0 || tests_cpp()) {
                    open += 1;
                } else if directive.starts_with(b"endif") {
                    open = open.saturating_sub(1);
                }
            }
            Some(_) if open == 0 && WORDS.iter().any(|word| line.starts_with(word)) => return true,
            _ => {}
        }
    }
    false
}

fn trimmed(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use IncludeForm::{Angled, Next, Quoted};

    fn names(text: &str) -> Vec<(String, IncludeForm, bool)> {
        let found = scan(text.as_bytes()).includes;
        let is_conditional = |include: &Include| include.branch != Branch::Always;
        found.into_iter().map(|include| (include.name.to_string(), include.form, is_conditional(&include))).collect()
    }

    #[test]
    fn all_forms_of_includes_are_read() {
        let text = "\u{feff}#include \"a.h\"\r\n  #  include\t<b/c.h> // x\r\n#import <d.h>\n#include_next <e.h>\n#include MACRO\n\
                    #include \"ü ö.h\"\nint x; #include <no.h>\n#include \"open.h\n#include \"win\\dir.h\"\n#include \"a.h\"";
        let expected = [
            ("a.h", Quoted),
            ("b/c.h", Angled),
            ("d.h", Angled),
            ("e.h", Next),
            ("ü ö.h", Quoted),
            ("win/dir.h", Quoted),
        ];
        assert_eq!(names(text), expected.map(|(name, form)| (name.to_owned(), form, false)));
    }

    #[test]
    fn only_the_include_guard_is_no_condition() {
        let guarded = "// c\n#pragma once\n#ifndef A_H\n#define A_H 1\n#include <a.h>\n#ifdef X\n#include <b.h>\n#else\n#include <c.h>\n#endif\n\
                       #include <d.h>\n#endif\n";
        let conditional =
            |text| names(text).into_iter().map(|(name, _, conditional)| (name, conditional)).collect::<Vec<_>>();
        let expected = [("a.h", false), ("b.h", true), ("c.h", true), ("d.h", false)];
        assert_eq!(conditional(guarded), expected.map(|(name, conditional)| (name.to_owned(), conditional)));
        let tested = "#ifndef A\n#include <a.h>\n#define A\n#endif\n#if 1\n#include <b.h>\n#endif\n#include <b.h>\n#endif\n#endif\n#include <c.h>";
        let expected = [("a.h", true), ("b.h", false), ("c.h", false)];
        assert_eq!(conditional(tested), expected.map(|(name, conditional)| (name.to_owned(), conditional)));
    }

    #[test]
    fn the_language_of_a_header_shows_outside_of_cplusplus_branches() {
        let is_cpp = |text: &str| scan(text.as_bytes()).is_cpp;
        assert!(is_cpp("#ifndef A\n#define A\nnamespace a {\n}\n#endif"));
        assert!(is_cpp("template <class T> struct A;"));
        assert!(!is_cpp(
            "#ifdef __cplusplus\n#if 1\nclass A;\n#endif\nnamespace a {\n#endif\nint class_of(int using);\n"
        ));
        assert!(!is_cpp("struct a { int b; };"));
    }

    #[test]
    fn the_definition_that_most_of_a_file_needs_is_found() {
        let needs = |text: &str| scan(text.as_bytes()).needs.map(String::from);
        let body = "int a(void);\n".repeat(20);
        let file = |condition: &str| format!("#include <a.h>\n{condition}\n{body}#endif /* x */\n");
        assert_eq!(needs(&file("#ifdef USE_TLS")).as_deref(), Some("USE_TLS"));
        assert_eq!(needs(&file("#if (USE_TLS == 1 /* yes */ ) || (USE_TLS == 2)")).as_deref(), Some("USE_TLS=1"));
        assert_eq!(needs(&file("# if defined( USE_TLS ) && defined(B)")).as_deref(), Some("USE_TLS"));
        for condition in [
            "#if 0", "#ifndef USE_TLS", "#ifdef _WIN32", "#ifdef WIN32", "#if !defined(USE_TLS)", "#if LEVEL > 3",
            "#ifdef __linux__",
        ] {
            assert_eq!(needs(&file(condition)), None, "{condition}");
        }
        assert_eq!(needs(&format!("{body}#ifdef SMALL\nint b;\n#endif\n")), None);
        assert_eq!(needs(&format!("#ifndef A_H\n#define A_H\n{body}#endif\n")), None);
    }

    #[test]
    fn a_file_of_directives_only_is_recognised() {
        let is_only = |text: &str| scan(text.as_bytes()).is_only_directives;
        for text in ["", "/* a\n b */ // c\n#define A \\\n  1\n  #include \"a.c\" /* d */\n", "#", "/*"] {
            assert!(is_only(text), "{text}");
        }
        for text in ["int a;", "#define A\nA", "/* a */ b", "#include \"a.h\"\n;"] {
            assert!(!is_only(text), "{text}");
        }
    }

    #[test]
    fn any_bytes_give_a_result() {
        for bytes in [&b"#"[..], b"#include", b"#include <", b"\xff\xfe#\x00include \"\xff\"", b"#endif\n#include <a>"]
        {
            assert!(scan(bytes).includes.len() <= 1);
        }
        // Each `#` of these is at the start of a line that goes on to the end, or in as many branches as there are lines before it.
        assert_eq!(scan(&b"#define A \\\n#include <a.h> \\\n".repeat(50_000)).includes, []);
        let open = "#if A\n".repeat(50_000) + &"#include <a.h>\n".repeat(50_000);
        assert_eq!(scan(open.as_bytes()).includes.len(), 1);
        let many: String = (0..MAX_INCLUDES + 9).map(|n| format!("#include \"{n}.h\"\n")).collect();
        assert_eq!(scan(many.as_bytes()).includes.len(), MAX_INCLUDES);
    }
}
