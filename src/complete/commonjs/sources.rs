//! The files of JavaScript and TypeScript of the workspace: their texts and the links between them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::module_cache::ModuleWords;
use crate::asked_server::AskedServer;
use codeyard_base::digest::sha256;
use codeyard_base::ids::LanguageId;
use codeyard_files::gate::{FileStamp, Gate};
use codeyard_index::Language;
use codeyard_index::commonjs::ModuleLinks;
use codeyard_lsp::documents::document_input::{DocumentInput, DocumentSource};
use codeyard_lsp::text::Document;
use codeyard_model::uri::CanonicalUri;

/// Extensions with their language ids; those of JavaScript come first.
const LANGUAGES: [(&str, &str); 8] = [
    ("js", "javascript"),
    ("cjs", "javascript"),
    ("mjs", "javascript"),
    ("jsx", "javascriptreact"),
    ("ts", "typescript"),
    ("cts", "typescript"),
    ("mts", "typescript"),
    ("tsx", "typescriptreact"),
];
/// The extensions that a specifier may leave out.
const UNWRITTEN: [&str; 5] = ["js", "jsx", "ts", "tsx", "d.ts"];
/// How many of the languages are of JavaScript.
const OF_JAVASCRIPT: usize = 4;
/// Bytes that one item of [`ModuleLinks`] takes, about.
const BYTES_PER_LINK: usize = 96;

/// A file with its links.
pub(super) struct LinkedFile {
    pub(super) document: DocumentInput,
    pub(super) links: ModuleLinks,
}

impl LinkedFile {
    /// Its size in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let ModuleLinks { exports, es_exports, imports, requires, members, functions, callees, properties, .. } =
            &self.links;
        let lists = [exports.len(), es_exports.len(), imports.len(), requires.len(), members.len(), functions.len()];
        // The places of callees and properties take less than an item of a list.
        let items = lists.iter().sum::<usize>() + (callees.len() + properties.len()) / 4;
        self.document.source.document.text().len() + items * BYTES_PER_LINK
    }
}

/// The words of all files. Without a list of files there are none.
pub(super) async fn words(server: &impl AskedServer) -> Arc<ModuleWords> {
    let (Some((cache, epochs)), Some(listed)) = (server.modules(), server.source_files()) else {
        return Arc::default();
    };
    let cache = cache.clone();
    server.gate().run(move |gate| cache.words(&listed, gate, &epochs)).await.unwrap_or_default()
}

/// Whether it is a file of JavaScript.
pub(super) fn is_javascript(path: &Path) -> bool {
    language(path).is_some_and(|at| at < OF_JAVASCRIPT)
}

/// Whether it is a file of JavaScript or TypeScript.
pub(super) fn is_module(path: &Path) -> bool {
    language(path).is_some()
}

/// The position of a file's language. A file without an extension may be a script of JavaScript: its text decides.
fn language(path: &Path) -> Option<usize> {
    let Some(extension) = path.extension() else { return Some(0) };
    let extension = extension.to_str()?;
    LANGUAGES.iter().position(|(known, _)| *known == extension)
}

/// A file with its links. `None` if it can't be read, or is too large.
pub(super) async fn linked_file(
    server: &impl AskedServer,
    path: &Path,
    settled: Option<FileStamp>,
) -> Option<Arc<LinkedFile>> {
    if !is_module(path) {
        return None;
    }
    let cache = server.modules().map(|(cache, _)| cache.clone()).unwrap_or_default();
    let path = path.to_path_buf();
    server.gate().run(move |gate| cache.file(gate, &path, settled)).await.ok().flatten()
}

/// Whether the text of a file says anything about CommonJS.
pub(super) async fn mentions_modules(gate: &Gate, path: &Path) -> bool {
    if !is_module(path) {
        return false;
    }
    let path = path.to_path_buf();
    let mentions = move |gate: &Gate| {
        let text = stamped_text(gate, &path).map(|((_, text), _)| text).unwrap_or_default();
        is_module_text(&path, &text) && (text.contains("require") || (is_javascript(&path) && text.contains("exports")))
    };
    gate.run(mentions).await.unwrap_or_default()
}

/// The text of a file inside the roots. `None` if it can't be read, is too large, or isn't UTF-8.
pub(crate) fn stamped_text(gate: &Gate, path: &Path) -> Option<((CanonicalUri, String), FileStamp)> {
    let uri = gate.path(path).ok()?;
    let (bytes, stamp) = gate.read(&uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES).ok()?;
    Some(((uri, String::from_utf8(bytes).ok()?), stamp))
}

/// Whether the file is one of JavaScript or TypeScript, also by its text.
pub(super) fn is_module_text(path: &Path, text: &str) -> bool {
    let is_script = || {
        let found = path.to_str().and_then(|path| Language::of_file(path, text.as_bytes()));
        found.is_some_and(|language| language.shares_names_with(Language::JAVASCRIPT))
    };
    path.extension().is_some() || is_script()
}

/// A text with its links.
pub(super) fn linked(path: &Path, uri: CanonicalUri, text: String) -> Option<LinkedFile> {
    let language = LanguageId::new(LANGUAGES[language(path)?].1);
    let hash = sha256(text.as_bytes());
    let links = ModuleLinks::read(path.file_name()?.to_str()?, &text)?;
    let document = Arc::new(Document::new(text));
    let source = DocumentSource { uri, document, hash, settled: None };
    Some(LinkedFile { document: DocumentInput { source: Arc::new(source), language }, links })
}

/// The files that a relative specifier may name, by the rules of Node and TypeScript: without an extension, another one, or in a folder.
/// `None` if the specifier isn't relative, or leaves the file system.
pub(super) fn relative_candidates(from: &Path, specifier: &str) -> Option<Vec<PathBuf>> {
    let is_relative = ["./", "../"].iter().any(|start| specifier.starts_with(start)) || matches!(specifier, "." | "..");
    let folder = from.parent().filter(|_| is_relative)?;
    let mut place = folder.to_path_buf();
    for part in specifier.split('/') {
        match part {
            "" | "." => {}
            ".." if !place.pop() => return None,
            ".." => {}
            name => place.push(name),
        }
    }
    let names_folder = specifier.ends_with('/') || matches!(specifier.rsplit('/').next(), Some("." | ".."));
    let mut candidates = Vec::new();
    if !names_folder {
        candidates.push(place.clone());
        let with = |extension: &str| PathBuf::from(format!("{}.{extension}", place.display()));
        candidates.extend(UNWRITTEN.iter().map(|extension| with(extension)));
        let typed = match place.extension().and_then(|extension| extension.to_str()) {
            Some("js") => &["ts", "tsx", "d.ts"][..],
            Some("cjs") => &["cts", "d.cts"][..],
            Some("mjs") => &["mts", "d.mts"][..],
            _ => &[],
        };
        candidates.extend(typed.iter().map(|extension| place.with_extension(extension)));
    }
    let inside = |extension: &str| place.join(format!("index.{extension}"));
    candidates.extend(UNWRITTEN.iter().map(|extension| inside(extension)));
    Some(candidates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifiers_name_files_and_folders() {
        let all = |specifier: &str| relative_candidates(Path::new("/r/lib/a.js"), specifier);
        let has = |specifier: &str, path: &str| all(specifier).unwrap().contains(&PathBuf::from(path));
        assert!(has("./b", "/r/lib/b.js") && has("./b", "/r/lib/b/index.ts") && !has("./b", "/r/lib/b.mjs"));
        assert!(has("./b.js", "/r/lib/b.js") && has("./b.js", "/r/lib/b.ts") && has("./b.js", "/r/lib/b.js.ts"));
        assert!(has("..", "/r/index.js") && has("../", "/r/index.js") && !has("..", "/r.js"));
        assert!(has("../x/./../y", "/r/y.ts") && !has("./b/", "/r/lib/b.js"));
        for other in ["b", "/b", "#b", "@x/b", "", "../../../b", ".b"] {
            assert_eq!(all(other), None, "{other}");
        }
    }
}
