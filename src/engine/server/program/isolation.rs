//! The isolation of a workspace: its level, the mechanism that confines its servers, and what a confined server is started with.
//!
//! Invariants: in a restricted workspace a server runs only if its registry entry says how, and only if a mechanism has been seen to hold;
//! what the entry says for restricted workspaces wins over all other settings; a confined server shares no cache with another level.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::server::context::ServerContext;
use crate::server::program::launch_spec::merged;
use crate::server::program::programs::Program;
use crate::server::program::toolchain;
use crate::status::server_state::Unavailable;
use codeyard_config::{IsolationLevel, SupervisionSection};
use codeyard_lsp::registry::{RestrictedLaunch, ServerSpec};
use codeyard_process::launch::{Isolation, Launcher, SandboxRequest};
use codeyard_process::resource_limits::ResourceLimits;

/// The reason of a server that a restricted workspace doesn't start.
pub(crate) const RESTRICTED: &str = "restricted";

/// Bytes of a mebibyte.
const MIB: u64 = 1024 * 1024;

/// The isolation in force for a workspace.
#[derive(Debug, Clone)]
pub struct WorkspaceIsolation {
    /// The level.
    pub level: IsolationLevel,
    /// Whether the configuration of the workspace names it. Otherwise it follows the number of principals.
    pub is_configured: bool,
    sandbox: Sandbox,
    /// Limits of the processes of each server.
    pub limits: ResourceLimits,
    /// Memory that one server may use, in bytes, unless its kind has a limit of its own.
    pub memory_limit: u64,
    /// Folders of toolchains.
    pub toolchains: Vec<PathBuf>,
}

/// Knows whether a sandbox holds at present.
#[derive(Clone)]
struct Sandbox(Arc<dyn Launcher>);

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").finish_non_exhaustive()
    }
}

impl WorkspaceIsolation {
    /// The isolation of a workspace with this level.
    pub fn of(
        level: IsolationLevel,
        is_configured: bool,
        supervision: &SupervisionSection,
        launcher: Arc<dyn Launcher>,
    ) -> Self {
        Self {
            level,
            is_configured,
            sandbox: Sandbox(launcher),
            limits: ResourceLimits {
                open_files: Some(supervision.server_open_files),
                file_bytes: Some(supervision.server_file_mib.saturating_mul(MIB)),
                data_bytes: None,
                tasks: None,
                processes: Some(supervision.server_processes),
                tree_bytes: None,
            },
            memory_limit: memory_limit(supervision.server_memory_mib),
            toolchains: supervision.toolchains.clone(),
        }
    }

    /// Whether its servers are confined.
    pub fn is_restricted(&self) -> bool {
        self.level == IsolationLevel::Restricted
    }

    /// The mechanism of a restricted workspace at present, or why there is none. Blocks the first time.
    pub fn mechanism(&self) -> Option<Result<&'static str, String>> {
        self.is_restricted().then(|| self.sandbox.0.sandbox())
    }

    /// Why a server of this kind isn't started in the workspace.
    pub(crate) fn refusal(&self, kind: &str, server: &ServerSpec) -> Option<Unavailable> {
        if !self.is_restricted() || server.is_built_in() {
            return None;
        }
        if let Some(Err(why)) = self.mechanism() {
            let message =
                format!("the workspace is restricted, and this machine has no sandbox for language servers: {why}");
            return Some(Unavailable::new(kind, RESTRICTED, message, "codeyard doctor"));
        }
        if server.restricted.is_some() {
            return None;
        }
        let message = format!(
            "the workspace is restricted, and {kind} may run code of the project; if you trust the project, set \
             `isolation = \"trusted\"` in its workspace"
        );
        Some(Unavailable::new(kind, RESTRICTED, message, "codeyard doctor"))
    }

    /// The entry, program and settings of a server as this level starts it.
    pub(crate) fn adapt(
        &self,
        server: &Arc<ServerSpec>,
        program: &Program,
        settings: Option<serde_json::Value>,
    ) -> AdaptedServer {
        let rule = server.restricted.as_ref().filter(|_| self.is_restricted() && !server.is_built_in());
        let mut adapted = AdaptedServer { server: server.clone(), program: program.clone(), settings };
        if server.memory_limit_mib == 0 && !server.is_built_in() {
            Arc::make_mut(&mut adapted.server).memory_limit_mib = self.memory_limit / MIB;
        }
        if let Some(rule) = rule {
            adapted.restrict(rule);
        }
        adapted
    }
}

/// A server as a level starts it.
pub(crate) struct AdaptedServer {
    pub(crate) server: Arc<ServerSpec>,
    pub(crate) program: Program,
    /// The workspace's settings.
    pub(crate) settings: Option<serde_json::Value>,
}

impl AdaptedServer {
    fn restrict(&mut self, rule: &RestrictedLaunch) {
        let server = Arc::make_mut(&mut self.server);
        self.program.args.extend(rule.args.iter().cloned());
        self.program.env.extend(rule.env.clone());
        server.env.extend(rule.env.clone());
        server.initialization_options =
            merged(server.initialization_options.take(), rule.initialization_options.as_ref());
        server.settings = merged(server.settings.take(), rule.settings.as_ref());
        self.settings = merged(self.settings.take(), rule.settings.as_ref());
    }
}

/// What a process of this server may access.
///
/// # Errors
/// Of the file system, when the folder of what codeyard writes for the server can't be made.
pub(in crate::server) fn of_server(context: &ServerContext, shims: Option<&Path>) -> io::Result<Isolation> {
    if !context.isolation.is_restricted() || context.server.is_built_in() {
        return Ok(Isolation::Trusted);
    }
    let roots = context.gate.root_set().allowed().map(Path::to_path_buf).collect();
    let mut toolchain = toolchain::of_program(&context.program, &context.environment);
    toolchain.extend(context.isolation.toolchains.iter().cloned());
    if let Some(rule) = &context.server.restricted {
        toolchain.extend(toolchain::declared(&rule.toolchain, &context.environment));
    }
    toolchain.extend(shims.map(Path::to_path_buf));
    let generated = context.generated();
    fs::create_dir_all(&generated)?;
    toolchain.push(generated);
    Ok(Isolation::Restricted(SandboxRequest {
        roots,
        toolchain,
        caches: vec![context.cache.clone()],
        hidden: vec![context.state.clone()],
    }))
}

/// Limits of the processes of this server.
pub(in crate::server) fn limits_of(context: &ServerContext) -> ResourceLimits {
    let mut limits = context.isolation.limits.clone();
    limits.tree_bytes = context.status.identity().memory_limit;
    if context.isolation.is_restricted() && !context.server.is_built_in() {
        // Memory that is mapped but not used counts too, so the kernel's limit is a backstop above the measured one.
        limits.data_bytes = Some(context.server.memory_limit_mib.saturating_mul(2 * MIB)).filter(|bytes| *bytes > 0);
    }
    limits
}

/// Variables that a confined server doesn't get: the network's, and folders that it can't see.
const HIDDEN_VARIABLES: &[&str] =
    &["SSL_", "NIX_SSL_", "REQUESTS_CA_", "CURL_CA_", "NODE_EXTRA_CA_", "XDG_", "USER", "LOGNAME", "HOSTNAME", "UV_"];

/// The environment of a confined server: without the network's variables, with a home folder of its own. Toolchains stay where they are.
pub(in crate::server) fn confined_environment(
    environment: &[(OsString, OsString)],
    home: &Path,
) -> Vec<(OsString, OsString)> {
    let is_hidden = |name: &OsString| {
        let name = name.to_string_lossy();
        HIDDEN_VARIABLES.iter().any(|hidden| name.starts_with(hidden)) || name.to_ascii_lowercase().ends_with("_proxy")
    };
    let mut kept: Vec<_> = environment.iter().filter(|(name, _)| !is_hidden(name)).cloned().collect();
    let own = kept.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
    for (name, folder) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo"), ("GOPATH", "go")] {
        let found = own.as_ref().map(|own| own.join(folder)).filter(|folder| folder.is_dir());
        if let Some(found) = found.filter(|_| !kept.iter().any(|(known, _)| known == name)) {
            kept.push((name.into(), found.into_os_string()));
        }
    }
    kept.retain(|(name, _)| name != "HOME");
    kept.push(("HOME".into(), home.as_os_str().to_owned()));
    kept
}

/// Removes links and special files below a folder that a confined server could write: codeyard writes and reads there, too.
///
/// # Errors
/// Of the file system, when one can't be removed.
pub(in crate::server) fn remove_links(folder: &Path) -> io::Result<()> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in entries_of(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            match () {
                () if kind.is_dir() => folders.push(entry.path()),
                () if kind.is_file() => {}
                () => fs::remove_file(entry.path())?,
            }
        }
    }
    Ok(())
}

/// The entries of a folder that a confined server could make unreadable, to hide a link. A folder that isn't there has none.
fn entries_of(folder: &Path) -> io::Result<Vec<io::Result<fs::DirEntry>>> {
    let read = || fs::read_dir(folder).map(Iterator::collect);
    match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
            read()
        }
        read => read,
    }
}

/// The memory of one server: `configured` MiB, or three quarters of what this process may use.
fn memory_limit(configured_mib: u64) -> u64 {
    const MOST_MIB: u64 = 8192;
    const LEAST_MIB: u64 = 512;
    match configured_mib {
        0 => {
            let available = codeyard_process::memory_of_machine().map_or(MOST_MIB, |bytes| bytes / MIB);
            (available / 4 * 3).clamp(LEAST_MIB, MOST_MIB).saturating_mul(MIB)
        }
        configured => configured.saturating_mul(MIB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_lsp::registry::InstallSource;
    use codeyard_process::launch::{LaunchError, LaunchSpec, LaunchedServer};
    use futures::future::BoxFuture;
    use parking_lot::Mutex;
    use serde_json::json;

    /// A launcher whose sandbox holds or not.
    struct Machine(Mutex<Result<&'static str, String>>);

    impl Launcher for Machine {
        fn launch(&self, spec: &LaunchSpec) -> BoxFuture<'static, Result<LaunchedServer, LaunchError>> {
            let missing = LaunchError::ProgramNotFound(spec.program.clone());
            Box::pin(async { Err(missing) })
        }

        fn sandbox(&self) -> Result<&'static str, String> {
            self.0.lock().clone()
        }
    }

    fn isolation(level: IsolationLevel, mechanism: Result<&'static str, String>) -> (WorkspaceIsolation, Arc<Machine>) {
        let machine = Arc::new(Machine(Mutex::new(mechanism)));
        let isolation = WorkspaceIsolation {
            level,
            is_configured: true,
            sandbox: Sandbox(machine.clone()),
            limits: ResourceLimits::default(),
            memory_limit: 64 * MIB,
            toolchains: Vec::new(),
        };
        (isolation, machine)
    }

    fn program() -> Program {
        let args = vec!["--stdio".to_owned()];
        let env = Default::default();
        Program { program: "/p".into(), args, env, install: None, bin: None, version: None, checker: None }
    }

    #[test]
    fn a_restricted_workspace_refuses_what_has_no_rule_and_everything_without_a_sandbox() {
        let (restricted, _) = isolation(IsolationLevel::Restricted, Ok("landlock"));
        let unruled = ServerSpec::default();
        let ruled = ServerSpec { restricted: Some(RestrictedLaunch::default()), ..ServerSpec::default() };
        let built_in = ServerSpec { install: Some(InstallSource::Builtin {}), ..ServerSpec::default() };
        let why = restricted.refusal("eslint", &unruled).unwrap();
        assert!(
            why.reason == RESTRICTED && why.message.contains("eslint may run code of the project"),
            "{}",
            why.message
        );
        assert!(restricted.refusal("ty", &ruled).is_none() && restricted.refusal("syntactic", &built_in).is_none());
        let (open, machine) = isolation(IsolationLevel::Restricted, Err("none; install bubblewrap".into()));
        assert!(open.refusal("ty", &ruled).unwrap().message.contains("install bubblewrap"));
        assert!(open.refusal("syntactic", &built_in).is_none());
        *machine.0.lock() = Ok("bubblewrap");
        assert!(open.refusal("ty", &ruled).is_none(), "the sandbox holds by now");
        assert_eq!(open.mechanism(), Some(Ok("bubblewrap")));
        let (trusted, _) = isolation(IsolationLevel::Trusted, Err("none".into()));
        assert!(trusted.refusal("eslint", &unruled).is_none() && trusted.mechanism().is_none());
    }

    #[test]
    fn the_rule_of_a_restricted_workspace_wins() {
        let rule = RestrictedLaunch {
            args: vec!["--enable-config=0".into()],
            initialization_options: Some(json!({"procMacro": {"enable": false}})),
            settings: Some(json!({"a": false})),
            ..RestrictedLaunch::default()
        };
        let server = Arc::new(ServerSpec {
            initialization_options: Some(json!({"procMacro": {"enable": true, "x": 1}})),
            restricted: Some(rule),
            ..ServerSpec::default()
        });
        let adapt =
            |level| isolation(level, Ok("landlock")).0.adapt(&server, &program(), Some(json!({"a": true, "b": 1})));
        let restricted = adapt(IsolationLevel::Restricted);
        assert_eq!(restricted.program.args, ["--stdio", "--enable-config=0"]);
        assert_eq!(restricted.settings, Some(json!({"a": false, "b": 1})));
        assert_eq!(restricted.server.initialization_options, Some(json!({"procMacro": {"enable": false, "x": 1}})));
        let trusted = adapt(IsolationLevel::Trusted);
        assert_eq!((trusted.program.args.len(), trusted.server.memory_limit_mib), (1, 64), "memory is bounded in both");
    }

    #[test]
    fn a_confined_server_gets_a_home_of_its_own_and_nothing_of_the_network() {
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let all = [
            pair("HOME", "/nowhere"),
            pair("https_proxy", "http://u:p@x"),
            pair("XDG_CACHE_HOME", "/c"),
            pair("PATH", "/bin"),
        ];
        let kept = confined_environment(&all, Path::new("/cache/home"));
        assert_eq!(kept, [pair("PATH", "/bin"), pair("HOME", "/cache/home")]);
    }

    #[test]
    fn links_that_a_server_left_are_removed() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("a");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), "x").unwrap();
        std::os::unix::fs::symlink("/etc", folder.join("shims")).unwrap();
        // For others than root, neither it nor what is in it can be listed then.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o333)).unwrap();
        remove_links(cache.path()).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        remove_links(&cache.path().join("missing")).unwrap();
        assert!(Path::new("/etc").exists());
    }
}
