//! Endpoint paths: `/mcp`, `/mcp/{workspace}`, `/mcp/{workspace}/{catalogs}`.
//!
//! Only the form is checked here; the workspace is looked up after authentication. Invariant: a parsed name needs no decoding before
//! it is compared with other names.

use std::borrow::Cow;

use codeyard_base::ids::WorkspaceName;

/// Longest list of catalogs in a path, in bytes.
const MAX_CATALOGS: usize = 256;

/// The names in a path.
#[derive(Debug, PartialEq, Eq)]
pub struct EndpointPath<'a> {
    /// The workspace; `None` is the default one.
    pub workspace: Option<&'a str>,
    /// The catalogs, joined with `+`; `None` is `lsp-v1`.
    pub catalogs: Option<Cow<'a, str>>,
}

impl<'a> EndpointPath<'a> {
    /// Parses a path; `None` if it doesn't have the form of an endpoint path.
    pub fn parse(path: &'a str) -> Option<Self> {
        let rest = path.strip_prefix("/mcp")?;
        if rest.is_empty() {
            return Some(Self { workspace: None, catalogs: None });
        }
        let rest = rest.strip_prefix('/')?;
        let (workspace, catalogs) = match rest.split_once('/') {
            Some((workspace, catalogs)) => (workspace, Some(catalogs_of(catalogs)?)),
            None => (rest, None),
        };
        WorkspaceName::is_well(workspace).then_some(())?;
        Some(Self { workspace: Some(workspace), catalogs })
    }
}

/// Parses names of `[a-z0-9-]+` joined with `+`, which may be percent-encoded.
fn catalogs_of(text: &str) -> Option<Cow<'_, str>> {
    let text = if text.contains('%') { Cow::Owned(text.replace("%2B", "+").replace("%2b", "+")) } else { text.into() };
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_valid =
        text.len() <= MAX_CATALOGS && text.split('+').all(|name| !name.is_empty() && name.bytes().all(is_plain));
    is_valid.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_paths_are_parsed_and_others_rejected() {
        let parsed = |path| EndpointPath::parse(path).map(|path| (path.workspace, path.catalogs.map(Cow::into_owned)));
        assert_eq!(parsed("/mcp"), Some((None, None)));
        assert_eq!(parsed("/mcp/linux"), Some((Some("linux"), None)));
        for path in ["/mcp/linux/agent+code", "/mcp/linux/agent%2Bcode", "/mcp/linux/agent%2bcode"] {
            assert_eq!(parsed(path), Some((Some("linux"), Some("agent+code".into()))), "{path}");
        }
        for bad in [
            "",
            "/",
            "*",
            "/mc",
            "/mcpx",
            "/MCP",
            "/mcp/",
            "//mcp",
            "/mcp//lsp-v1",
            "/mcp/Linux",
            "/mcp/a/",
            "/mcp/a/b/c",
            "/mcp/a/B",
            "/mcp/a/+b",
            "/mcp/a/b+",
            "/mcp/a/b%20c",
            "/mcp/%61",
            "/mcp/..",
            "/mcp/a/..",
            "/livez",
        ] {
            assert_eq!(EndpointPath::parse(bad), None, "{bad}");
        }
    }
}
