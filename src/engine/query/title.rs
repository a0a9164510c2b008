//! The title of a result of the tool `lsp`.

use codeyard_files::gate::Gate;
use codeyard_model::operation::{LspQuery, QuerySubject};
use codeyard_model::uri::CanonicalUri;

/// Most characters of a name in a title.
const MAX_TITLE_NAME_CHARS: usize = 200;

/// The title of every page of the result (`docs/internals/reference/contract-agent.md#results`): the operation, then the path relative to its
/// root and the position, counted from 1, or the name.
pub(crate) fn title(query: &LspQuery<CanonicalUri>, gate: &Gate) -> String {
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
