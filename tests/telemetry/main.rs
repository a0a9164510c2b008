//! What is told of calls: spans as an exporter gets them, lines as a log gets them, bytes as a receiver gets them.

#[path = "../support/fake_server/mod.rs"]
mod fake_server;
#[path = "../engine/harness.rs"]
#[allow(dead_code, reason = "this target uses a part")]
mod harness;

mod captured;
mod code;
mod document;
mod parents;
mod receivers;
mod secrets;
mod spans;
