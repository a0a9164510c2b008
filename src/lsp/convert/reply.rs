//! What decoded replies have in common: how many entries they have, and how their positions become UTF-16.

use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::hover::Hover;
use codeyard_model::position::{Range, RawLocation};
use codeyard_model::symbol::{RawDocumentSymbol, RawWorkspaceSymbol};

use super::calls::{RawCall, RawCallItem};
use super::positions::{AnswerDocuments, convert_symbol, range_from, retain};
use crate::text::Document;

/// The number of entries of an answer.
pub trait ReplyEntries {
    /// How many entries there are to canonicalise.
    fn entries(&self) -> usize;
}

/// What converting the positions of a reply reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversionCost {
    /// The document of the request only, for so many symbols.
    Symbols(usize),
    /// At most so many documents.
    Documents(usize),
    /// Any number of documents.
    Unbounded,
}

/// Whether a range begins in the first line of its document, where a byte order mark counts.
fn is_first(range: &Range) -> bool {
    range.start.line == 0
}

/// A decoded reply whose positions can be converted.
pub trait DecodedReply: ReplyEntries + Send + Sized + 'static {
    /// What the conversion reads.
    fn conversion_cost(&self) -> ConversionCost;

    /// Whether a range begins in the first line of a document other than that of the request.
    fn has_first_line(&self) -> bool {
        false
    }

    /// Converts all positions to UTF-16 and drops entries in documents whose text isn't available. Returns how many were dropped.
    /// `request_document` is the document of the request: hovers and document symbols lie in it.
    fn convert_positions(&mut self, documents: &mut AnswerDocuments<'_>, request_document: Option<&Document>) -> usize;
}

impl<T> ReplyEntries for Vec<T>
where
    T: ReplyEntry,
{
    fn entries(&self) -> usize {
        self.iter().map(T::weight).sum()
    }
}

/// An entry of a list.
pub trait ReplyEntry {
    /// Entries that it counts as.
    fn weight(&self) -> usize {
        1
    }
}

impl ReplyEntry for RawLocation {}
impl ReplyEntry for RawDocumentSymbol {}
impl ReplyEntry for RawWorkspaceSymbol {}
impl ReplyEntry for RawCallItem {}
impl ReplyEntry for RawCall {}
impl ReplyEntry for RawFileDiagnostics {
    fn weight(&self) -> usize {
        self.diagnostics.len()
    }
}

impl ReplyEntries for Option<Hover> {
    fn entries(&self) -> usize {
        usize::from(self.is_some())
    }
}

impl DecodedReply for Vec<RawLocation> {
    fn conversion_cost(&self) -> ConversionCost {
        ConversionCost::Documents(self.len())
    }

    fn has_first_line(&self) -> bool {
        self.iter().any(|at| is_first(&at.range))
    }

    fn convert_positions(&mut self, documents: &mut AnswerDocuments<'_>, _: Option<&Document>) -> usize {
        retain(self, |at| documents.convert(&at.uri, [&mut at.range]))
    }
}

impl DecodedReply for Option<Hover> {
    fn conversion_cost(&self) -> ConversionCost {
        ConversionCost::Symbols(1)
    }

    /// Without the document of the request the hover loses its range.
    fn convert_positions(&mut self, documents: &mut AnswerDocuments<'_>, request_document: Option<&Document>) -> usize {
        if let Some(hover) = self {
            let range = hover.range.zip(request_document);
            hover.range = range.map(|(range, document)| range_from(document, range, documents.rules()));
        }
        0
    }
}

impl DecodedReply for Vec<RawDocumentSymbol> {
    fn conversion_cost(&self) -> ConversionCost {
        ConversionCost::Symbols(self.len())
    }

    /// Without the document of the request all symbols are dropped.
    fn convert_positions(&mut self, documents: &mut AnswerDocuments<'_>, request_document: Option<&Document>) -> usize {
        let Some(document) = request_document else { return std::mem::take(self).len() };
        self.iter_mut().for_each(|symbol| convert_symbol(document, symbol, documents.rules()));
        0
    }
}

impl DecodedReply for Vec<RawWorkspaceSymbol> {
    fn conversion_cost(&self) -> ConversionCost {
        ConversionCost::Unbounded
    }

    fn has_first_line(&self) -> bool {
        self.iter().any(|symbol| is_first(&symbol.range))
    }

    fn convert_positions(&mut self, documents: &mut AnswerDocuments<'_>, _: Option<&Document>) -> usize {
        retain(self, |symbol| documents.convert(&symbol.uri, [&mut symbol.range]))
    }
}

impl DecodedReply for Vec<RawCallItem> {
    fn conversion_cost(&self) -> ConversionCost {
        ConversionCost::Documents(self.len())
    }

    fn has_first_line(&self) -> bool {
        self.iter().any(|item| is_first(&item.range))
    }

    fn convert_positions(&mut self, documents: &mut AnswerDocuments<'_>, _: Option<&Document>) -> usize {
        retain(self, |item| documents.convert_item(item))
    }
}

impl DecodedReply for Vec<RawCall> {
    fn conversion_cost(&self) -> ConversionCost {
        ConversionCost::Documents(self.len())
    }

    fn has_first_line(&self) -> bool {
        self.iter().any(|call| is_first(&call.item.range) || call.from_ranges.iter().any(is_first))
    }

    fn convert_positions(&mut self, documents: &mut AnswerDocuments<'_>, _: Option<&Document>) -> usize {
        retain(self, |call| {
            documents.convert_item(&mut call.item) && documents.convert(&call.calls_in, &mut call.from_ranges)
        })
    }
}

impl DecodedReply for Vec<RawFileDiagnostics> {
    fn conversion_cost(&self) -> ConversionCost {
        ConversionCost::Unbounded
    }

    fn has_first_line(&self) -> bool {
        self.iter().flat_map(|file| &file.diagnostics).any(|diagnostic| is_first(&diagnostic.range))
    }

    fn convert_positions(&mut self, documents: &mut AnswerDocuments<'_>, _: Option<&Document>) -> usize {
        retain(self, |file| documents.convert_diagnostics(file))
    }
}
