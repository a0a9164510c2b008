//! The files of JavaScript and TypeScript of the workspace: their texts and the links between them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::limits::{MAX_LINKED_BYTES, MAX_LINKED_FILES};
use crate::query::provider_call::RequestContext;
use crate::server::document::{DocumentInput, DocumentSource};
use codeyard_base::blocking;
use codeyard_base::digest::sha256;
use codeyard_base::ids::LanguageId;
use codeyard_files::gate::Gate;
use codeyard_index::commonjs::ModuleLinks;
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
/// How many of them are of JavaScript.
const OF_JAVASCRIPT: usize = 4;

/// A file with its links.
pub(super) struct LinkedFile {
    pub(super) document: DocumentInput,
    pub(super) links: ModuleLinks,
}

/// The texts of all files, read once.
#[derive(Default)]
pub(super) struct Sources {
    texts: Arc<Vec<(PathBuf, String)>>,
    /// Whether files were left out because there are too many.
    pub(super) is_cut: bool,
}

/// Whether a symbol of this document may be an export of CommonJS: JavaScript, or TypeScript beside JavaScript.
pub(super) fn may_be_linked(document: &DocumentInput, context: RequestContext<'_>) -> bool {
    is_javascript(&document.source.uri.to_path())
        || context
            .files
            .and_then(|files| files.get())
            .is_some_and(|files| files.source_files().iter().any(|file| is_javascript(file)))
}

/// Whether it is a file of JavaScript.
pub(super) fn is_javascript(path: &Path) -> bool {
    language(path).is_some_and(|at| at < OF_JAVASCRIPT)
}

fn language(path: &Path) -> Option<usize> {
    let extension = path.extension()?.to_str()?;
    LANGUAGES.iter().position(|(known, _)| *known == extension)
}

/// A file with its links. `None` if it can't be read, or is too large.
pub(super) async fn linked_file(gate: &Gate, path: &Path) -> Option<Arc<LinkedFile>> {
    let (gate, path) = (gate.clone(), path.to_path_buf());
    blocking::spawn(move || read(&gate, &path)).await.ok().flatten().map(Arc::new)
}

/// Whether the text of a file of JavaScript says anything about CommonJS.
pub(super) async fn mentions_modules(gate: &Gate, path: &Path) -> bool {
    if !is_javascript(path) {
        return false;
    }
    let (gate, path) = (gate.clone(), path.to_path_buf());
    let mentions =
        move || text_of(&gate, &path).is_some_and(|(_, text)| text.contains("exports") || text.contains("require"));
    blocking::spawn(mentions).await.unwrap_or_default()
}

/// The text of a file inside the roots. `None` if it can't be read, is too large, or isn't UTF-8.
fn text_of(gate: &Gate, path: &Path) -> Option<(CanonicalUri, String)> {
    let uri = gate.path(path).ok()?;
    let (bytes, _) = gate.read(&uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES).ok()?;
    Some((uri, String::from_utf8(bytes).ok()?))
}

fn read(gate: &Gate, path: &Path) -> Option<LinkedFile> {
    let language = LanguageId::new(LANGUAGES[language(path)?].1);
    let (uri, text) = text_of(gate, path)?;
    let hash = sha256(text.as_bytes());
    let links = ModuleLinks::read(path.file_name()?.to_str()?, &text)?;
    let document = Arc::new(Document::new(text));
    let source = DocumentSource { uri, document, hash, settled: None };
    Some(LinkedFile { document: DocumentInput { source: Arc::new(source), language }, links })
}

/// The files of JavaScript whose text has `require` and the name, and whether files were left out because there are too many: at most
/// [`MAX_LINKED_FILES`] are looked at.
pub(super) async fn requiring(context: RequestContext<'_>, name: &str) -> (Vec<PathBuf>, bool) {
    let Some(files) = context.files.and_then(|files| files.get()) else { return Default::default() };
    let (files, gate, name) = (files.source_files(), context.gate.clone(), name.to_owned());
    let work = move || {
        let is_wanted = |path: &Path| {
            text_of(&gate, path).is_some_and(|(_, text)| text.contains("require") && text.contains(&name))
        };
        let mut scripts = files.iter().filter(|path| is_javascript(path));
        let first = scripts.by_ref().take(MAX_LINKED_FILES);
        let found = first.filter(|path| is_wanted(path)).map(|path| path.to_path_buf()).collect();
        (found, scripts.next().is_some())
    };
    blocking::spawn(work).await.unwrap_or_default()
}

impl Sources {
    /// Reads the texts of all files.
    pub(super) async fn read(context: RequestContext<'_>) -> Self {
        let Some(files) = context.files.and_then(|files| files.get()) else { return Self::default() };
        let (files, gate) = (files.source_files(), context.gate.clone());
        let work = move || {
            let (mut texts, mut bytes, mut is_cut) = (Vec::new(), 0, false);
            for path in files.iter().filter(|path| language(path).is_some()) {
                if texts.len() >= MAX_LINKED_FILES || bytes >= MAX_LINKED_BYTES {
                    is_cut = true;
                    break;
                }
                let Ok(uri) = gate.path(path) else { continue };
                let Ok((read, _)) = gate.read(&uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES) else { continue };
                bytes += read.len();
                if let Ok(text) = String::from_utf8(read) {
                    texts.push((path.clone(), text));
                }
            }
            Self { texts: Arc::new(texts), is_cut }
        };
        blocking::spawn(work).await.unwrap_or_default()
    }

    /// The files whose text has one of these.
    pub(super) async fn with_any(&self, wanted: Vec<String>) -> Vec<PathBuf> {
        let texts = self.texts.clone();
        let work = move || {
            let has_any = |text: &str| wanted.iter().any(|word| text.contains(word.as_str()));
            texts.iter().filter(|(_, text)| has_any(text)).map(|(path, _)| path.clone()).collect()
        };
        blocking::spawn(work).await.unwrap_or_default()
    }
}
