//! Finds and installs the programs of language servers.
//!
//! Each kind and specification has one folder below the servers directory: `<kind>/<version>-<hash>/`. Nothing global
//! is changed. Kinds that need the same packages share their files by hard links. An installation is built in a folder beside its final place
//! and then renamed, under a lock file. So an
//! existing folder is complete, and two processes don't collide. What an interrupted one has compiled is kept for the next; the rest is
//! removed, at the latest by the next. This module runs package tools and version probes,
//! and asks a program of the `PATH` in an empty folder whether it is a language server. Everything here blocks: call it where blocking is allowed.

mod handshake;
mod package_tools;
mod program_lookup;
mod shared_packages;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use self::package_tools::FetchTool;
use super::registry::{InstallSource, Registry, ServerSpec};
use codeyard_base::clock::Instant;
use codeyard_base::digest::sha256hex;
use codeyard_base::file_lock::FileLock;
use codeyard_process::interruption::{self, Interruption};
use codeyard_process::orphans;

pub use program_lookup::{ProgramSource, ProgramStatus, ServerProgram};

/// Longest time the installation of one language server may take, in milliseconds. A build from source takes half an
/// hour.
const INSTALL_TIMEOUT_MS: u64 = 3_600_000;
/// Pause between two attempts to take the lock that another process holds, in milliseconds.
const LOCK_POLL_MS: u64 = 100;

/// The environment variable that names a shared servers directory.
pub const SERVERS_DIR_VARIABLE: &str = "CODEYARD_SERVERS_DIR";
/// The file that is written last into an installation.
const RECORD: &str = "codeyard-install.json";
/// The folder that an installation is built in, beside its final place.
const STAGING: &str = ".new";
/// The folder of what is compiled for an installation, beside its final place. An interrupted one keeps it for the next attempt.
const COMPILED: &str = ".build";

/// Finds, installs and removes servers.
#[derive(Debug)]
pub struct Installer {
    servers: PathBuf,
    /// The `PATH` that is searched for programs and package tools.
    path: OsString,
    /// The time limits of a version probe and of one server's installation.
    limits: (Duration, Duration),
    /// Results of version probes, and of asking programs to initialize.
    probes: program_lookup::ProbeResults,
    handshakes: program_lookup::ProbeResults,
}

/// Why a server can't be installed or removed. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("no language server is called `{0}`; `codeyard servers list` shows the known kinds")]
    UnknownKind(String),
    /// codeyard doesn't install this kind.
    #[error("codeyard does not install {kind}: {hint}")]
    Manual {
        kind: String,
        /// What to do instead.
        hint: String,
    },
    #[error("{kind} needs {tool}, which is not on the PATH: {advice}")]
    MissingTool { kind: String, tool: String, advice: String },
    #[error("installing {kind} failed ({why}): {advice}\n{tail}")]
    Failed {
        kind: String,
        /// Its exit status, or that it took too long.
        why: String,
        advice: String,
        /// The last lines of its output.
        tail: String,
    },
    /// A signal asked codeyard to end.
    #[error("{}", interrupted_text(.kind, *.signal, *.has_compiled))]
    Interrupted {
        kind: String,
        signal: Interruption,
        /// What was compiled is kept.
        has_compiled: bool,
    },
    /// The installed program is missing or doesn't run.
    #[error("{kind} was installed but does not run: {why}")]
    Unusable { kind: String, why: String },
    /// The servers directory is unusable.
    #[error("{action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

/// The progress of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallProgress {
    pub kind: String,
    pub step: InstallStep,
    /// The time since this kind's installation began.
    pub elapsed: Duration,
}

/// A step of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStep {
    /// Another process installs the same kind.
    Waiting,
    /// The package tool runs. Reported again every second.
    Fetching { packages: String, tool: &'static str },
    /// The program is asked for its version.
    Checking,
    /// It is in place.
    Done {
        /// The version that the program prints, or else the pinned one.
        version: String,
    },
    /// It was already in place.
    AlreadyThere { version: String },
}

/// The record of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledServer {
    pub kind: String,
    /// The version that the program prints, or else the pinned one.
    pub version: String,
    pub packages: Vec<String>,
    /// The folder of the installation; not in the record.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Installer {
    /// An installer below a state directory (`servers/`), or in the directory that `CODEYARD_SERVERS_DIR` names.
    pub fn new(state_dir: &Path) -> Self {
        match std::env::var_os(SERVERS_DIR_VARIABLE) {
            Some(shared) if Path::new(&shared).is_absolute() => Self::with_servers_dir(Path::new(&shared)),
            _ => Self::with_servers_dir(&state_dir.join("servers")),
        }
    }

    /// An installer of this servers directory.
    pub fn with_servers_dir(servers: &Path) -> Self {
        Self {
            servers: servers.into(),
            path: std::env::var_os("PATH").unwrap_or_default(),
            limits: (program_lookup::PROBE_LIMIT, Duration::from_millis(INSTALL_TIMEOUT_MS)),
            probes: Mutex::default(),
            handshakes: Mutex::default(),
        }
    }

    /// Replaces the `PATH` that is searched.
    pub fn with_path(mut self, path: impl Into<OsString>) -> Self {
        self.path = path.into();
        self
    }

    /// The directory that servers are installed into.
    pub fn servers_dir(&self) -> &Path {
        &self.servers
    }

    /// Installs kinds one after the other and returns them in order. Those that are in place are left alone.
    ///
    /// # Errors
    /// The first failure. The kinds before it stay installed, and a later call continues from there.
    pub fn install(
        &self,
        registry: &Registry,
        kinds: &[String],
        progress: &dyn Fn(InstallProgress),
    ) -> Result<Vec<InstalledServer>, InstallError> {
        let known = |kind: &String| registry.servers.get(kind).ok_or_else(|| InstallError::UnknownKind(kind.clone()));
        let servers = kinds.iter().map(|kind| Ok((kind, known(kind)?))).collect::<Result<Vec<_>, InstallError>>()?;
        servers.into_iter().map(|(kind, server)| self.install_one(kind, server, progress)).collect()
    }

    /// Why a kind can't be installed on this machine, as far as that is known before anything is fetched.
    pub fn obstacle(&self, kind: &str, server: &ServerSpec) -> Option<InstallError> {
        match server.install.as_ref().and_then(FetchTool::of) {
            Some(tool) => tool.find(kind, &self.path).err(),
            None => Some(manual(kind, server)),
        }
    }

    /// All installations, by kind and version.
    pub fn list(&self) -> Vec<InstalledServer> {
        let folders = |path: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
        };
        let mut found: Vec<InstalledServer> =
            folders(&self.servers).iter().flat_map(|kind| folders(kind)).filter_map(|folder| record(&folder)).collect();
        found.sort_by(|a, b| (&a.kind, &a.folder).cmp(&(&b.kind, &b.folder)));
        found
    }

    /// Removes all versions of a kind. Returns whether there was one.
    ///
    /// # Errors
    /// [`InstallError::UnknownKind`] for a name that can't be a kind, [`InstallError::Io`].
    pub fn uninstall(&self, kind: &str) -> Result<bool, InstallError> {
        if kind.is_empty() || !kind.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return Err(InstallError::UnknownKind(kind.into()));
        }
        let folder = self.servers.join(kind);
        if !folder.is_dir() {
            return Ok(false);
        }
        let _lock = self.lock(kind, &|_| ())?;
        fs::remove_dir_all(&folder).map_err(io_error("cannot remove", &folder))?;
        Ok(true)
    }

    /// The folder of a kind's current specification, whether it exists or not. `None` for a kind that codeyard
    /// doesn't install.
    pub fn folder(&self, kind: &str, server: &ServerSpec) -> Option<PathBuf> {
        let install = server.install.as_ref()?;
        let spec = package_tools::specification(install)?;
        let version = package_tools::version_of(install.packages()?.names.first()?);
        Some(self.servers.join(kind).join(format!("{version}-{}", &sha256hex(spec.as_bytes())[..8])))
    }

    fn install_one(
        &self,
        kind: &str,
        server: &ServerSpec,
        progress: &dyn Fn(InstallProgress),
    ) -> Result<InstalledServer, InstallError> {
        let started = Instant::now();
        let report =
            |step: InstallStep| progress(InstallProgress { kind: kind.into(), step, elapsed: started.elapsed() });
        let Some(folder) = self.folder(kind, server) else { return Err(manual(kind, server)) };
        let _lock = self.lock(kind, &report)?;
        if let Some(existing) = record(&folder) {
            report(InstallStep::AlreadyThere { version: existing.version.clone() });
            return Ok(existing);
        }
        let staging = folder.with_file_name(STAGING);
        let compiled = folder.with_file_name(COMPILED);
        if staging.exists() || compiled.exists() {
            // The codeyard that left them may have been killed a moment ago: its package tool must not write to them any more.
            orphans::kill_abandoned();
        }
        remove_folder(&staging)?;
        fs::create_dir_all(&staging).map_err(io_error("cannot create", &staging))?;
        let built = self.build(kind, server, &folder, &staging, &report).and_then(|done| {
            remove_folder(&folder)?;
            fs::rename(&staging, &folder).map_err(io_error("cannot create", &folder))?;
            Ok(InstalledServer { folder: folder.clone(), ..done })
        });
        match built {
            Ok(done) => {
                // One that can't be removed is used or removed by the next installation.
                let _ = fs::remove_dir_all(&compiled);
                report(InstallStep::Done { version: done.version.clone() });
                Ok(done)
            }
            Err(error) => {
                // An incomplete folder is useless, and the next attempt would remove it anyway.
                let _ = fs::remove_dir_all(&staging);
                self.not_interrupted(kind)?;
                let _ = fs::remove_dir_all(&compiled);
                Err(error)
            }
        }
    }

    /// Downloads into `staging`, checks that the program runs, and writes the record. Packages that another kind has are linked instead.
    fn build(
        &self,
        kind: &str,
        server: &ServerSpec,
        folder: &Path,
        staging: &Path,
        report: &dyn Fn(InstallStep),
    ) -> Result<InstalledServer, InstallError> {
        let unusable = |why: String| InstallError::Unusable { kind: kind.into(), why };
        let Some(install) = &server.install else { return Err(unusable("its entry names no package".into())) };
        if !shared_packages::link(&self.servers, folder, staging) {
            package_tools::PackageFetch { kind, staging, path: &self.path, limit: self.limits.1, report }
                .fetch(install)?;
        }
        report(InstallStep::Checking);
        let program = program_lookup::in_folder(staging, server)
            .ok_or_else(|| unusable(format!("its packages contain no program `{}`", server.command[0])))?;
        let printed = self.probe(&program, server).map_err(unusable)?;
        let packages = install.packages().map(|packages| packages.names.to_vec()).unwrap_or_default();
        let pinned = packages.first().map(|package| package_tools::version_of(package)).unwrap_or_default();
        let version = printed.unwrap_or(pinned);
        let done = InstalledServer { kind: kind.into(), version, packages, folder: PathBuf::new() };
        let text = serde_json::to_vec_pretty(&done).unwrap_or_default();
        let at = staging.join(RECORD);
        fs::write(&at, text).map_err(io_error("cannot write", &at))?;
        Ok(done)
    }

    /// Holds the lock of one kind across processes until dropped. The lock file lies beside the kind's folder.
    fn lock(&self, kind: &str, report: &dyn Fn(InstallStep)) -> Result<FileLock, InstallError> {
        fs::create_dir_all(&self.servers).map_err(io_error("cannot create", &self.servers))?;
        let at = self.servers.join(format!(".{kind}.lock"));
        if let Some(lock) = FileLock::try_acquire(&at).map_err(io_error("cannot lock", &at))? {
            return Ok(lock);
        }
        report(InstallStep::Waiting);
        loop {
            self.not_interrupted(kind)?;
            thread::park_timeout(Duration::from_millis(LOCK_POLL_MS));
            if let Some(lock) = FileLock::try_acquire(&at).map_err(io_error("cannot lock", &at))? {
                return Ok(lock);
            }
        }
    }

    /// Fails if a signal has asked codeyard to end.
    fn not_interrupted(&self, kind: &str) -> Result<(), InstallError> {
        let Some(signal) = interruption::received() else { return Ok(()) };
        let has_compiled = self.servers.join(kind).join(COMPILED).is_dir();
        Err(InstallError::Interrupted { kind: kind.into(), signal, has_compiled })
    }
}

fn interrupted_text(kind: &str, signal: Interruption, has_compiled: bool) -> String {
    let begin = format!("installing {kind} was interrupted by {}; `codeyard servers install {kind}`", signal.name());
    if has_compiled {
        format!("{begin} goes on with what is compiled so far, `codeyard servers uninstall {kind}` removes that")
    } else {
        format!("{begin} begins it again")
    }
}

/// The error for a kind that codeyard doesn't install.
fn manual(kind: &str, server: &ServerSpec) -> InstallError {
    let hint = match &server.install {
        Some(InstallSource::Manual { hint }) => hint.clone(),
        Some(InstallSource::Builtin {}) => package_tools::BUILTIN.to_owned(),
        _ => format!("put `{}` on the PATH", server.command[0]),
    };
    InstallError::Manual { kind: kind.into(), hint }
}

/// The record of a complete installation.
fn record(folder: &Path) -> Option<InstalledServer> {
    let bytes = fs::read(folder.join(RECORD)).ok()?;
    if folder.file_name()?.to_str()?.starts_with('.') {
        return None;
    }
    let found: InstalledServer = serde_json::from_slice(&bytes).ok()?;
    Some(InstalledServer { folder: folder.into(), ..found })
}

fn remove_folder(folder: &Path) -> Result<(), InstallError> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io_error("cannot remove", folder)(e)),
        _ => Ok(()),
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_path_buf();
    move |source| InstallError::Io { action, path, source }
}

/// The environment that a program of an installation needs, besides the one in the registry.
fn environment(folder: &Path, server: &ServerSpec) -> BTreeMap<String, String> {
    match &server.install {
        // With a prefix its scripts and modules are where Python looks for them, or its entry names them.
        Some(InstallSource::Pypi { prefix: false, .. }) => {
            BTreeMap::from([("PYTHONPATH".to_string(), folder.to_string_lossy().into_owned())])
        }
        _ => BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests;
