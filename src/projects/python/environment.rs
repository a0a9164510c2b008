//! What can be imported from a project's virtual environment, by the names of its files.
//!
//! It runs no Python. Invariant: if an environment may hold more modules than its files show, no module is reported as missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::{DiskFiles, MarkerFiles, python_environment};

/// Files of paths that add no modules.
const HARMLESS_PATHS: [&str; 2] = ["distutils-precedence.pth", "_virtualenv.pth"];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum VirtualEnvironment {
    /// There is none.
    Missing,
    /// It exists and may hold anything: it includes the system's packages, or packages that are elsewhere.
    Open,
    /// It holds these modules and no others.
    Closed {
        /// The name of its folder.
        folder: String,
        modules: BTreeSet<String>,
    },
}

impl VirtualEnvironment {
    /// The environment in a folder that [`folder`] returns. A link out of `top` isn't read.
    pub(super) fn read(folder: Option<&Path>, top: &Path) -> Self {
        let Some(environment) = folder else { return Self::Missing };
        let settings = DiskFiles.read_text(&environment.join("pyvenv.cfg"), top);
        let includes_system = settings.lines().filter_map(|line| line.split_once('=')).any(|(key, value)| {
            key.trim() == "include-system-site-packages" && value.trim().eq_ignore_ascii_case("true")
        });
        if settings.is_empty() || includes_system {
            return Self::Open;
        }
        let versions = DiskFiles.entries(&environment.join("lib"));
        let mut modules = BTreeSet::new();
        for version in versions.iter().filter(|version| version.starts_with("python")) {
            for entry in DiskFiles.entries(&environment.join("lib").join(version).join("site-packages")).iter() {
                if entry.ends_with(".pth") && !HARMLESS_PATHS.contains(&entry.as_str()) {
                    return Self::Open;
                }
                // `six.py`, `yaml`, `_cffi.cpython-312-x86_64-linux-gnu.so`
                modules.extend(entry.split('.').next().map(str::to_owned));
            }
        }
        let folder = environment.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self::Closed { folder, modules }
    }

    /// Whether a module of this name can be imported from it.
    pub(super) fn may_hold(&self, module: &str) -> bool {
        match self {
            Self::Missing => false,
            Self::Open => true,
            Self::Closed { modules, .. } => modules.contains(module),
        }
    }

    /// Whether it is known to hold a module of this name.
    pub(super) fn holds(&self, module: &str) -> bool {
        *self != Self::Open && self.may_hold(module)
    }
}

/// The folder of the environment in a project root. `.venv` and `venv` count without their mark too, because type checkers use them.
pub(super) fn folder(root: &Path) -> Option<PathBuf> {
    let usual = || [".venv", "venv"].map(|name| root.join(name)).into_iter().find(|folder| DiskFiles.exists(folder));
    python_environment(root, &DiskFiles).or_else(usual)
}
