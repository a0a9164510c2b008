//! The registry of language servers: what `config/languages.toml` and the user's entries say, as types.
//!
//! It says which language a file has, which servers serve a language, and how each server is found, installed, started
//! and waited for. It starts nothing. Only [`DiskFiles`], [`CachedFiles`] and [`LaunchConfig::prepare`] touch the disk.
//! Invariant of a registry that came from [`Registry::builtin`] or [`Registry::merged`]: every language of a server is in
//! the registry, no file name extension belongs to two languages, the primary servers of a language are of one group with
//! distinct priorities, and every package is pinned.

pub mod docs_page;
mod install_source;
mod language_index;
mod launch;
mod libraries;
mod loader;
mod manifests;
mod marker_files;
mod project_root;
mod quirks;
mod schema;
mod selection;
mod server_choice;
mod validation;

pub use install_source::{InstallSource, SourcePackages};
pub use language_index::LanguageIndex;
pub use launch::{LaunchConfig, LaunchPaths, refresh_copies};
pub use libraries::{MissingLibrary, NODE_INSTALLERS, missing_library};
pub use loader::RegistryError;
pub use manifests::python_environment;
pub use marker_files::{CachedFiles, DiskFiles, MarkerFiles};
pub use project_root::{ProjectRoot, RootReason, project_root};
pub use quirks::{MissedChange, Quirks, UnlistedCallers};
pub use schema::{
    CheckerSpec, ConfiguredScope, LanguageSpec, ManifestKind, MultiRoot, ProjectInference, ProjectView, ReadinessRule,
    Registry, RestrictedLaunch, RootPick, RootRule, ServerRole, ServerSpec, UsedLanguages,
};
pub use selection::{FallbackMode, LanguageCandidates, ServerSelection};
pub use server_choice::{ConsideredServer, ProjectPlacement, ServerChooser, ServerVerdict, place_file};
