//! Package manifests: what `package.json`, `Cargo.toml`, `pyproject.toml`, `go.mod` and others say.
//!
//! It is given texts and answers what they say: names and versions, dependencies, members of a workspace, the modules that a package exports. It opens
//! no file, knows no language server, and decides nothing about the files that a manifest names. Invariants: no text makes a reader fail; a value of
//! another type than expected counts as missing; a reader costs no more than the size of its text.
//!
//! # Code map
//!
//! A place imports only places above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | place | holds |
//! |---|---|
//! | [`cargo`] | `Cargo.toml` |
//! | [`go`] | `go.mod` and `go.work` |
//! | [`npm`] | `package.json`, `pnpm-workspace.yaml` |
//! | [`python`] | `pyproject.toml` and `setup.cfg` |
//! | [`metadata`] | the name, version, description and licence that a manifest of any kind says |

pub mod cargo;
pub mod folder_globs;
pub mod go;
mod json_text;
pub mod jsonc;
pub mod metadata;
pub mod npm;
pub mod python;
mod toml_text;
mod values;
