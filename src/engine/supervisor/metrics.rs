//! The engine's observed metrics: workspaces, language servers, frames and file events.

use std::sync::Arc;

use crate::supervisor::directory::Directory;
use crate::supervisor::problems::ServiceProblems;
use codeyard_files::watch::Watcher;
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_telemetry::names::instruments as known;
use codeyard_telemetry::{Meters, Observers};

/// Registers the engine's observers. None of them waits for an actor.
pub fn observe(
    observers: &Observers<'_>,
    directory: &Arc<Directory>,
    frames: &Arc<FrameBudget>,
    watcher: Option<&Watcher>,
) {
    let source = directory.clone();
    observers.observe(&known::WORKSPACES, move |sink| {
        source.status_registry().workspaces().iter().for_each(|(state, count)| sink.record(*count, &[state]));
    });
    observe_degraded(observers, directory.clone());
    let source = directory.clone();
    observers.observe(&known::SERVERS, move |sink| {
        let servers = source.status_registry().servers();
        servers.iter().for_each(|((kind, state), count)| sink.record(*count, &[kind.as_str(), state]));
    });
    let source = directory.clone();
    observers.observe(&known::STARTS, move |sink| {
        let (waiting, running) = source.start_queue().counts();
        sink.record(waiting as u64, &["queued"]);
        sink.record(running as u64, &["running"]);
    });
    let source = directory.clone();
    observers.observe(&known::MEMORY, move |sink| {
        sink.record(Meters::own_memory_bytes().unwrap_or(0), &["codeyard"]);
        source.status_registry().memory().iter().for_each(|(kind, bytes)| sink.record(*bytes, &[kind.as_str()]));
    });
    let source = directory.clone();
    observers.observe(&known::MEMORY_BUDGET, move |sink| sink.record(source.status_registry().memory_budget(), &[]));
    let source = directory.clone();
    observers.observe(&known::SNAPSHOTS, move |sink| sink.record(source.status_registry().snapshots().0, &[]));
    let source = directory.clone();
    observers.observe(&known::SNAPSHOT_BYTES, move |sink| sink.record(source.status_registry().snapshots().1, &[]));
    let source = directory.clone();
    observers.observe(&known::INDEX_FILES, move |sink| sink.record(source.status_registry().indexes().0, &[]));
    let source = directory.clone();
    observers.observe(&known::INDEX_SYMBOLS, move |sink| sink.record(source.status_registry().indexes().1, &[]));
    let source = directory.clone();
    observers.observe(&known::INDEX_SIZE, move |sink| sink.record(source.status_registry().indexes().2, &[]));
    let source = directory.clone();
    observers.observe(&known::INDEX_TEXT_SIZE, move |sink| sink.record(source.status_registry().indexes().3, &[]));
    let source = directory.clone();
    observers.observe(&known::INDEX_QUEUE, move |sink| {
        // All workspaces share one queue.
        let waiting = source.all().first().map_or(0, |workspace| workspace.indexes.waiting());
        sink.record(waiting as u64, &[]);
    });
    let source = directory.clone();
    observers.observe(&known::DIAGNOSTICS_SIZE, move |sink| sink.record(source.diagnostics().held() as u64, &[]));
    let source = directory.clone();
    observers.observe(&known::DIAGNOSTICS_DROPPED, move |sink| {
        source.diagnostics().dropped().iter().for_each(|(reason, count)| sink.record(*count, &[reason]));
    });
    let events = frames.clone();
    observers.observe(&known::EVENTS_QUEUED, move |sink| sink.record(events.queued_events() as u64, &[]));
    let frames = frames.clone();
    observers.observe(&known::FRAMES_REJECTED, move |sink| {
        frames.rejected().iter().for_each(|(reason, count)| sink.record(*count, &[reason]));
    });
    let counters = watcher.map(Watcher::counters);
    let overflows = counters.clone();
    observers.observe(&known::WATCH_EVENTS, move |sink| {
        sink.record(counters.as_ref().map_or(0, |counters| counters.events()), &[]);
    });
    observers.observe(&known::WATCH_OVERFLOWS, move |sink| {
        sink.record(overflows.as_ref().map_or(0, |counters| counters.overflows()), &[]);
    });
}

/// Registers the observer of the workspaces that don't serve as they should.
fn observe_degraded(observers: &Observers<'_>, directory: Arc<Directory>) {
    observers.observe(&known::WORKSPACE_DEGRADED, move |sink| {
        let ServiceProblems { failing, degraded } = ServiceProblems::of(&directory.listing());
        for problem in failing.iter().chain(&degraded) {
            if let Some(workspace) = problem.workspace() {
                sink.record(1, &[workspace.as_str(), problem.word()]);
            }
        }
    });
}
