//! Columns of an answer, from a server's encoding to ours. What takes long is done on the blocking pool.
//!
//! The rules of the conversion are those of `codeyard_lsp::text::encoding`; here is where the texts come from: through the gate.

use std::collections::HashMap;
use std::sync::Arc;

use crate::server::document::DocumentInput;
use codeyard_base::blocking;
use codeyard_files::gate::Gate;
use codeyard_lsp::convert::{ConversionCost, DecodedReply, DocumentTexts, answer_to_utf16};
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
pub(crate) async fn to_utf16<R: DecodedReply>(
    mut answer: R,
    encoding: PositionEncoding,
    gate: &Gate,
    asked: Option<&DocumentInput>,
) -> Result<R, tokio::task::JoinError> {
    if encoding == PositionEncoding::Utf16 {
        return Ok(answer);
    }
    let mut texts = GatedTexts { gate: gate.clone(), read: HashMap::new() };
    if let Some(DocumentInput { source, .. }) = asked {
        texts.read.insert(source.uri.as_str().to_owned(), Some(source.document.clone()));
    }
    let own = asked.map(|document| document.source.document.clone());
    let quick = reads_little(answer.conversion_cost());
    let convert = move || {
        answer_to_utf16(&mut answer, encoding, own.as_deref(), &mut texts);
        answer
    };
    if quick { Ok(convert()) } else { blocking::spawn(convert).await }
}

/// Whether converting an answer takes less time than a change of threads and back.
fn reads_little(cost: ConversionCost) -> bool {
    match cost {
        ConversionCost::Documents(count) => count <= INLINE_FILES,
        ConversionCost::Symbols(count) => count <= INLINE_SYMBOLS,
        ConversionCost::Unbounded => false,
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
