//! Third-party programs with the real binary: the protocol's conformance suite, official clients, the Inspector's
//! command line, Prometheus, receivers of OpenTelemetry, agent hosts with a fake model.
//!
//! They come from the package registries, so all tests are `#[ignore]`d: `cargo test --profile thorough -- --ignored` runs them.

mod clients;
mod conformance;
mod eras;
mod hosts;
mod http;
mod inspector;
mod launch;
mod parts;
mod permissions;
mod program;
mod prometheus;
mod proxies;
mod receivers;
mod sample;
mod sign_on;
