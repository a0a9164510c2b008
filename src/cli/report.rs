//! What the status socket of a running server tells: who it is, its workspaces with their language servers, its counters.

use std::sync::{Arc, Weak};

use futures::FutureExt;
use serde_json::{Value, json};

use super::assemble::Service;
use crate::base::clock::Instant;
use crate::protocol::names::SERVER_VERSION;
use crate::telemetry::{Counts, Outcome};
use crate::transport::status::Report;

/// The report of a service that is served at `url`. It doesn't keep the service alive.
pub fn of(service: &Arc<Service>, url: &str) -> Report {
    let (service, url, started) = (Arc::downgrade(service), url.to_owned(), Instant::now());
    Arc::new(move || document(service.clone(), url.clone(), started).boxed())
}

async fn document(service: Weak<Service>, url: String, started: Instant) -> Value {
    let Some(service) = service.upgrade() else { return Value::Null };
    let workspaces = service.engine.health().await;
    json!({
        "pid": std::process::id(),
        "version": SERVER_VERSION,
        "uptime_s": started.elapsed().as_secs(),
        "listen": url,
        "default_workspace": service.engine.directory().default_name(),
        "workspaces": workspaces,
        "counts": counts(&service.counts),
    })
}

fn counts(counts: &Counts) -> Value {
    let calls = counts.calls().into_iter().map(|((tool, outcome), count)| {
        let outcome = match outcome {
            Outcome::Ok => "ok",
            Outcome::Cancelled => "cancelled",
            Outcome::Failed(code) => code.as_str(),
        };
        json!({"tool": tool, "outcome": outcome, "count": count})
    });
    json!({
        "calls": calls.collect::<Vec<_>>(),
        "restarts": counts.restarts(),
        "retained_hits": counts.retained_hits(),
        "cancels": counts.cancels(),
    })
}
