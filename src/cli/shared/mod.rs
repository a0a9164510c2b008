//! What several commands need: assembling the service, its listeners, clients of a running server, output, logging, signals.

pub(crate) mod admin_client;
pub(crate) mod admin_listener;
pub mod assemble;
pub(crate) mod audit;
pub(crate) mod exit_limit;
pub(crate) mod first_token;
pub(crate) mod index_extent;
pub(crate) mod launch_runs;
pub(crate) mod listeners;
pub(crate) mod lock_watch;
pub(crate) mod logging;
pub(crate) mod mcp_client;
pub(crate) mod open_files;
pub mod output;
pub(crate) mod render;
pub(crate) mod root_folder;
pub(crate) mod server_diagnosis;
pub mod server_installation;
pub(crate) mod shell;
pub(crate) mod signals;
pub(crate) mod tool_session;
pub(crate) mod workspace_folders;
