//! Reading git repositories without running `git`: heads, refs, trees and blobs.
//!
//! It never writes into a repository and never contacts a remote.

mod repository;

pub use repository::{BlobReader, GitRepository, RepositoryHead, TreeFile};
