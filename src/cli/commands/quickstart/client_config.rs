//! The MCP client configuration that the quickstart prints.

use std::path::Path;

use serde_json::{Value, json};

use crate::args::QuickstartArgs;

/// The configuration for HTTP and for stdio, with the catalog whose tool names every MCP host accepts.
pub(super) fn text(url: &str, token: &str, samples: &Path, args: &QuickstartArgs) -> String {
    let http = json!({"mcpServers": {"codeyard": {
        "type": "http",
        "url": format!("{url}/python/lsp-v1-safe"),
        "headers": {"Authorization": format!("Bearer {token}")},
    }}});
    let program = std::env::current_exe().unwrap_or_else(|_| "codeyard".into());
    let root = samples.join("python");
    let mut words = vec![json!("stdio"), json!("--root"), json!(root), json!("--catalog"), json!("lsp-v1-safe")];
    if let Some(state) = args.state.state_dir.as_ref().and_then(|dir| dir.canonicalize().ok()) {
        words.extend([json!("--state-dir"), json!(state)]);
    }
    let stdio = json!({"mcpServers": {"codeyard": {"type": "stdio", "command": program, "args": words}}});
    let shown = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    format!(
        "HTTP, while this server runs:\n{}\nstdio, started by the client:\n{}\n\
        More clients: examples/clients. Your own repository: codeyard serve --root PATH",
        shown(&http),
        shown(&stdio),
    )
}
