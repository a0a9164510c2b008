//! The MCP client configuration that the quickstart prints.

use std::path::Path;

use serde_json::{Value, json};

use crate::args::QuickstartArgs;

/// The configuration for HTTP and for stdio, with the catalog that works in every MCP host.
pub(super) fn text(url: &str, token: &str, samples: &Path, args: &QuickstartArgs) -> String {
    let http = json!({"mcpServers": {"codeyard": {
        "type": "http",
        "url": format!("{url}/python/agent"),
        "headers": {"Authorization": format!("Bearer {token}")},
    }}});
    let program = std::env::current_exe().unwrap_or_else(|_| "codeyard".into());
    let root = samples.join("python");
    let mut words = vec![json!("stdio"), json!("--root"), json!(root), json!("--catalog"), json!("agent")];
    if let Some(state) = args.state.state_dir.as_ref().and_then(|dir| dir.canonicalize().ok()) {
        words.extend([json!("--state-dir"), json!(state)]);
    }
    let stdio = json!({"mcpServers": {"codeyard": {"type": "stdio", "command": program, "args": words}}});
    let shown = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    format!(
        "HTTP, while this server runs:\n{}\nstdio, started by the client:\n{}\n\
        Your own host and repository: `codeyard connect` lists the hosts, `codeyard connect HOST --root PATH` shows the entry",
        shown(&http),
        shown(&stdio),
    )
}
