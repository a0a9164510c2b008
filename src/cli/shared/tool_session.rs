//! Sessions with a server whose tools a command calls: the one at a URL, the running one of the state directory, or one that is started for
//! the command.
//!
//! It knows no tool. Invariants: a temporary server has stopped, with its language servers, when [`ToolServer::shut_down`] has returned; a running
//! server is only used if it has the wanted workspace.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::admin_client::request_failure;
use super::mcp_client::{Client, ClientError};
use super::{assemble, index_extent, root_folder, shell};
use crate::Failure;
use crate::args::SourceArgs;
use codeyard_catalog::CatalogId;
use codeyard_config::ContentMode;
use codeyard_gateway::service::{Principal, Service as _};
use codeyard_model::limits::MAX_RESPONSE_BYTES;
use codeyard_server::admin::client::{AdminClient, AdminClientError};
use codeyard_server::admin::documents::WorkspaceList;
use codeyard_server::transport::attach::{self, Hello};
use codeyard_server::transport::stdio::serve_stdio;
use codeyard_state::StateDir;

/// Workspaces that a refusal names.
const MAX_NAMED_WORKSPACES: usize = 10;

/// Which server a command is for.
pub(crate) struct SessionTarget<'t> {
    /// The workspaces and the state directory.
    pub(crate) source: &'t SourceArgs,
    /// The workspace that `--workspace` names.
    pub(crate) workspace: Option<&'t str>,
    /// A file that the command is about; otherwise the current folder counts.
    pub(crate) file: Option<PathBuf>,
    /// The catalogs for a workspace of this name.
    pub(crate) catalogs: &'t dyn Fn(Option<&str>) -> &'static str,
}

/// A server that sessions can be opened with.
pub(crate) enum ToolServer {
    /// The one at a URL.
    Url { url: String, token: Option<String> },
    /// The running one of the state directory.
    Running {
        socket: PathBuf,
        /// What sessions ask for.
        hello: Hello,
    },
    /// One that this process has started.
    Temporary(Box<TemporaryServer>),
}

pub(crate) struct TemporaryServer {
    service: assemble::AssembledService,
    workspace: Option<String>,
    catalogs: &'static str,
    stop: CancellationToken,
}

impl ToolServer {
    /// The running server of the state directory if it fits, else a temporary one.
    ///
    /// # Errors
    /// If no server can be started, or there is no such workspace.
    pub(crate) async fn find(state: StateDir, target: &SessionTarget<'_>) -> Result<Self, Failure> {
        match Self::running(&state, target).await? {
            Some(running) => Ok(running),
            None => Self::temporary(state, target).await,
        }
    }

    /// The running server of the state directory; `None` if none runs, or if it has no matching workspace.
    ///
    /// # Errors
    /// If a path can't be made absolute, the server doesn't answer, or none of its workspaces contains the file or the current folder.
    pub(crate) async fn running(state: &StateDir, target: &SessionTarget<'_>) -> Result<Option<Self>, Failure> {
        let source = target.source;
        if source.config.is_some() || !source.server.is_empty() {
            return Ok(None);
        }
        let roots: Result<Vec<PathBuf>, _> = source.root.iter().map(std::path::absolute).collect();
        let roots = roots.map_err(|error| Failure::usage(format!("--root: cannot make the path absolute: {error}")))?;
        let workspace = match target.workspace {
            Some(name) => Some(name.to_owned()),
            // Launch runs work in folders of their own, for every workspace alike.
            None if roots.is_empty() && (target.catalogs)(None) != CatalogId::Launch.as_str() => {
                match AdminClient::new(&state.admin_socket()).get::<WorkspaceList>("/admin/v1/workspaces").await {
                    Ok(list) => {
                        let all = list.workspaces.into_iter().map(|workspace| (workspace.name, workspace.roots));
                        Some(workspace_of(&all.collect::<Vec<_>>(), target.file.as_deref())?)
                    }
                    Err(AdminClientError::NotRunning) => None,
                    Err(error) => return Err(request_failure(error)),
                }
            }
            None => None,
        };
        let catalogs = Some((target.catalogs)(workspace.as_deref()).to_owned());
        let hello = Hello { version: attach::VERSION, roots, workspace, catalogs, content: Some(ContentMode::Both) };
        let socket = state.attach_socket();
        let is_there = attach::attach(&socket, &hello).await.is_some();
        Ok(is_there.then_some(Self::Running { socket, hello }))
    }

    /// A server for this command alone.
    ///
    /// # Errors
    /// If it can't be started, or has no such workspace.
    pub(crate) async fn temporary(state: StateDir, target: &SessionTarget<'_>) -> Result<Self, Failure> {
        let mut source: SourceArgs = target.source.clone();
        if source.root.is_empty() && source.config.is_none() {
            source.root.push(implicit_root(target)?);
        }
        let config = assemble::load_config(&source)?;
        let service = assemble::assemble(state, config, source.server.clone()).await?;
        let catalogs = (target.catalogs)(target.workspace);
        let opened = assemble::report_failures(&service.configured);
        let (caller, name) = Principal::local_for(target.workspace);
        let endpoint = service.gateway.endpoint(&caller, name, Some(catalogs));
        let missing = "there is no such workspace; omit --workspace, or see `codeyard workspaces`";
        if let Err(failure) = opened.and(endpoint.map(drop).ok_or_else(|| Failure::missing(missing))) {
            service.shut_down().await;
            return Err(failure);
        }
        let workspace = target.workspace.map(str::to_owned);
        Ok(Self::Temporary(Box::new(TemporaryServer { service, workspace, catalogs, stop: CancellationToken::new() })))
    }

    /// Whether what it does ends with this process.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, Self::Temporary(_))
    }

    /// Opens a session.
    ///
    /// # Errors
    /// If the server doesn't answer.
    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        let client = match self {
            Self::Url { url, token } => Client::over_http(url, token.as_deref()).await,
            Self::Running { socket, hello } => {
                let stream = attach::attach(socket, hello).await.ok_or_else(|| {
                    Failure::missing("the running server has stopped; start it again with `codeyard serve`")
                })?;
                Client::over_stream(Box::new(stream)).await
            }
            Self::Temporary(server) => {
                let here = server.stream()?;
                Client::over_stream(Box::new(here)).await
            }
        };
        client.map_err(|error| call_failure(&error))
    }

    /// Ends a temporary server.
    pub(crate) async fn shut_down(self) {
        if let Self::Temporary(server) = self {
            server.stop.cancel();
            server.service.shut_down().await;
        }
    }
}

impl TemporaryServer {
    /// A stream to a new session.
    fn stream(&self) -> Result<tokio::io::DuplexStream, Failure> {
        let gateway = self.service.gateway.clone();
        let (caller, name) = Principal::local_for(self.workspace.as_deref());
        let endpoint = gateway.endpoint(&caller, name, Some(self.catalogs));
        let mut endpoint = endpoint.ok_or_else(|| Failure::missing("the workspace was closed; call again"))?;
        endpoint.content = ContentMode::Both;
        let (here, there) = tokio::io::duplex(MAX_RESPONSE_BYTES);
        let (reader, writer) = tokio::io::split(there);
        let limits = self.service.config.limits.clone().clamped();
        let stop = self.stop.clone();
        tokio::spawn(async move {
            // The other end sees that the stream has ended.
            let _ = serve_stdio(reader, writer, gateway, endpoint, &limits, stop).await;
        });
        Ok(here)
    }
}

/// The root of a server whose command names none: the project of its file, else the current folder.
fn implicit_root(target: &SessionTarget<'_>) -> Result<PathBuf, Failure> {
    let file = target.file.as_deref();
    let root = file.map_or_else(|| Some(".".into()), root_folder::root_for);
    // Launch runs work in folders of their own.
    if (target.catalogs)(target.workspace) == CatalogId::Launch.as_str() {
        return Ok(root.unwrap_or_else(|| ".".into()));
    }
    let gone = file
        .filter(|file| !file.exists())
        .map(|file| Failure::missing(format!("cannot read {}: there is no such file", file.display())));
    let Some(root) = root else {
        let why = "the file is directly in the home folder or in `/`, and neither is the root of a workspace; \
                   name another folder with --root";
        return Err(gone.unwrap_or_else(|| Failure::new(why)));
    };
    let unreadable = |error| Failure::missing(format!("cannot read {}: {error}; name a --root", root.display()));
    let real = root.canonicalize().map_err(unreadable)?;
    match index_extent::refuse_wide(
        &real,
        &format!("codeyard call TOOL JSON --root {}", shell::quoted(&real.to_string_lossy())),
    ) {
        Err(refused) => Err(gone.unwrap_or(refused)),
        Ok(()) => Ok(root),
    }
}

/// The workspace whose roots contain the file, or the current folder.
///
/// # Errors
/// There is none: an answer of another workspace would be one about another repository.
fn workspace_of(workspaces: &[(String, Vec<String>)], file: Option<&Path>) -> Result<String, Failure> {
    let path = file.map_or_else(std::env::current_dir, |file| Ok(file.to_owned()));
    let path = path.map_err(|error| Failure::new(format!("the current folder can't be read: {error}")))?;
    let path = path.canonicalize().unwrap_or(path);
    let mut found: Option<(usize, &String)> = None;
    for (name, roots) in workspaces {
        let deepest = roots.iter().filter(|root| path.starts_with(root)).map(String::len).max();
        if let Some(depth) = deepest
            && found.as_ref().is_none_or(|(best, _)| depth > *best)
        {
            found = Some((depth, name));
        }
    }
    found.map(|(_, name)| name.clone()).ok_or_else(|| {
        let names: Vec<&str> = workspaces.iter().take(MAX_NAMED_WORKSPACES).map(|(name, _)| name.as_str()).collect();
        let more = if workspaces.len() > names.len() { ", …" } else { "" };
        // Without a root the person has to name one.
        let root = root_folder::root_for(&path);
        let root = root.map_or_else(|| "FOLDER".to_owned(), |root| shell::quoted(&root.to_string_lossy()));
        Failure::missing(format!(
            "no workspace of the running server contains {} (it has {}{more})\n  next: `codeyard workspaces put NAME --root {root}`, \
             then call again; `--root {root}` asks without the running server, `--workspace NAME` asks one of these",
            path.display(),
            names.join(", "),
        ))
    })
}

/// The failure for a client error: the error, its details, and the next command.
pub(crate) fn call_failure(error: &ClientError) -> Failure {
    let ClientError::Tool { code, details, .. } = error else { return Failure::new(error.to_string()) };
    let mut lines = vec![error.to_string()];
    let fields = details.as_object().into_iter().flatten().filter(|(key, _)| *key != "command");
    lines.extend(fields.map(|(key, value)| format!("  {key}: {value}")));
    let next = details["command"].as_str().unwrap_or_else(|| match details["reason"].as_str() {
        Some("quota_exceeded") => {
            "call again later; an operator can set another value in `[quota]` or `[tenants.NAME.quota]`"
        }
        _ => advice(code.rsplit('/').next().unwrap_or_default()),
    });
    lines.push(format!("  next: {next}"));
    Failure::new(lines.join("\n"))
}

/// What to do about an error without a `command` in its details.
fn advice(code: &str) -> &'static str {
    match code {
        "INVALID_PARAMS" => "`codeyard call --help` shows examples; lines and characters count from 0",
        "URI_INVALID" | "NOT_FOUND" => "check path, line and character; lines and characters count from 0",
        "WORKSPACE_DENIED" => {
            "name the repository that contains the file with --root, or the workspace with --workspace"
        }
        "CURSOR_INVALID" | "CURSOR_STALE" | "CURSOR_EXPIRED" => "call again without the cursor",
        "CAP_EXCEEDED" => "call again with a larger --wait or a narrower query",
        "RUN_NOT_FOUND" => "codeyard runs list",
        "ILLEGAL_STATE" | "CANCELLED" => "codeyard runs show RUN",
        "FIX_EXHAUSTED" => "repair the pages in the working copy, then `codeyard runs validate RUN`",
        "INVALID_INPUT" | "SCHEMA_VALIDATION_FAILED" | "INVALID_URL" | "UNSUPPORTED_SITE" | "REPO_NOT_FOUND" => {
            "correct what it names, then start again; `codeyard runs start --help` shows examples"
        }
        "TOOLCHAIN_MISSING" => "install the program, then `codeyard runs resume RUN`",
        "COMMIT_SERVICE_ERROR" => "mend what it names, then `codeyard runs open-pr RUN`",
        _ => "codeyard doctor",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_of_prefers_the_deepest_root() {
        let all = [("a", &["/a"][..]), ("b", &["/x", "/a/b"]), ("c", &["/ab"])];
        let all = all.map(|(name, roots)| (name.to_owned(), roots.iter().map(|root| (*root).to_owned()).collect()));
        let of = |file: &str| workspace_of(&all, Some(Path::new(file))).ok();
        assert_eq!(of("/a/c.py").as_deref(), Some("a"));
        assert_eq!(of("/a/b/c.py").as_deref(), Some("b"));
        assert_eq!(of("/abc/c.py"), None);
        let refused = workspace_of(&all, Some(Path::new("/abc/c.py"))).unwrap_err();
        assert!(
            refused.code == 3 && refused.message.contains("workspaces put NAME --root /abc"),
            "{}",
            refused.message
        );
        let rootless = workspace_of(&all, Some(Path::new("/gone.c"))).unwrap_err().message;
        assert!(rootless.contains("workspaces put NAME --root FOLDER"), "{rootless}");
    }
}
