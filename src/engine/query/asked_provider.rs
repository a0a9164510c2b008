//! A provider as the crate `complete` asks it: for definitions and references at a place of any file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::query::no_answer::ProviderFailure;
use crate::query::operations::{definition, references};
use crate::query::provider::Provider;
use crate::query::provider_call::{self, RequestContext};
use crate::status::watch_slot::WatchSlot;
use codeyard_complete::AskedServer;
use codeyard_complete::commonjs::ModuleCache;
use codeyard_files::gate::Gate;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::registry::ServerSpec;
use codeyard_model::epoch::Epochs;
use codeyard_model::position::{Position, RawLocation};

/// The files of a workspace, for questions about several of them.
#[derive(Clone, Copy)]
pub(crate) struct WorkspaceFiles<'a> {
    /// Lists them.
    pub(crate) slot: &'a WatchSlot,
    /// What earlier questions read of them.
    pub(crate) modules: &'a ModuleCache,
    /// The epochs at which the question was asked.
    pub(crate) epochs: Epochs,
}

/// One provider in one execution.
#[derive(Clone, Copy)]
pub(crate) struct AskedProvider<'a> {
    pub(crate) provider: &'a Provider,
    pub(crate) context: RequestContext<'a>,
}

impl AskedServer for AskedProvider<'_> {
    type Failure = ProviderFailure;

    async fn definition(
        &self,
        document: &DocumentInput,
        position: Position,
    ) -> Result<Vec<RawLocation>, ProviderFailure> {
        let request = definition::at(document.clone(), position, self.provider.spec.quirks.open_set_matters);
        provider_call::ask(self.provider, &request, self.context).await
    }

    async fn references(
        &self,
        document: &DocumentInput,
        position: Position,
        include_declaration: bool,
    ) -> Result<Vec<RawLocation>, ProviderFailure> {
        let is_opened = self.provider.spec.quirks.open_set_matters;
        let request = references::at(document.clone(), position, include_declaration, is_opened);
        provider_call::ask(self.provider, &request, self.context).await
    }

    fn spec(&self) -> &ServerSpec {
        &self.provider.spec
    }

    fn serves(&self, file: &Path) -> bool {
        self.provider.servers.serves(&self.provider.spec, file)
    }

    fn gate(&self) -> &Gate {
        self.context.gate
    }

    fn source_files(&self) -> Option<Arc<[PathBuf]>> {
        Some(self.context.files?.slot.get()?.source_files())
    }

    fn modules(&self) -> Option<(&ModuleCache, Epochs)> {
        self.context.files.map(|files| (files.modules, files.epochs))
    }
}
