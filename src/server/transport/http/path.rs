//! Endpoint paths: `/mcp`, `/mcp/{workspace}`, `/mcp/{workspace}/{catalogs}`, `/mcp/@{group}/{catalogs}`, and the same with `/mcp` at the
//! end, which some clients append, and by which others tell the transport.
//!
//! Only the form is checked here; workspaces and groups are looked up after authentication. Invariant: a parsed name needs no decoding
//! before it is compared with other names.

use std::borrow::Cow;

use axum::http::Method;
use axum::http::request::Parts;

use super::minting::TokenRequest;
use super::refusal::{HttpRefusal, RefusalReason};
use codeyard_base::ids::is_name;
use codeyard_gateway::service::GROUP_CATALOG;

/// Longest list of catalogs in a path, in bytes.
const MAX_CATALOGS: usize = 256;

/// The end of an alias.
const ALIAS_END: &str = "/mcp";

/// Parts that clients append to the address of a server.
const APPENDED_PARTS: [&str; 4] = ["mcp", "sse", "message", "messages"];

/// The names in a path.
#[derive(Debug, PartialEq, Eq)]
pub struct EndpointPath<'a> {
    /// The workspace, or `@` and a group; `None` is the default workspace.
    pub workspace: Option<Cow<'a, str>>,
    /// The catalogs, joined with `+`; `None` is `lsp-v1`.
    pub catalogs: Option<Cow<'a, str>>,
}

/// What a request is addressed to.
pub(super) enum Target<'a> {
    Endpoint(EndpointPath<'a>),
    /// A request for tokens, or its refusal, which only an authenticated caller receives.
    Tokens(Result<TokenRequest, RefusalReason>),
}

impl<'a> Target<'a> {
    /// The target of a request, whose path and method fit each other.
    pub(super) fn of(parts: &'a Parts) -> Result<Self, HttpRefusal> {
        if let Some(request) = TokenRequest::of(parts) {
            return Ok(Self::Tokens(request));
        }
        let path = parts.uri.path();
        let endpoint = EndpointPath::parse(path).ok_or_else(|| HttpRefusal::of_path(path))?;
        match parts.method {
            Method::POST | Method::DELETE => Ok(Self::Endpoint(endpoint)),
            _ => Err(RefusalReason::Method.into()),
        }
    }
}

impl<'a> EndpointPath<'a> {
    /// Parses a path; `None` if it doesn't have the form of an endpoint path.
    pub fn parse(path: &'a str) -> Option<Self> {
        let rest = path.strip_prefix("/mcp")?;
        if rest.is_empty() {
            return Some(Self { workspace: None, catalogs: None });
        }
        let rest = rest.strip_prefix('/')?;
        let rest = rest.strip_suffix(ALIAS_END).unwrap_or(rest);
        let (workspace, catalogs) = match rest.split_once('/') {
            Some((workspace, catalogs)) => (workspace, Some(catalogs_of(catalogs)?)),
            None => (rest, None),
        };
        let workspace = match workspace.strip_prefix("%40") {
            Some(group) => Cow::Owned(format!("@{group}")),
            None => Cow::Borrowed(workspace),
        };
        is_name(workspace.strip_prefix('@').unwrap_or(&workspace)).then_some(())?;
        Some(Self { workspace: Some(workspace), catalogs })
    }

    /// The endpoint path that a client with this path, which is none, is likely to mean; `None` without a hint of one. It has no other
    /// characters than an endpoint path.
    pub fn nearest(path: &str) -> Option<String> {
        let path = path.to_ascii_lowercase();
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let first = parts.iter().position(|part| APPENDED_PARTS.contains(part))?;
        parts.drain(..=first);
        parts.truncate(2);
        while parts.last().is_some_and(|part| APPENDED_PARTS.contains(part)) {
            parts.pop();
        }
        let nearest: String = ["mcp"].into_iter().chain(parts).map(|part| format!("/{part}")).collect();
        EndpointPath::parse(&nearest).is_some().then_some(nearest)
    }

    /// Whether it names a group and other catalogs than `code`. No group is served so, whichever groups there are.
    pub fn is_group_without_code(&self) -> bool {
        let names_group = self.workspace.as_ref().is_some_and(|name| name.starts_with('@'));
        names_group && self.catalogs.as_deref() != Some(GROUP_CATALOG)
    }
}

/// The word for the copies of a result that a query string asks for, such as `content=text`. Everything else in it is ignored.
pub(super) fn asked_content(query: Option<&str>) -> Option<&str> {
    query?.split('&').find_map(|part| part.strip_prefix("content="))
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
        let text = |name: Option<Cow<'_, str>>| name.map(Cow::into_owned);
        let parsed = |path| EndpointPath::parse(path).map(|path| (text(path.workspace), text(path.catalogs)));
        assert_eq!(parsed("/mcp"), Some((None, None)));
        assert_eq!(parsed("/mcp/linux"), Some((Some("linux".into()), None)));
        for path in ["/mcp/@all/code", "/mcp/%40all/code"] {
            assert_eq!(parsed(path), Some((Some("@all".into()), Some("code".into()))), "{path}");
        }
        for path in ["/mcp/linux/agent+code", "/mcp/linux/agent%2Bcode", "/mcp/linux/agent%2bcode"] {
            assert_eq!(parsed(path), Some((Some("linux".into()), Some("agent+code".into()))), "{path}");
        }
        for (path, workspace, catalogs) in [
            ("/mcp/linux/mcp", "linux", None),
            ("/mcp/linux/agent+code/mcp", "linux", Some("agent+code")),
            ("/mcp/@all/code/mcp", "@all", Some("code")),
            ("/mcp/mcp", "mcp", None),
            ("/mcp/mcp/mcp", "mcp", None),
            ("/mcp/mcp/agent/mcp", "mcp", Some("agent")),
        ] {
            assert_eq!(parsed(path), Some((Some(workspace.into()), catalogs.map(str::to_owned))), "{path}");
        }
        for bad in [
            "/mcp/a/b/mcp/mcp", "/mcp//mcp", "/mcp/a//mcp", "/mcp/a/mcp/", "", "/", "*", "/mc", "/mcpx", "/MCP",
            "/mcp/", "//mcp", "/mcp//lsp-v1", "/mcp/Linux", "/mcp/a/", "/mcp/a/b/c", "/mcp/a/B", "/mcp/a/+b",
            "/mcp/a/b+", "/mcp/a/b%20c", "/mcp/%61", "/mcp/@", "/mcp/@@all", "/mcp/@All", "/mcp/@%40all", "/mcp/a@all",
            "/mcp/..", "/mcp/a/..", "/livez",
        ] {
            assert_eq!(EndpointPath::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_query_string_may_ask_for_one_copy_of_results() {
        for (query, asked) in [
            (None, None),
            (Some("x=1&contents=text"), None),
            (Some("content=text"), Some("text")),
            (Some("x=1&content=structured"), Some("structured")),
            (Some("content=both&content=text"), Some("both")),
            (Some("content="), Some("")),
        ] {
            assert_eq!(asked_content(query), asked, "{query:?}");
        }
    }

    #[test]
    fn a_wrong_path_has_a_nearest_endpoint() {
        for (path, nearest) in [
            ("/mcp/", "/mcp"),
            ("/sse", "/mcp"),
            ("/mcp/linux/", "/mcp/linux"),
            ("//mcp//linux/agent/", "/mcp/linux/agent"),
            ("/mcp/linux/agent/sse", "/mcp/linux/agent"),
            ("/api/mcp/linux/sse", "/mcp/linux"),
            ("/MCP/Linux/Agent", "/mcp/linux/agent"),
            ("/mcp/linux/agent/mcp/mcp", "/mcp/linux/agent"),
        ] {
            assert_eq!(EndpointPath::parse(path), None, "{path}");
            assert_eq!(EndpointPath::nearest(path).as_deref(), Some(nearest), "{path}");
        }
        for none in ["", "/", "*", "/favicon.ico", "/linux/agent", "/mcp/<script>", "/mcp/%61/b", "/mcp/a/b c", "/mcpx"]
        {
            assert_eq!(EndpointPath::nearest(none), None, "{none}");
        }
    }

    #[test]
    fn groups_are_served_with_the_catalog_code_only() {
        let is_wrong = |path| EndpointPath::parse(path).unwrap().is_group_without_code();
        for path in ["/mcp/@all", "/mcp/@all/lsp-v1", "/mcp/@none/agent", "/mcp/%40all/agent+code"] {
            assert!(is_wrong(path), "{path}");
        }
        for path in ["/mcp/@all/code", "/mcp/linux", "/mcp", "/mcp/linux/agent"] {
            assert!(!is_wrong(path), "{path}");
        }
    }
}
