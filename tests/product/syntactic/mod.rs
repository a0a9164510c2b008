//! The embedded language server: the real binary over its pipes, and as codeyard starts it where a language has no server.

mod client;
mod conversation;
mod languages;
mod served;
mod sources;
