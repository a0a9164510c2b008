//! Finding and installing the programs of language servers.
//!
//! One folder per kind and specification below the servers directory: `<kind>/<version>-<hash>/`. Nothing global is changed.
//! An installation is built in a folder beside it and put in place by one rename, under a lock file, so a folder that is there
//! is whole, and two processes don't clash. It runs package tools and version probes only; servers are started by `spawn`.
//! Everything here blocks: call it where blocking is allowed.

mod package_tools;
mod program_lookup;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::registry::{InstallSource, Registry, ServerSpec};
use crate::limits::INSTALL_TIMEOUT_MS;
use codeyard_base::clock::Instant;
use codeyard_base::digest::sha256hex;

pub use program_lookup::{ProgramSource, ProgramStatus, ServerProgram};

/// The variable that names a servers directory to share, such as a build folder's.
pub const SERVERS_DIR_VARIABLE: &str = "CODEYARD_SERVERS_DIR";
/// Written last into an installation.
const RECORD: &str = "codeyard-install.json";

/// Finds, installs and removes servers.
#[derive(Debug)]
pub struct Installer {
    servers: PathBuf,
    /// `PATH`, in which programs and package tools are looked for.
    path: OsString,
    /// Longest time of a version probe and of one server's installation.
    limits: (Duration, Duration),
    /// What probes said, by program and its modification time.
    probes: Mutex<HashMap<(PathBuf, SystemTime), program_lookup::ProbeResult>>,
}

/// Why a server can't be installed or removed. Messages say what to do.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// No such kind.
    #[error("no language server is called `{0}`; `codeyard servers list` shows them")]
    UnknownKind(String),
    /// We don't install this one.
    #[error("{kind} is not installed by codeyard: {hint}")]
    Manual {
        /// The kind.
        kind: String,
        /// What the user can do.
        hint: String,
    },
    /// The tool that would install it isn't there.
    #[error("{kind} needs {tool}, which is not on the PATH: {advice}")]
    MissingTool {
        /// The kind.
        kind: String,
        /// The tool.
        tool: String,
        /// What to do.
        advice: String,
    },
    /// The tool failed.
    #[error("installing {kind} failed ({why}): {advice}\n{tail}")]
    Failed {
        /// The kind.
        kind: String,
        /// Its exit, or that it took too long.
        why: String,
        /// What to do.
        advice: String,
        /// The end of its output.
        tail: String,
    },
    /// InstalledServer, but the program isn't there or doesn't run.
    #[error("{kind} was installed but does not run: {why}")]
    Unusable {
        /// The kind.
        kind: String,
        /// What happened.
        why: String,
    },
    /// The servers directory can't be used.
    #[error("{action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// What an installation is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallProgress {
    /// The kind.
    pub kind: String,
    /// What goes on.
    pub step: InstallStep,
    /// Since this kind's installation began.
    pub elapsed: Duration,
}

/// A step of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStep {
    /// Another process installs the same kind.
    Waiting,
    /// The package tool runs; told again every second.
    Fetching {
        /// The packages.
        packages: String,
        /// The tool.
        tool: &'static str,
    },
    /// The program is asked for its version.
    Checking,
    /// It is in place.
    Done {
        /// What it says its version is, or what was asked for.
        version: String,
    },
    /// It was in place already.
    AlreadyThere {
        /// Its version.
        version: String,
    },
}

/// An installation, as its record tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledServer {
    /// The kind.
    pub kind: String,
    /// What it says its version is, or the version that was asked for.
    pub version: String,
    /// The packages asked for.
    pub packages: Vec<String>,
    /// Where it lies; not in the record.
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
        }
    }

    /// The same with another `PATH`.
    pub fn with_path(mut self, path: impl Into<OsString>) -> Self {
        self.path = path.into();
        self
    }

    /// Where servers are installed.
    pub fn servers_dir(&self) -> &Path {
        &self.servers
    }

    /// Installs kinds one after the other; those in place are left alone. Returns them in order.
    ///
    /// # Errors
    /// The first that fails; those before it stay, and a later call goes on from there.
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

    /// What is installed, by kind and version.
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

    /// Removes all versions of a kind. Says whether there was one.
    ///
    /// # Errors
    /// [`InstallError::UnknownKind`] for a word that can't be a kind, [`InstallError::Io`].
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

    /// The folder of a kind's present specification, whether it is there or not. Nothing for what we don't install.
    pub fn folder(&self, kind: &str, server: &ServerSpec) -> Option<PathBuf> {
        let (tool, packages) = package_tools::packages(server.install.as_ref()?)?;
        let spec = format!("{tool} {}", packages.join(" "));
        let version = package_tools::version_of(packages.first()?);
        Some(self.servers.join(kind).join(format!("{version}-{}", &sha256hex(spec.as_bytes())[..8])))
    }

    fn install_one(
        &self,
        kind: &str,
        server: &ServerSpec,
        progress: &dyn Fn(InstallProgress),
    ) -> Result<InstalledServer, InstallError> {
        let started = Instant::now();
        let tell =
            |step: InstallStep| progress(InstallProgress { kind: kind.into(), step, elapsed: started.elapsed() });
        let Some(folder) = self.folder(kind, server) else {
            let hint = match &server.install {
                Some(InstallSource::Manual { hint }) => hint.clone(),
                Some(InstallSource::Builtin {}) => package_tools::BUILTIN.to_owned(),
                _ => format!("put `{}` on the PATH", server.command[0]),
            };
            return Err(InstallError::Manual { kind: kind.into(), hint });
        };
        let _lock = self.lock(kind, &tell)?;
        if let Some(there) = record(&folder) {
            tell(InstallStep::AlreadyThere { version: there.version.clone() });
            return Ok(there);
        }
        let fresh = folder.with_file_name(".new");
        remove_folder(&fresh)?;
        fs::create_dir_all(&fresh).map_err(io_error("cannot make", &fresh))?;
        let built = self.build(kind, server, &fresh, &tell).and_then(|done| {
            remove_folder(&folder)?;
            fs::rename(&fresh, &folder).map_err(io_error("cannot put in place", &folder))?;
            Ok(InstalledServer { folder: folder.clone(), ..done })
        });
        match built {
            Ok(done) => {
                tell(InstallStep::Done { version: done.version.clone() });
                Ok(done)
            }
            Err(error) => {
                // A half-made folder is of no use; the next attempt would remove it anyway.
                let _ = fs::remove_dir_all(&fresh);
                Err(error)
            }
        }
    }

    /// Fetches into `fresh`, checks that the program runs, and writes the record.
    fn build(
        &self,
        kind: &str,
        server: &ServerSpec,
        fresh: &Path,
        tell: &dyn Fn(InstallStep),
    ) -> Result<InstalledServer, InstallError> {
        let unusable = |why: String| InstallError::Unusable { kind: kind.into(), why };
        let Some(install) = &server.install else { return Err(unusable("it names no package".into())) };
        package_tools::PackageFetch { kind, fresh, path: &self.path, limit: self.limits.1, tell }.fetch(install)?;
        tell(InstallStep::Checking);
        let program = program_lookup::in_folder(fresh, server)
            .ok_or_else(|| unusable(format!("its packages hold no `{}`", server.command[0])))?;
        let said = self.probe(&program, server).map_err(unusable)?;
        let packages = package_tools::packages(install).map(|(_, packages)| packages.to_vec()).unwrap_or_default();
        let asked = packages.first().map(|package| package_tools::version_of(package)).unwrap_or_default();
        let version = said.unwrap_or(asked);
        let done = InstalledServer { kind: kind.into(), version, packages, folder: PathBuf::new() };
        let text = serde_json::to_vec_pretty(&done).unwrap_or_default();
        let at = fresh.join(RECORD);
        fs::write(&at, text).map_err(io_error("cannot write", &at))?;
        Ok(done)
    }

    /// Holds the lock of one kind, across processes, until dropped. It lies beside the kind's folder.
    fn lock(&self, kind: &str, tell: &dyn Fn(InstallStep)) -> Result<File, InstallError> {
        fs::create_dir_all(&self.servers).map_err(io_error("cannot make", &self.servers))?;
        let at = self.servers.join(format!(".{kind}.lock"));
        let file = File::options().create(true).truncate(false).write(true).open(&at);
        let file = file.map_err(io_error("cannot open", &at))?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => tell(InstallStep::Waiting),
            Err(TryLockError::Error(e)) => return Err(io_error("cannot lock", &at)(e)),
        }
        file.lock().map_err(io_error("cannot lock", &at))?;
        Ok(file)
    }
}

/// The record of a whole installation.
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

/// The environment a program of an installation needs, besides the registry's.
fn environment(folder: &Path, server: &ServerSpec) -> BTreeMap<String, String> {
    match &server.install {
        Some(InstallSource::Pypi { .. }) => {
            BTreeMap::from([("PYTHONPATH".to_string(), folder.to_string_lossy().into_owned())])
        }
        _ => BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests;
