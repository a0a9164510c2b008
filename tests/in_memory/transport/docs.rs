//! The table of refusals in `docs/internals/protocol.md` equals the server's behaviour.

use codeyard_protocol::error::Fault;
use codeyard_server::transport::http::refusal::RefusalReason;
use serde_json::json;

use crate::transport::refusals::{reason_of, violate};
use crate::transport::wire::server;

const PAGE: &str = include_str!("../../../docs/internals/protocol.md");

/// The cells of the rows whose first cell is a number.
fn numbered_rows() -> Vec<Vec<String>> {
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect::<Vec<_>>();
    let rows = PAGE.lines().filter(|line| line.starts_with('|')).map(cells);
    rows.filter(|row| row[0].parse::<usize>().is_ok()).collect()
}

#[tokio::test]
async fn the_documented_refusals_equal_the_code() {
    let rows = numbered_rows();
    assert_eq!(rows.len(), RefusalReason::ALL.len());
    let server = server().await;
    let session = server.session().await;
    let good = server.call(&json!(1), "echo", &json!({})).in_session(&session);
    for (at, (row, refusal)) in rows.iter().zip(RefusalReason::ALL).enumerate() {
        assert_eq!(row[0], (at + 1).to_string());
        assert_eq!((&*row[1], &*row[2]), (refusal.status().as_str(), refusal.reason()), "{row:?}");
        let Some(ask) = violate(refusal, good.clone()) else { continue };
        let answer = server.send(&ask).await;
        assert_eq!((answer.status.to_string(), &*answer.reason()), (row[1].clone(), reason_of(refusal)));
    }
}

#[test]
fn every_fault_is_documented() {
    for fault in Fault::ALL {
        let row = format!("| `{}` | `{}` |", fault.code(), fault.reason());
        assert!(PAGE.contains(&row), "missing: {row}");
    }
}
