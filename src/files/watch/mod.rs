//! Rank 3: seeing what changes on disk, for the workspaces in use. One kernel queue for the whole process.
//!
//! It tells paths, nothing about their meaning; and it never writes inside a root. [`Watcher::subscribe`] walks the
//! roots once (ignore files respected), sets one watch a directory, and remembers a stamp a file. Events only name
//! places to look at: what is reported comes from comparing the place with its stamp, so lost, doubled, merged and
//! reordered events do no harm.
//!
//! Why the kernel's queue is read by ourselves on Linux: it is filled by the very system call that changes the file, so
//! reading it empty *is* the barrier, without a cookie file and without waiting for a thread. And the usual wrapper also
//! asks for an event each time any file is opened, which a language server's indexing turns into an overflow.
//!
//! What is watched: every directory below the roots; ignored ones too, for the sources and the configuration in them
//! (language servers read generated code), except by a fixed list of names and up to a budget of directories, beyond
//! which [`Subscription::degraded`] says so; of git the places that say what `HEAD` is, also of a linked worktree;
//! directories that hold dependencies (`node_modules`, `site-packages`, an ignored `vendor`) one level deep, where a
//! change makes everything uncertain ([`Changes::bulk`]). Ignore files decide what [`Subscription::source_files`]
//! lists. Symbolic links are entries of their own and never followed.
//!
//! Invariants: what happened on disk before [`Subscription::barrier`] is in [`Subscription::take`] after it, or `bulk`
//! says that everything may have changed; a subscription that is dropped leaves no watch; every queue is bounded.

mod changes;
mod contents;
mod git;
mod ground;
mod ignores;
mod queue;
mod routes;
mod stamp;
mod subscription;
mod table;
mod traffic;
mod watcher;

#[cfg(test)]
mod tests;

pub use changes::{ChangeKind, Changes, FileChange};
pub use subscription::Subscription;
pub use traffic::Traffic;
pub use watcher::{WatchError, WatchSpec, Watcher};
