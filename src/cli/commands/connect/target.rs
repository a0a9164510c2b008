//! What a host is connected to: a program that it starts, or an endpoint of a running server.
//!
//! Invariant: an endpoint that needs no token gets none.

use std::path::Path;

use super::hosts::Host;
use crate::Failure;
use crate::args::ConnectArgs;
use crate::shared::mcp_client::{Client, ClientError};
use crate::shared::{assemble, shell};
use codeyard_server::admin::client::AdminClient;
use codeyard_server::admin::documents::{ServiceDocument, WorkspaceList};

/// What a host is connected to.
#[derive(Debug)]
pub(super) enum Target {
    /// `codeyard stdio`.
    Stdio,
    /// An endpoint.
    Http {
        url: String,
        /// Whether it wants a token.
        needs_token: bool,
        template: &'static str,
    },
}

impl Target {
    /// The target that `args` name, for the repository `root`.
    pub(super) async fn find(host: &Host, args: &ConnectArgs, root: &Path) -> Result<Self, Failure> {
        if !args.http {
            return Ok(Self::Stdio);
        }
        let Some(template) = host.http else {
            return Err(Failure::usage(format!("{} is connected over stdio only; leave --http out", host.title)));
        };
        let url = match &args.url {
            Some(url) => url.clone(),
            None => running_endpoint(args, root).await?,
        };
        let needs_token = match Client::over_http(&url, None).await {
            Ok(client) => {
                client.close().await;
                false
            }
            Err(ClientError::Unauthorized(_)) => true,
            Err(error) => return Err(Failure::missing(format!("{url} does not answer: {error}"))),
        };
        Ok(Self::Http { url, needs_token, template })
    }

    /// The endpoint; empty for a program.
    pub(super) fn url(&self) -> &str {
        match self {
            Self::Stdio => "",
            Self::Http { url, .. } => url,
        }
    }

    pub(super) fn template(&self, host: &Host) -> &'static str {
        match self {
            Self::Stdio => host.stdio,
            Self::Http { template, .. } => template,
        }
    }

    /// Whether the server has no use for a token.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Http { needs_token: false, .. })
    }

    /// The endpoint, if it wants a token.
    pub(super) fn guarded_url(&self) -> Option<&str> {
        match self {
            Self::Http { url, needs_token: true, .. } => Some(url),
            _ => None,
        }
    }
}

/// The endpoint of the running server for `root`.
async fn running_endpoint(args: &ConnectArgs, root: &Path) -> Result<String, Failure> {
    let state = assemble::open_state(args.state.state_dir.as_deref())?;
    let client = AdminClient::new(&state.admin_socket());
    let missing = || {
        let start = format!("codeyard serve --root {}", shell::quoted(&root.display().to_string()));
        Failure::missing(format!(
            "no server of this state directory is running; start it with `{start}`, or name an endpoint with --url"
        ))
    };
    let service = client.get::<ServiceDocument>("/admin/v1/service").await.map_err(|_| missing())?;
    let list = client.get::<WorkspaceList>("/admin/v1/workspaces").await.map_err(|_| missing())?;
    let has_root = |roots: &[String]| {
        roots.iter().any(|known| Path::new(known).canonicalize().is_ok_and(|known| root.starts_with(known)))
    };
    let workspace = list.workspaces.iter().find(|workspace| has_root(&workspace.roots)).ok_or_else(|| {
        let put = format!("codeyard workspaces put NAME --root {}", shell::quoted(&root.display().to_string()));
        Failure::missing(format!("the running server has no workspace with {}; add it with `{put}`", root.display()))
    })?;
    let base = service.listen.trim_end_matches('/');
    let base = base.strip_suffix("/mcp").unwrap_or(base);
    Ok(format!("{base}/mcp/{}/{}", workspace.name, args.catalog))
}
