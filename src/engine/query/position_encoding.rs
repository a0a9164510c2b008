//! Converts the positions of an answer from those of the server to those of clients. Conversions that are long or read files run on the
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
use codeyard_lsp::text::encoding::{PositionEncoding, PositionRules};
use codeyard_model::error::ToolError;
use codeyard_model::uri::UriAdmission;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Most symbols of the query's document that are converted outside the blocking pool.
const INLINE_SYMBOLS: usize = 200;

/// The answer with its columns in UTF-16. `query_document` is the document that the query is about.
///
/// # Errors
/// INTERNAL: the blocking pool has ended, or the conversion panicked there.
pub(crate) async fn to_utf16<R: DecodedReply>(
    mut answer: R,
    rules: PositionRules,
    gate: &Gate,
    query_document: Option<&DocumentInput>,
) -> Result<R, ToolError> {
    if is_as_clients_count(&answer, rules, query_document) {
        return Ok(answer);
    }
    let mut texts = GatedTexts { gate: gate.clone(), rules, read: HashMap::new(), marked: HashMap::new() };
    if let Some(DocumentInput { source, .. }) = query_document {
        texts.read.insert(source.uri.as_str().to_owned(), Some(source.document.clone()));
    }
    let own = query_document.map(|document| document.source.document.clone());
    let is_inline = is_cheap(answer.conversion_cost());
    let convert = move |_: &Gate| {
        answer_to_utf16(&mut answer, rules, own.as_deref(), &mut texts);
        answer
    };
    if is_inline { Ok(convert(gate)) } else { gate.run(convert).await }
}

/// Whether no position of the answer needs a conversion.
fn is_as_clients_count<R: DecodedReply>(
    answer: &R,
    rules: PositionRules,
    query_document: Option<&DocumentInput>,
) -> bool {
    let own = query_document.map(|document| &document.source.document);
    match answer.conversion_cost() {
        ConversionCost::Symbols(_) => {
            let is_plain = own.is_none_or(|own| !own.has_mark() && !own.differs_by(rules.lines_answered));
            is_plain && rules.encoding == PositionEncoding::Utf16
        }
        _ => !(rules.need_texts() || rules.counts_mark && answer.has_first_line()),
    }
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
    rules: PositionRules,
    /// `None`: it can't be read, or no position in it needs a conversion. Most texts are such, and an answer may name thousands.
    read: HashMap<String, Option<Arc<Document>>>,
    /// Whether files begin with a byte order mark.
    marked: HashMap<String, bool>,
}

impl DocumentTexts for GatedTexts {
    fn outside(&mut self, uri: &str) -> bool {
        matches!(self.gate.admit(uri), UriAdmission::Outside)
    }

    fn has_mark(&mut self, uri: &str) -> bool {
        if let Some(Some(document)) = self.read.get(uri) {
            return document.has_mark();
        }
        let gate = &self.gate;
        *self.marked.entry(uri.to_owned()).or_insert_with(|| match gate.admit(uri) {
            UriAdmission::Inside(inside) => gate.starts_with(&inside, BYTE_ORDER_MARK),
            _ => false,
        })
    }

    fn document(&mut self, uri: &str) -> Option<Arc<Document>> {
        if let Some(document) = self.read.get(uri) {
            return document.clone();
        }
        let rules = self.rules;
        let is_converted = |document: &Arc<Document>| {
            rules.encoding != PositionEncoding::Utf16
                || document.has_mark()
                || document.differs_by(rules.lines_answered)
        };
        let document = match self.gate.admit(uri) {
            UriAdmission::Inside(inside) => self
                .gate
                .read(&inside, limits::MAX_DOCUMENT_BYTES)
                .ok()
                .and_then(|(bytes, _)| String::from_utf8(bytes).ok())
                .map(|text| Arc::new(Document::new(text)))
                .filter(is_converted),
            _ => None,
        };
        self.read.insert(uri.to_owned(), document.clone());
        document
    }
}
