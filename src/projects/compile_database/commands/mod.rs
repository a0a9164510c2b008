//! Compile commands: databases, and the other texts that list them. What they must not contain is removed.

pub(super) mod database;
pub(super) mod flag_filter;
pub(super) mod ninja;
pub(super) mod printed_commands;
pub(super) mod response_files;
pub(super) mod shell_words;
