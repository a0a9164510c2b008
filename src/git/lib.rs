//! Reading git repositories without running `git`: heads, refs, trees and blobs.
//!
//! Heads are read here, from a few small files. Everything else is read with a library in a [confined process](reader_process), because a
//! repository's files can make a library follow links, block or exhaust the memory. It never writes into a repository and never contacts
//! a remote.

mod head;
pub mod limits;
mod protocol;
pub mod reader_process;
mod readers;
mod repository;
pub mod testing;

#[cfg(test)]
mod tests;

pub use codeyard_files::git_layout::NoRepository;
pub use head::RepositoryHead;
pub use readers::GitError;
pub use repository::{BlobRead, BlobReader, GitRepository, TreeFile};
