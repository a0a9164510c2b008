//! What every other crate may use: digests, encodings, byte budgets, identifiers, the clock, threads, similar names, file replacement and
//! locks.
//!
//! Nothing here knows what a tool, a language server or a workspace is. Only [`atomic_file`] and [`file_lock`] open files.

pub mod atomic_file;
pub mod authentication_code;
pub mod base64_text;
pub mod base64url;
pub mod blocking;
pub mod budget;
pub mod clock;
pub mod digest;
pub mod file_lock;
pub mod ids;
pub mod json_secrets;
pub mod priority;
pub mod proc_status;
pub mod secrets;
pub mod seeded_faults;
pub mod similar;
pub mod stable_json;
pub mod strict_json;
pub mod visible;
pub mod words;
