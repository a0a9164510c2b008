//! The files of JavaScript and TypeScript of the workspace: their texts and the links between them.

use std::collections::BTreeMap;
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
    pub(super) texts: Vec<(PathBuf, String)>,
    /// Whether files were left out because there are too many.
    pub(super) is_cut: bool,
}

/// The files that were parsed.
#[derive(Default)]
pub(super) struct LinkedFiles(BTreeMap<PathBuf, Option<Arc<LinkedFile>>>);

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

impl LinkedFiles {
    /// A file with its links. `None` if it can't be read, or is too large.
    pub(super) fn get(&mut self, gate: &Gate, path: &Path) -> Option<Arc<LinkedFile>> {
        if let Some(known) = self.0.get(path) {
            return known.clone();
        }
        let file = read(gate, path).map(Arc::new);
        self.0.insert(path.into(), file.clone());
        file
    }
}

fn read(gate: &Gate, path: &Path) -> Option<LinkedFile> {
    let language = LanguageId::new(LANGUAGES[language(path)?].1);
    let uri: CanonicalUri = gate.path(path).ok()?;
    let (bytes, _) = gate.read(&uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES).ok()?;
    let hash = sha256(&bytes);
    let text = String::from_utf8(bytes).ok()?;
    let links = ModuleLinks::read(path.file_name()?.to_str()?, &text)?;
    let document = Arc::new(Document::new(text));
    let source = DocumentSource { uri, document, hash, settled: None };
    Some(LinkedFile { document: DocumentInput { source: Arc::new(source), language }, links })
}

impl Sources {
    /// Reads the texts of all files.
    pub(super) async fn read(context: RequestContext<'_>) -> Self {
        let Some(files) = context.files.and_then(|files| files.get()) else { return Self::default() };
        let (files, gate) = (files.source_files(), context.gate.clone());
        let work = move || {
            let mut sources = Self::default();
            let mut bytes = 0;
            for path in files.iter().filter(|path| language(path).is_some()) {
                if sources.texts.len() >= MAX_LINKED_FILES || bytes >= MAX_LINKED_BYTES {
                    sources.is_cut = true;
                    break;
                }
                let Ok(uri) = gate.path(path) else { continue };
                let Ok((read, _)) = gate.read(&uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES) else { continue };
                bytes += read.len();
                if let Ok(text) = String::from_utf8(read) {
                    sources.texts.push((path.clone(), text));
                }
            }
            sources
        };
        blocking::spawn(work).await.unwrap_or_default()
    }
}
