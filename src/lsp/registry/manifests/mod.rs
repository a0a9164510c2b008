//! Manifests that list the projects of a build workspace: Cargo workspaces, `go.work`, the workspaces of npm, yarn,
//! bun and pnpm, the references between TypeScript configurations, and what shares an environment of Python.
//!
//! A *build workspace* is a set of projects that a build tool treats as one. Each manifest is read by the rules of
//! its tool. This module answers one question: to which build workspace does the project of this file belong? It
//! knows nothing of language servers. Invariants: nothing outside the workspace root is read or returned; an
//! unreadable manifest neither lists nor excludes a project; the work for one file is bounded.

mod cargo;
mod context;
mod go;
mod node;
mod python;
mod tsconfig;

pub(super) use context::{ManifestContext, Membership};
pub use python::environment as python_environment;

use codeyard_ecosystems::npm::{MANIFEST, PNPM_WORKSPACE};

use super::schema::ManifestKind;

impl ManifestKind {
    /// Whether the existence of a file of this name may decide, besides those that it reads.
    pub(crate) fn looks_for(self, name: &str) -> bool {
        self == Self::Python && python::marks(name)
    }

    /// Whether a file of this name may be read.
    pub(crate) fn reads(self, name: &str) -> bool {
        match self {
            Self::Cargo => name == codeyard_ecosystems::cargo::MANIFEST,
            Self::Go => name == codeyard_ecosystems::go::WORKSPACE,
            Self::Node => [MANIFEST, PNPM_WORKSPACE].contains(&name),
            // References may name a configuration of any name.
            Self::TypeScript => name.ends_with(".json"),
            Self::Python => name == codeyard_ecosystems::python::MANIFEST,
        }
    }

    /// The membership of the file in `context`, according to manifests of this kind.
    pub(crate) fn membership(self, context: &ManifestContext<'_>) -> Membership {
        match self {
            Self::Cargo => cargo::membership(context),
            Self::Go => go::membership(context),
            Self::Node => node::membership(context),
            Self::TypeScript => tsconfig::membership(context),
            Self::Python => python::membership(context),
        }
    }
}
