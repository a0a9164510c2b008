//! The source that a language server is installed from.
//!
//! Data only; `install` fetches. Invariant: all packages of a source come from one registry.

use serde::{Deserialize, Serialize};

/// The source that a server is installed from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "lowercase", deny_unknown_fields)]
pub enum InstallSource {
    /// From PyPI, into a folder of the state directory. Packages are pinned, `name==version`.
    Pypi {
        /// Requirements for pip.
        packages: Vec<String>,
        /// Whether the packages bring files beside their modules, which pip leaves out of a plain folder. The modules are then in
        /// `lib/python3.*/site-packages` of the install folder.
        #[serde(default)]
        prefix: bool,
    },
    /// From npm, into a folder of the state directory. Packages are pinned, `name@version`.
    Npm { packages: Vec<String> },
    /// From crates.io with `cargo install`. Packages are pinned, `name@version`.
    Cargo {
        /// Crates for `cargo install`.
        packages: Vec<String>,
        #[serde(default)]
        features: Vec<String>,
    },
    /// From the Go module proxy with `go install`. Packages are pinned, `path@vVERSION`.
    Go {
        /// Packages for `go install`.
        packages: Vec<String>,
    },
    /// codeyard doesn't install it; the user does.
    Manual {
        /// The instruction for the user.
        hint: String,
    },
    /// Built into codeyard: the arguments of `command` are codeyard's own.
    Builtin {},
}

/// The packages of an install source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcePackages<'a> {
    /// The registry that holds them, for people.
    pub registry: &'static str,
    /// The program that fetches them.
    pub tool: &'static str,
    /// Whether they are compiled here.
    pub are_compiled: bool,
    /// The packages, in the tool's notation.
    pub names: &'a [String],
}

impl InstallSource {
    /// The packages to fetch; `None` if codeyard fetches none.
    pub fn packages(&self) -> Option<SourcePackages<'_>> {
        let (registry, tool, are_compiled, names) = match self {
            Self::Pypi { packages, .. } => ("PyPI", "pip", false, packages),
            Self::Npm { packages } => ("npm", "npm", false, packages),
            Self::Cargo { packages, .. } => ("crates.io", "cargo", true, packages),
            Self::Go { packages } => ("the Go proxy", "go", true, packages),
            Self::Manual { .. } | Self::Builtin {} => return None,
        };
        Some(SourcePackages { registry, tool, are_compiled, names })
    }
}
