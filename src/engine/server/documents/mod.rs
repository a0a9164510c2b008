//! The documents of a language server: their texts as on disk, what it has open of them, and the changes of files that it is notified of.

pub(in crate::server) mod disk_reads;
pub(in crate::server) mod document_loading;
pub(in crate::server) mod document_sync;
pub(in crate::server) mod file_changes;
pub(in crate::server) mod watch_globs;
