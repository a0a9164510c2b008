//! The project of a language server: which project file it reads, or which one codeyard infers, and which files it covers.
//!
//! A language server without a project file knows only the documents that are open, and its answers are silently incomplete.
//! [`prepare`] runs before each start of a server. It finds the project file that the server reads, or infers one into the server's
//! cache folder, and returns what to pass to the server ([`PreparedProject`]) and what the server will cover ([`ProjectInfo`]). The
//! engine publishes the [`ProjectInfo`] of each running server; marks in answers and `doctor` are made from it.
//!
//! Which inference a kind of server needs is data: the field `project` of its entry in `config/languages.toml`
//! ([`ProjectInference`]). Each inference is one module here, called from [`prepare`].
//!
//! It starts no process unless [`ProjectRequest::build`] allows it. Invariants: it writes only below [`ProjectRequest::cache`]; the
//! same files give the same bytes, whatever was asked before; it never fails because of what a project contains: an unreadable project
//! file is reported in [`ProjectInfo::problems`], and the project is inferred.
//!
//! # Code map
//!
//! A place imports only places above it in this table, which a test checks; the files beside this one may be imported by all.
//!
//! | place | holds |
//! |---|---|
//! | [`compile_database`] | C and C++: a compile database, found, completed or inferred |
//! | [`java`] | Java: packages and source folders |
//! | [`python`] | Python: environments, scopes, imports |
//! | [`typescript`] | TypeScript and JavaScript: configurations, packages, imports |
//! | [`other_projects`] | what projects of one server take from each other |
//! | [`inferences`] | which inference prepares a project |

mod build_report;
mod changed_file;
mod compile_database;
mod coverage;
mod inferences;
mod info;
mod java;
pub mod limits;
mod memory;
mod other_projects;
mod packages;
mod prepare;
mod python;
mod scripts;
mod shown;
mod tree;
mod typescript;
mod unwatched_folder;
mod views;

pub use build_report::BuildReport;
pub use codeyard_lsp::registry::ProjectInference;
pub use compile_database::is_fragment;
pub use coverage::CoverageOwner;
pub use inferences::{counts_others, prepare};
pub use info::{ProjectInfo, ProjectSource, UnresolvedNames};
pub use memory::ProjectMemory;
pub use other_projects::{mark_uses_in_other_projects, modules};
pub use prepare::{PreparedProject, ProjectCommand, ProjectDocument, ProjectModules, ProjectRequest, RunBuild};
pub use unwatched_folder::UnwatchedFolder;
