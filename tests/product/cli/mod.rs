//! The command line as a user meets it: the real binary, its words, its exit codes, its signals.

mod calls;
mod configuration;
mod connect;
mod doctor;
mod full_disk;
pub(crate) mod harness;
mod hostile_output;
mod index;
mod interrupted;
mod permissions;
mod quickstart;
mod reload;
mod runs;
mod search;
mod serving;
mod session;
mod tokens;
mod usage;
