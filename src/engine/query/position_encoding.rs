//! Converts the columns of an answer from the server's position encoding to UTF-16. Conversions that are long or read files run on the
//! blocking pool.
//!
//! `codeyard_lsp::text::encoding` has the rules of the conversion. This module reads the texts that it needs, through the path gate.

use std::collections::HashMap;
use std::sync::Arc;

use codeyard_files::gate::Gate;
use codeyard_lsp::convert::{ConversionCost, DecodedReply, DocumentTexts, answer_to_utf16};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::limits;
use codeyard_lsp::text::Document;
use codeyard_lsp::text::encoding::PositionEncoding;
use codeyard_model::error::ToolError;
use codeyard_model::uri::UriAdmission;

/// Most symbols of the query's document that are converted outside the blocking pool.
const INLINE_SYMBOLS: usize = 200;

/// The answer with its columns in UTF-16. `query_document` is the document that the query is about.
///
/// # Errors
/// INTERNAL: the blocking pool has ended, or the conversion panicked there.
pub(crate) async fn to_utf16<R: DecodedReply>(
    mut answer: R,
    encoding: PositionEncoding,
    gate: &Gate,
    query_document: Option<&DocumentInput>,
) -> Result<R, ToolError> {
    if encoding == PositionEncoding::Utf16 {
        return Ok(answer);
    }
    let mut texts = GatedTexts { gate: gate.clone(), read: HashMap::new() };
    if let Some(DocumentInput { source, .. }) = query_document {
        texts.read.insert(source.uri.as_str().to_owned(), Some(source.document.clone()));
    }
    let own = query_document.map(|document| document.source.document.clone());
    let is_inline = is_cheap(answer.conversion_cost());
    let convert = move |_: &Gate| {
        answer_to_utf16(&mut answer, encoding, own.as_deref(), &mut texts);
        answer
    };
    if is_inline { Ok(convert(gate)) } else { gate.run(convert).await }
}

/// Whether the conversion reads no file and takes less time than a round trip to another thread.
fn is_cheap(cost: ConversionCost) -> bool {
    match cost {
        ConversionCost::Documents(count) => count == 0,
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
        if let Some(document) = self.read.get(uri) {
            return document.clone();
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
