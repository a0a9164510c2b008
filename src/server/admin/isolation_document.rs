//! The isolation of a workspace's language servers, as the admin API shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the language servers of a workspace may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IsolationDocument {
    /// `restricted` or `trusted`.
    pub level: String,
    /// Whether the workspace's configuration names the level. Otherwise it follows the number of principals.
    pub configured: bool,
    /// The mechanism that confines the servers, seen to hold in a child process: `bubblewrap` or `landlock`. Absent in a `trusted` workspace.
    pub mechanism: Option<String>,
    /// Why no mechanism holds. Then no language server of the workspace is started.
    pub problem: Option<String>,
}
