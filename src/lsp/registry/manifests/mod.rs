//! Manifests that say which projects belong together: a Cargo workspace, `go.work`, the workspaces of npm, yarn, bun and pnpm,
//! the references of TypeScript's solutions. Each is read by the rules of its own tool.
//!
//! It answers one question: of which whole is the project that this file lies in? It knows nothing of language servers.
//! Invariants: what lies outside the workspace root is never read and never an answer; a manifest that can't be read names
//! nobody and keeps nobody out; the work for one file is bounded.

mod cargo;
mod context;
mod go;
mod jsonc;
mod node;
mod tsconfig;

pub(super) use context::{ManifestContext, Membership};

use super::schema::Manifest;

impl Manifest {
    /// Whether a file of this name may be read for it.
    pub fn reads(self, name: &str) -> bool {
        match self {
            Self::Cargo => name == "Cargo.toml",
            Self::Go => name == "go.work",
            Self::Node => ["package.json", "pnpm-workspace.yaml"].contains(&name),
            // References may name a configuration of any name.
            Self::TypeScript => name.ends_with(".json"),
        }
    }

    /// What manifests of this kind say of a file on `context`.
    pub fn membership(self, context: &ManifestContext<'_>) -> Membership {
        match self {
            Self::Cargo => cargo::membership(context),
            Self::Go => go::membership(context),
            Self::Node => node::membership(context),
            Self::TypeScript => tsconfig::membership(context),
        }
    }
}
