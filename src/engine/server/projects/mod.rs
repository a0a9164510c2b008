//! The projects of a language server: the folders that it is started for, what is prepared in them, and what is published of them.

pub(crate) mod anchors;
pub(in crate::server) mod folder_changes;
pub(in crate::server) mod index_lag;
pub mod prepared_projects;
pub mod project_folders;
pub mod project_publication;
pub(in crate::server) mod project_updates;
