//! The indexer actor of one workspace: one project per root, and the jobs that build their indexes.
//!
//! [`actor`] and its jobs decide when a job runs; [`code_query`] answers queries from the projects, on threads that may block, and
//! [`group_query`] those about several workspaces;
//! [`indexes`] is what all workspaces of a process share; [`messages`] lists what the actor accepts.

pub mod actor;
pub mod code_query;
mod fan_out;
pub mod group_health;
pub mod group_members;
pub mod group_query;
pub mod group_report;
pub mod group_rows;
mod group_steps;
pub mod handle;
pub mod health;
pub mod indexes;
mod jobs;
mod merge;
pub mod messages;
pub mod policy;
pub mod query_end;
pub mod refusals;
pub mod repo_filter;
pub mod running_queries;
pub mod state;
