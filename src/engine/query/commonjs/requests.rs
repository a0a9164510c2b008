//! The requests to the server: definitions and references at a place of any file.

use futures::future::try_join_all;

use crate::query::no_answer::ProviderFailure;
use crate::query::operations::{definition, references};
use crate::query::provider::Provider;
use crate::query::provider_call::{self, RequestContext};
use crate::server::documents::document::DocumentInput;
use codeyard_model::position::{Position, RawLocation};

/// Requests that wait at the server at a time.
const AT_ONCE: usize = 64;

/// Asks one server about places of files.
#[derive(Clone, Copy)]
pub(super) struct ServerQuestions<'a> {
    pub(super) provider: &'a Provider,
    pub(super) context: RequestContext<'a>,
}

impl ServerQuestions<'_> {
    /// Where the symbol at a position is defined.
    pub(super) async fn definition(
        &self,
        document: &DocumentInput,
        position: Position,
    ) -> Result<Vec<RawLocation>, ProviderFailure> {
        let request = definition::at(document.clone(), position, self.provider.spec.quirks.open_set_matters);
        provider_call::ask(self.provider, &request, self.context).await
    }

    /// The same for many positions, in their order.
    pub(super) async fn definitions(
        &self,
        places: &[(DocumentInput, Position)],
    ) -> Result<Vec<Vec<RawLocation>>, ProviderFailure> {
        let mut all = Vec::with_capacity(places.len());
        for some in places.chunks(AT_ONCE) {
            let asked = some.iter().map(|(document, position)| self.definition(document, *position));
            all.extend(try_join_all(asked).await?);
        }
        Ok(all)
    }

    /// Where the symbol at a position is used.
    pub(super) async fn references(
        &self,
        document: &DocumentInput,
        position: Position,
        include_declaration: bool,
    ) -> Result<Vec<RawLocation>, ProviderFailure> {
        let is_opened = self.provider.spec.quirks.open_set_matters;
        let request = references::at(document.clone(), position, include_declaration, is_opened);
        provider_call::ask(self.provider, &request, self.context).await
    }
}
