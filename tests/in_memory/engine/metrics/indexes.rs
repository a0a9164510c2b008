//! Jobs and answers of the code index update its metrics.

use serde_json::json;

use super::Measured;
use crate::engine::code::{ask, settled, start, until};
use crate::engine::harness::*;

const FILES: &str = "codeyard_index_files";
const SYMBOLS: &str = "codeyard_index_symbols";
const SIZE: &str = "codeyard_index_size_bytes";
const TEXT_SIZE: &str = "codeyard_index_text_size_bytes";
const JOBS: &str = "codeyard_index_job_duration_seconds_count";
const QUEUE: &str = "codeyard_index_queue_depth";
const ANSWERS: &str = "codeyard_index_answers_total";

fn job<'l>(mode: &'l str, state: &'l str) -> [(&'l str, &'l str); 2] {
    [("codeyard_job_mode", mode), ("codeyard_state", state)]
}

#[test]
fn index_jobs_and_answers_update_index_metrics() {
    in_real_time(|| async {
        let site = Site::new(&[("a.rs", "fn alpha() {}\nfn beta() {}\n"), ("notes.txt", "alpha\n")]);
        let measured = Measured::open(Plan::new(site)).await;
        let yard = &measured.yard;
        let before = measured.read();
        for name in [FILES, SYMBOLS, SIZE, QUEUE, ANSWERS] {
            assert_eq!(before.sum(name, &[]), 0.0, "{name}");
        }
        let lines = json!({"query": "alpha", "mode": "text"});
        ask(yard, "search_code", lines.clone()).await;
        settled(yard).await;
        // The indexer counts when it knows that its job has published.
        until(yard, "index_status", json!({}), |_| measured.sum(FILES, &[]) > 0.0).await;
        let read = measured.read();
        assert_eq!((read.sum(FILES, &[]), read.sum(SYMBOLS, &[])), (2.0, 2.0));
        assert!(read.sum(SIZE, &[]) > 4_096.0);
        // So few files are in no segment.
        assert_eq!(read.sum(TEXT_SIZE, &[]), 0.0);
        assert_eq!(read.sum(JOBS, &job("full", "published")), 1.0);
        assert!(read.sum(ANSWERS, &[("codeyard_index_freshness", "fresh")]) >= 1.0);
        // Change a file.
        yard.site().write("b.rs", "fn gamma() {}\n");
        settled(yard).await;
        let is_recorded = || measured.sum(JOBS, &job("incremental", "published")) >= 1.0;
        until(yard, "index_status", json!({}), |_| is_recorded() && measured.sum(FILES, &[]) == 3.0).await;
        assert_eq!(measured.sum(SYMBOLS, &[]), 3.0);
        // Make a job fail.
        until(yard, "index_repo", json!({"ref": "none"}), |answer| answer["job_id"].is_string()).await;
        until(yard, "index_status", json!({}), |_| measured.sum(JOBS, &job("full", "failed")) == 1.0).await;
        // Make a query wait for a slot.
        let handle = yard.engine().directory().all().remove(0);
        let places = handle.indexes.places.clone();
        let all = places.acquire_many(u32::try_from(places.available_permits()).unwrap()).await.unwrap();
        let waiting = tokio::spawn(start(yard, "w0", "search_code", lines));
        while measured.sum(QUEUE, &[]) != 1.0 {
            tokio::task::yield_now().await;
        }
        drop(all);
        waiting.await.unwrap().ok();
        assert_eq!(measured.sum(QUEUE, &[]), 0.0);
    });
}

#[test]
fn a_closed_index_is_not_counted() {
    in_real_time(|| async {
        let other = Site::new(&[("b.rs", "fn beta() {}\n")]);
        let mut measured = Measured::open(Plan::new(Site::new(&[("a.rs", "fn alpha() {}\n")])).workspace(other)).await;
        for workspace in ["w0", "w1"] {
            start(&measured.yard, workspace, "search_code", json!({"query": "alpha"})).await.ok();
        }
        assert_eq!((measured.sum(FILES, &[]), measured.sum(SYMBOLS, &[])), (2.0, 2.0));
        measured.yard.reconfigure(|config| drop(config.workspaces.pop())).await;
        while measured.sum(FILES, &[]) != 1.0 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(measured.sum(SYMBOLS, &[]), 1.0);
    });
}
