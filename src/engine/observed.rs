//! The engine's part of the metrics: what is observed of workspaces, language servers, frames and files.

use std::sync::Arc;

use crate::directory::Directory;
use codeyard_files::watch::Watcher;
use codeyard_lsp::frame::FrameBudget;
use codeyard_telemetry::names::instruments as known;
use codeyard_telemetry::{Meters, Observers};

/// Has the engine's figures exported. None of it waits for an actor.
pub fn observe(
    observers: &Observers<'_>,
    directory: &Arc<Directory>,
    frames: &Arc<FrameBudget>,
    watcher: Option<&Watcher>,
) {
    let places = directory.clone();
    observers.observe(&known::WORKSPACES, move |sink| {
        places.census().workspaces().iter().for_each(|(state, count)| sink.tell(*count, &[state]));
    });
    let places = directory.clone();
    observers.observe(&known::SERVERS, move |sink| {
        let servers = places.census().servers();
        servers.iter().for_each(|((kind, state), count)| sink.tell(*count, &[kind.as_str(), state]));
    });
    let places = directory.clone();
    observers.observe(&known::MEMORY, move |sink| {
        sink.tell(Meters::own_memory_bytes().unwrap_or(0), &["codeyard"]);
        places.census().memory().iter().for_each(|(kind, bytes)| sink.tell(*bytes, &[kind.as_str()]));
    });
    let places = directory.clone();
    observers.observe(&known::MEMORY_BUDGET, move |sink| sink.tell(places.census().memory_budget(), &[]));
    let places = directory.clone();
    observers.observe(&known::SNAPSHOTS, move |sink| sink.tell(places.census().snapshots().0, &[]));
    let places = directory.clone();
    observers.observe(&known::SNAPSHOT_BYTES, move |sink| sink.tell(places.census().snapshots().1, &[]));
    let places = directory.clone();
    observers.observe(&known::INDEX_FILES, move |sink| sink.tell(places.census().indexes().0, &[]));
    let places = directory.clone();
    observers.observe(&known::INDEX_SYMBOLS, move |sink| sink.tell(places.census().indexes().1, &[]));
    let places = directory.clone();
    observers.observe(&known::INDEX_SIZE, move |sink| sink.tell(places.census().indexes().2, &[]));
    let places = directory.clone();
    observers.observe(&known::INDEX_QUEUE, move |sink| {
        // All workspaces share one queue.
        let waiting = places.all().first().map_or(0, |workspace| workspace.indexes.waiting());
        sink.tell(waiting as u64, &[]);
    });
    let frames = frames.clone();
    observers.observe(&known::FRAMES_REJECTED, move |sink| {
        frames.rejected().iter().for_each(|(reason, count)| sink.tell(*count, &[reason]));
    });
    let traffic = watcher.map(Watcher::traffic);
    let overflows = traffic.clone();
    observers.observe(&known::WATCH_EVENTS, move |sink| {
        sink.tell(traffic.as_ref().map_or(0, |traffic| traffic.events()), &[]);
    });
    observers.observe(&known::WATCH_OVERFLOWS, move |sink| {
        sink.tell(overflows.as_ref().map_or(0, |traffic| traffic.overflows()), &[]);
    });
}
