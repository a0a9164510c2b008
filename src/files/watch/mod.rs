//! The file watcher: reports which files changed on disk. One inotify queue for the whole process.
//!
//! It reports paths and gives them no meaning, and it never writes inside a root. [`Watcher::subscribe`] walks the roots
//! once and respects ignore files, sets one watch per directory, and stores one stamp per file. Events are hints: they name
//! paths to check. A change is reported only if the path differs from its stored stamp, so lost, duplicate, merged and
//! reordered events do no harm.
//!
//! Why this module reads inotify itself: the system call that changes a file also fills the queue. Emptying the queue is
//! therefore a complete barrier, without a cookie file and without waiting for a thread. The usual wrapper also subscribes
//! to each opening of a file, so a language server that indexes a repository overflows the queue.
//!
//! What is watched:
//! - every directory below the roots;
//! - ignored directories, for the sources and configuration files in them (language servers read generated code), except a
//!   fixed list of names, and up to a limit; beyond it [`Subscription::degraded`] returns the reason;
//! - the files of git that determine `HEAD`, also those of a linked worktree;
//! - directories of dependencies (`node_modules`, `site-packages`, an ignored `vendor`), and the folders inside them up to a limit,
//!   the higher ones first. An added or removed package and a change of a source in one is [`Changes::bulk`].
//!
//! Ignore files decide what [`Subscription::source_files`] lists. Symbolic links are entries and are never followed.
//!
//! Invariants: [`Subscription::take`] after [`Subscription::barrier`] returns every change made before the barrier, or sets
//! `bulk`, which means that any file may have changed; a dropped subscription leaves no watch; every queue is bounded.

mod changes;
mod context;
mod counters;
mod dependencies;
mod git;

mod queue;
mod routes;
mod subscription;
mod table;
mod walk_slots;
mod watcher;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};

pub use changes::{ChangeKind, Changes, FileChange};
pub use counters::WatchCounters;
pub use subscription::Subscription;
pub use watcher::{LookAtFile, WatchError, WatchSpec, Watcher};

/// The keys of a map of paths that are `path` or below it.
fn keys_below<V>(map: &BTreeMap<PathBuf, V>, path: &Path) -> Vec<PathBuf> {
    let from = map.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
    from.map(|(dir, _)| dir).take_while(|dir| dir.starts_with(path)).cloned().collect()
}
