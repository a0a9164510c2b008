//! Checks the files of a query without touching the disk: the call looks at files, and [`Begin`](super::messages::Begin) brings what it saw.
//!
//! Invariants: no file is looked at on the actor's thread; a query begins only if its document, and each file of a retained page, was
//! looked at after the call began; a difference counts as an edit once.

use crate::query::file_looks::{FileCheck, Look, Sight};
use crate::query::{plan, position_check};
use crate::workspace::actor::Workspace;
use codeyard_base::ids::LanguageId;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::Snapshot;

/// Why a query doesn't begin.
pub(super) enum Halt {
    /// The call must look at these files first.
    Look(Vec<Look>),
    /// It can't be answered.
    Failed(ToolError),
}

impl From<ToolError> for Halt {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// What a call has seen of files, oldest first.
pub(super) struct Sights(pub(super) Vec<Sight>);

impl Sights {
    /// The last sight of a file.
    fn of(&self, uri: &CanonicalUri) -> Option<&Sight> {
        self.0.iter().rev().find(|sight| sight.uri() == uri)
    }
}

impl Workspace {
    /// Compares the document of the query with its last observation; a difference counts as an edit.
    pub(super) fn check_document(&mut self, query: &GatedQuery, sights: &Sights) -> Result<Option<FileCheck>, Halt> {
        let Some(uri) = query.uri() else { return Ok(None) };
        let checked = sights.of(uri).and_then(|sight| self.known.lock().apply(sight));
        match checked {
            None => Err(Halt::Look(vec![self.known.lock().look_at_document(uri)])),
            Some(Ok(check)) => {
                if let Some(source) = self.known.lock().text(uri) {
                    // It may be ignored, or not listed yet.
                    self.setup.servers.index.note(&uri.to_path(), source.document.text().as_bytes());
                }
                if check == FileCheck::Changed {
                    self.on_edit(uri);
                }
                Ok(Some(check))
            }
            Some(Err(error)) => {
                self.on_deleted(uri);
                Err(error.into())
            }
        }
    }

    /// Whether the files on the page are unchanged since the result was computed.
    pub(super) fn page_is_current(
        &mut self,
        snapshot: &Snapshot,
        query: &GatedQuery,
        sights: &Sights,
        document_check: Option<FileCheck>,
        offset: u64,
    ) -> Result<bool, Halt> {
        let size = query.page().map(|page| page.size).unwrap_or(usize::MAX);
        // The document of the query was compared just now; if it was unchanged, it is not compared again.
        let checked = query.uri().filter(|_| document_check == Some(FileCheck::Same));
        let mut files = snapshot.result().files_on_page(offset, size, query.style());
        files.retain(|uri| Some(uri) != checked);
        let mut is_current = true;
        let mut edited = Vec::new();
        let mut unseen = Vec::new();
        for uri in &files {
            let checked = sights.of(uri).and_then(|sight| self.known.lock().apply(sight));
            match checked {
                None => unseen.push(self.known.lock().look_at(uri)),
                Some(Ok(FileCheck::Same)) => {}
                Some(Ok(FileCheck::Changed | FileCheck::New)) => edited.push(uri.clone()),
                Some(Err(_)) => {
                    self.on_deleted(uri);
                    is_current = false;
                }
            }
        }
        self.on_edits(&edited);
        match is_current && edited.is_empty() {
            true if !unseen.is_empty() => Err(Halt::Look(unseen)),
            is_current => Ok(is_current),
        }
    }

    /// The document of the query with its text and language, after [`Self::check_document`].
    pub(super) fn open_document(&mut self, query: &GatedQuery, sights: &Sights) -> Result<Option<DocumentInput>, Halt> {
        let Some(uri) = query.uri() else { return Ok(None) };
        let kept = self.known.lock().text(uri);
        let Some(source) = kept else {
            return Err(match sights.of(uri).and_then(Sight::text_error) {
                Some(error) => error.clone().into(),
                None => Halt::Look(vec![self.known.lock().look_at_document(uri)]),
            });
        };
        if !matches!(query, Query::Lsp(_))
            && let Some(position) = query.position()
            && source.document.check(position).is_none()
        {
            let message =
                "the position lies beyond the document; lines and characters count from 0, characters in UTF-16";
            return Err(ToolError::new(ErrorCode::NotFound, message).into());
        }
        let Some(language) = self.setup.servers.index.language_of(&uri.to_path()) else {
            return Err(plan::no_server().to_error().into());
        };
        let document = DocumentInput { source, language: LanguageId::new(language) };
        if let Query::Lsp(lsp_query) = query {
            position_check::check_position(lsp_query, &document)?;
        }
        Ok(Some(document))
    }
}
