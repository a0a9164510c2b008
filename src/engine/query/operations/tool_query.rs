//! A query of the tool `lsp`, and the result that it makes of canonical entries: all nine operations have the same kind of result.

use std::path::Path;

use crate::query::canonicalise::context::CanonicalContext;
use codeyard_files::gate::Gate;
use codeyard_model::lsp_items::{LspItems, ResultPaths};
use codeyard_model::operation::{LspQuery, QuerySubject};
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::{CanonicalResult, LspResult};

/// Most characters of a name in a title.
const MAX_TITLE_NAME_CHARS: usize = 200;

/// A query of the tool `lsp`.
#[derive(Debug, Clone)]
pub(super) struct ToolQuery(pub(super) LspQuery<CanonicalUri>);

impl ToolQuery {
    /// The result of the query.
    pub(super) fn result(&self, found: LspItems, context: &mut CanonicalContext<'_>) -> CanonicalResult {
        let Self(query) = self;
        let root = context.gate.root_set().allowed().next().map(Path::to_path_buf).unwrap_or_default();
        let document = query.subject.uri().cloned();
        let calls_in = context.calls_in.take();
        CanonicalResult::Lsp(LspResult {
            operation: query.operation,
            title: title(query, context.gate),
            found,
            notes: context.take_notes(),
            paths: ResultPaths { root, document, calls_in },
        })
    }
}

/// The title of every page of the result (`docs/internals/reference/contract-agent.md#results`): the operation, then the path relative to its root and the
/// position, counted from 1, or the name.
fn title(query: &LspQuery<CanonicalUri>, gate: &Gate) -> String {
    let operation = query.operation.as_str();
    let relative = |uri: &CanonicalUri| {
        let path = uri.to_path();
        let roots = gate.root_set().allowed().filter_map(|root| path.strip_prefix(root).ok());
        roots.min_by_key(|rest| rest.as_os_str().len()).unwrap_or(&path).display().to_string()
    };
    match &query.subject {
        QuerySubject::At(uri, at) => {
            format!("{operation} {}:{}:{}", relative(uri), u64::from(at.line) + 1, u64::from(at.character) + 1)
        }
        QuerySubject::File(uri) => format!("{operation} {}", relative(uri)),
        QuerySubject::Name(name) => {
            format!("{operation} {}", name.chars().take(MAX_TITLE_NAME_CHARS).collect::<String>())
        }
    }
}
