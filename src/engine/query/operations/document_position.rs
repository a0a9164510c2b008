//! A position in a document, as most requests name one.

use crate::server::requests::request::SessionView;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::methods::{self, PositionParams};
use codeyard_model::position::Position;

/// A position in a document that is in its present version.
#[derive(Debug, Clone)]
pub(super) struct DocumentPosition {
    /// The document.
    pub(super) document: DocumentInput,
    /// Where in it, UTF-16.
    pub(super) position: Position,
    /// Whether the server has the document open when it answers.
    pub(super) is_opened: bool,
}

impl DocumentPosition {
    /// A position in a document.
    pub(super) fn new(document: DocumentInput, position: Position) -> Self {
        Self { document, position, is_opened: true }
    }

    /// The document, if the server must have it open.
    pub(super) fn opened(&self) -> Option<&DocumentInput> {
        self.is_opened.then_some(&self.document)
    }

    /// The parameters that most methods about a position take.
    pub(super) fn params(&self, session: &SessionView<'_>) -> PositionParams<'_> {
        methods::at(self.document.source.uri.as_str(), session.position(&self.document, self.position))
    }
}
