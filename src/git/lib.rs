//! Reading git repositories without running `git`: heads, refs, trees and blobs.
//!
//! It writes nothing into a repository and follows no remote.

mod objects;

pub use objects::{Blob, BlobReader, Git, Head};
