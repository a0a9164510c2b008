//! Columns of an answer, from a server's encoding to ours. What takes long is done on the blocking pool.
//!
//! The rules of the conversion are those of `codeyard_lsp::text::encoding`; here is where the texts come from: through the gate.

use std::collections::HashMap;
use std::sync::Arc;

use crate::server::document::DocumentInput;
use codeyard_base::blocking;
use codeyard_files::gate::Gate;
use codeyard_lsp::convert::{DocumentTexts, RawAnswer, answer_to_utf16};
use codeyard_lsp::limits;
use codeyard_lsp::text::Document;
use codeyard_lsp::text::encoding::PositionEncoding;
use codeyard_model::uri::UriAdmission;

/// So many files are read for a conversion without going to the blocking pool.
const INLINE_FILES: usize = 4;
/// So many symbols of the document asked about are converted without going there.
const INLINE_SYMBOLS: usize = 200;

/// The answer with its columns in UTF-16. `asked` is the document the question was about.
///
/// # Errors
/// If the blocking pool is gone, or the conversion panicked there.
pub(crate) async fn to_utf16(
    mut answer: RawAnswer,
    encoding: PositionEncoding,
    gate: &Gate,
    asked: Option<&DocumentInput>,
) -> Result<RawAnswer, tokio::task::JoinError> {
    if encoding == PositionEncoding::Utf16 {
        return Ok(answer);
    }
    let mut texts = GatedTexts { gate: gate.clone(), read: HashMap::new() };
    if let Some(DocumentInput { source, .. }) = asked {
        texts.read.insert(source.uri.as_str().to_owned(), Some(source.document.clone()));
    }
    let own = asked.map(|document| document.source.document.clone());
    let quick = reads_little(&answer);
    let convert = move || {
        answer_to_utf16(&mut answer, encoding, own.as_deref(), &mut texts);
        answer
    };
    if quick { Ok(convert()) } else { blocking::spawn(convert).await }
}

/// Whether converting an answer takes less than the way to another thread and back: it has few entries in few files.
fn reads_little(answer: &RawAnswer) -> bool {
    match answer {
        RawAnswer::Locations(list) => list.len() <= INLINE_FILES,
        RawAnswer::Hover(_) => true,
        RawAnswer::DocumentSymbols(list) => list.len() <= INLINE_SYMBOLS,
        RawAnswer::CallItems(list) => list.len() <= INLINE_FILES,
        RawAnswer::Calls(list) => list.len() <= INLINE_FILES,
        RawAnswer::WorkspaceSymbols(_) | RawAnswer::Diagnostics(_) => false,
    }
}

/// Texts of files inside the roots, for converting columns.
struct GatedTexts {
    gate: Gate,
    read: HashMap<String, Option<Arc<Document>>>,
}

impl DocumentTexts for GatedTexts {
    fn outside(&mut self, uri: &str) -> bool {
        matches!(self.gate.admit(uri), UriAdmission::Outside)
    }

    fn document(&mut self, uri: &str) -> Option<Arc<Document>> {
        if let Some(known) = self.read.get(uri) {
            return known.clone();
        }
        let document = match self.gate.admit(uri) {
            UriAdmission::Inside(inside) => self
                .gate
                .read(&inside, limits::MAX_DOCUMENT_BYTES)
                .ok()
                .and_then(|(bytes, _)| String::from_utf8(bytes).ok())
                .map(|text| Arc::new(Document::new(text))),
            _ => None,
        };
        self.read.insert(uri.to_owned(), document.clone());
        document
    }
}
