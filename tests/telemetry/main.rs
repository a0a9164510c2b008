//! Telemetry of calls: spans at an exporter, log lines, and bytes at a receiver.

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
mod resumed_runs;
mod secrets;
mod spans;
mod work;
