//! Threads of actors don't touch the disk: code of the engine and the gateway that does is in named modules, which work on threads that may
//! block.

use std::collections::BTreeSet;

use crate::source::sources;

/// The crates whose actors answer calls.
const ACTORS: [&str; 2] = ["engine", "gateway"];

/// Texts in statements that look at a file or a folder.
const DISK: [&str; 14] = [
    "std::fs",
    "fs::read",
    "File::open",
    "OpenOptions",
    "read_dir(",
    ".canonicalize()",
    ".exists()",
    ".is_file()",
    ".is_dir()",
    ".symlink_metadata()",
    "read_link(",
    "DiskFiles",
    "CachedFiles",
    "Gate::open(",
];

/// The modules that may, and what keeps an actor's thread out of them.
const DISK_ALLOWED: [(&str, &str); 11] = [
    ("src/engine/query/plan.rs", "workspace/plans.rs and workspace/project_jobs.rs call it on the blocking pool"),
    ("src/engine/server/anchors.rs", "starts of servers and workspace/project_jobs.rs call it on the blocking pool"),
    ("src/engine/server/isolation.rs", "server/launch_spec.rs calls it on the blocking pool"),
    ("src/engine/server/launch_spec.rs", "server/startup.rs calls it on the blocking pool"),
    ("src/engine/server/toolchain.rs", "server/launch_spec.rs calls it on the blocking pool"),
    ("src/engine/server/prepared_projects.rs", "the preparation runs on the blocking pool"),
    ("src/engine/query/redact.rs", "the engine calls it once, before there is an actor"),
    ("src/engine/run/spans.rs", "workspace/runs.rs calls it on the blocking pool"),
    ("src/gateway/launch/mod.rs", "it reads on the blocking pool"),
    ("src/engine/supervisor/actor.rs", "the supervisor opens the gate of a workspace; no call runs on its thread"),
    ("src/engine/supervisor/workspace_admin.rs", "the same"),
];

/// Calls of the path gate that open a file.
const GATE: [&str; 8] = [
    "gate.read(",
    "gate.stat(",
    "gate.path(",
    "gate.admit(",
    "gate.document(",
    "gate.document_stamped(",
    "gate.agent_path_stamped(",
    "gate.batch_lookup(",
];

/// The modules that call the gate. It opens regular files only and never waits for a FIFO or a device; a file system that hangs does hold
/// up those that aren't on the blocking pool.
const GATE_ALLOWED: [&str; 18] = [
    "src/engine/query/canonicalise/context.rs",
    "src/engine/query/commonjs/linker.rs",
    "src/engine/query/commonjs/mod.rs",
    "src/engine/query/commonjs/module_cache.rs",
    "src/engine/query/commonjs/resolution.rs",
    "src/engine/query/commonjs/sources.rs",
    "src/engine/query/commonjs/specifiers.rs",
    "src/engine/query/known_files.rs",
    "src/engine/query/operations/document_diagnostics.rs",
    "src/engine/query/position_encoding.rs",
    "src/engine/query/provider_call.rs",
    "src/engine/server/document_loading.rs",
    "src/engine/server/document_sync.rs",
    "src/engine/server/folder_changes.rs",
    "src/engine/server/session.rs",
    "src/engine/workspace/sweep.rs",
    "src/gateway/confirm.rs",
    "src/gateway/resolve.rs",
];

/// The files of these crates with a statement that holds one of `words`.
fn users(words: &[&str]) -> BTreeSet<String> {
    let uses = |line: &str| words.iter().any(|word| line.contains(word));
    let own = sources().into_iter().filter(|source| ACTORS.contains(&source.crate_name()));
    own.filter(|source| source.statements().any(uses)).map(|source| source.path).collect()
}

fn compare(words: &[&str], allowed: &[&str]) {
    let (users, allowed) = (users(words), allowed.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<_>>());
    let offenders: Vec<_> = users.difference(&allowed).collect();
    assert!(offenders.is_empty(), "these touch the disk, perhaps on an actor's thread: {offenders:#?}");
    let stale: Vec<_> = allowed.difference(&users).collect();
    assert!(stale.is_empty(), "exceptions that nothing needs: {stale:#?}");
}

#[test]
fn only_named_modules_of_actors_touch_the_disk() {
    compare(&DISK, &DISK_ALLOWED.map(|(path, _)| path));
}

#[test]
fn only_named_modules_of_actors_call_the_path_gate() {
    compare(&GATE, &GATE_ALLOWED);
}
