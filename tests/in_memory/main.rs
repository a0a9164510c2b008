//! Tests that run the product's parts in this process, with fake language servers, fake clients or a fake gateway.

mod fake_server;

mod engine;
mod lsp_client;
mod sim;
mod telemetry;
mod transport;
