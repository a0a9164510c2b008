//! Telemetry of calls: spans at an exporter, log lines, and bytes at a receiver.

mod captured;
mod code;
mod document;
mod parents;
mod receivers;
mod resumed_runs;
mod secrets;
mod spans;
mod work;
