//! The commands, one file or folder each. What several commands need is in [`crate::shared`].

pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod call;
pub(crate) mod code_index;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod doctor;
pub(crate) mod health;
pub(crate) mod permissions;
pub(crate) mod quickstart;
pub(crate) mod runs;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod stdio;
pub(crate) mod syntactic;
pub(crate) mod token;
pub(crate) mod top;
pub(crate) mod workspaces;
