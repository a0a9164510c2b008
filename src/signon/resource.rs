//! This server as OAuth sees it: the URLs of its resources, their metadata (RFC 9728), and the challenges of refusals (RFC 6750).

use std::fmt::Write as _;

use serde_json::{Value, json};

/// Where metadata of resources are, before the path of the resource (RFC 9728, section 3.1).
pub const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The server's own URL, in parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerUrl {
    /// `https://code.example.org`.
    origin: String,
    /// The path that a proxy adds, without a `/` at its end.
    prefix: String,
}

/// What a refusal asks a client to do.
#[derive(Debug, Clone, Copy)]
pub struct Challenge<'a> {
    /// The path of the request.
    pub path: &'a str,
    /// The error code of RFC 6750 and a sentence; `None` for a request without a token.
    pub error: Option<(&'static str, &'a str)>,
    /// The scopes that the request needs, with blanks between them.
    pub scope: &'a str,
}

impl ServerUrl {
    /// The parts of a URL that was checked.
    pub(crate) fn new(url: &str) -> Self {
        let host = url.find("://").map_or(0, |at| at + 3);
        let end = url[host..].find('/').map_or(url.len(), |at| host + at);
        Self { origin: url[..end].to_owned(), prefix: url[end..].trim_end_matches('/').to_owned() }
    }

    /// The URL of a resource of the server.
    pub(crate) fn of(&self, path: &str) -> String {
        format!("{}{}{path}", self.origin, self.prefix)
    }

    /// Where the metadata of the resource at `path` are.
    pub(crate) fn of_metadata(&self, path: &str) -> String {
        format!("{}{WELL_KNOWN}{}{path}", self.origin, self.prefix)
    }

    /// The path of the resource whose metadata are asked for at `path`; `None` if it is no place of metadata. A proxy may leave the prefix in
    /// or take it away.
    pub(crate) fn resource_path<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(WELL_KNOWN)?;
        let rest = rest
            .strip_prefix(self.prefix.as_str())
            .filter(|rest| rest.is_empty() || rest.starts_with('/'))
            .unwrap_or(rest);
        Some(rest.strip_suffix('/').unwrap_or(rest))
    }

    /// The metadata of the resource at `path`.
    pub(crate) fn metadata(&self, path: &str, issuers: &[&str], scope: &str) -> Value {
        let mut metadata = json!({
            "resource": self.of(path),
            "authorization_servers": issuers,
            "bearer_methods_supported": ["header"],
            "resource_name": "codeyard",
        });
        if !scope.is_empty() {
            metadata["scopes_supported"] = scope.split(' ').collect();
        }
        metadata
    }

    /// The value of `WWW-Authenticate`. All of it is ours, or a path of characters that need no quoting.
    pub(crate) fn challenge(&self, challenge: &Challenge<'_>) -> String {
        let mut text = "Bearer realm=\"codeyard\"".to_owned();
        let mut add = |name: &str, value: &str| {
            // A text grows without errors.
            let _ = write!(text, ", {name}=\"{value}\"");
        };
        if let Some((code, sentence)) = challenge.error {
            add("error", code);
            add("error_description", &sentence.replace(['"', '\\'], "'"));
        }
        if !challenge.scope.is_empty() {
            add("scope", challenge.scope);
        }
        add("resource_metadata", &self.of_metadata(challenge.path));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_between_the_host_and_the_path_of_a_resource() {
        let plain = ServerUrl::new("https://code.example.org");
        assert_eq!(plain.of("/mcp"), "https://code.example.org/mcp");
        assert_eq!(plain.of_metadata("/mcp"), "https://code.example.org/.well-known/oauth-protected-resource/mcp");
        let behind = ServerUrl::new("http://localhost:80/code/yard/");
        assert_eq!(behind.of("/mcp"), "http://localhost:80/code/yard/mcp");
        assert_eq!(
            behind.of_metadata("/mcp"),
            "http://localhost:80/.well-known/oauth-protected-resource/code/yard/mcp"
        );
        for (path, resource) in [
            ("/.well-known/oauth-protected-resource", Some("")),
            ("/.well-known/oauth-protected-resource/", Some("")),
            ("/.well-known/oauth-protected-resource/code/yard", Some("")),
            ("/.well-known/oauth-protected-resource/code/yard/mcp/web", Some("/mcp/web")),
            ("/.well-known/oauth-protected-resource/mcp/web", Some("/mcp/web")),
            ("/.well-known/oauth-protected-resource/code/yardmcp", Some("/code/yardmcp")),
            ("/mcp", None),
        ] {
            assert_eq!(behind.resource_path(path), resource, "{path}");
        }
    }

    #[test]
    fn a_challenge_names_error_scope_and_metadata() {
        let url = ServerUrl::new("https://c.example");
        let challenge = |error, scope| url.challenge(&Challenge { path: "/mcp", error, scope });
        let metadata = "resource_metadata=\"https://c.example/.well-known/oauth-protected-resource/mcp\"";
        assert_eq!(challenge(None, ""), format!("Bearer realm=\"codeyard\", {metadata}"));
        assert_eq!(
            challenge(Some(("invalid_token", "a \"b\"")), "lsp search"),
            format!(
                "Bearer realm=\"codeyard\", error=\"invalid_token\", error_description=\"a 'b'\", scope=\"lsp search\", {metadata}"
            )
        );
    }
}
