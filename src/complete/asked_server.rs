//! A language server as this crate asks it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::try_join_all;

use crate::commonjs::ModuleCache;
use codeyard_files::gate::Gate;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::registry::ServerSpec;
use codeyard_model::epoch::Epochs;
use codeyard_model::error::ToolError;
use codeyard_model::position::{Position, RawLocation};

/// Requests that wait at the server at a time.
const AT_ONCE: usize = 64;

/// One server, and the workspace that it serves.
pub trait AskedServer: Copy + Send + Sync {
    /// Why it gives no answer.
    type Failure: From<ToolError> + Send;

    /// Where the symbol at a position is defined.
    fn definition(
        &self,
        document: &DocumentInput,
        position: Position,
    ) -> impl Future<Output = Result<Vec<RawLocation>, Self::Failure>> + Send;

    /// Where the symbol at a position is used.
    fn references(
        &self,
        document: &DocumentInput,
        position: Position,
        include_declaration: bool,
    ) -> impl Future<Output = Result<Vec<RawLocation>, Self::Failure>> + Send;

    /// Its registry entry.
    fn spec(&self) -> &ServerSpec;

    /// Whether a file is in one of its languages.
    fn serves(&self, file: &Path) -> bool;

    /// The path gate; it also reads files.
    fn gate(&self) -> &Gate;

    /// The source files of the workspace; `None` while they aren't known.
    fn source_files(&self) -> Option<Arc<[PathBuf]>>;

    /// What earlier questions read of the modules of the workspace, and the epochs at which this one was asked.
    fn modules(&self) -> Option<(&ModuleCache, Epochs)>;
}

/// Where the symbols at many positions are defined, in their order.
///
/// # Errors
/// As of any request to the server.
pub(crate) async fn definitions<S: AskedServer>(
    server: &S,
    places: &[(DocumentInput, Position)],
) -> Result<Vec<Vec<RawLocation>>, S::Failure> {
    let mut all = Vec::with_capacity(places.len());
    for some in places.chunks(AT_ONCE) {
        let asked = some.iter().map(|(document, position)| server.definition(document, *position));
        all.extend(try_join_all(asked).await?);
    }
    Ok(all)
}
