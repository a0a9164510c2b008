//! Threads of actors don't touch the disk: code of the engine and the gateway that does is in named modules, which work on threads that may
//! block.
//!
//! The lists say what keeps an actor's thread out of each module. In debug builds the gate itself checks it: it panics on the threads of the
//! engine and of the tests in `tests/in_memory/engine` (`base/blocking.rs`).

use std::collections::BTreeSet;

use crate::source::sources;

/// The crates whose actors answer calls.
const ACTORS: [&str; 3] = ["complete", "engine", "gateway"];

/// Texts in statements that look at a file or a folder.
const DISK: [&str; 14] = [
    "std::fs", "fs::read", "File::open", "OpenOptions", "read_dir(", ".canonicalize()", ".exists()", ".is_file()",
    ".is_dir()", ".symlink_metadata()", "read_link(", "DiskFiles", "CachedFiles", "Gate::open(",
];

/// The modules that may, and what keeps an actor's thread out of them.
const DISK_ALLOWED: [(&str, &str); 11] = [
    ("src/engine/heap_trim.rs", "supervisor/memory.rs calls it on the blocking pool"),
    ("src/engine/query/plan.rs", "workspace/plans.rs and workspace/project_jobs.rs call it on the blocking pool"),
    (
        "src/engine/server/projects/anchors.rs",
        "starts of servers and workspace/project_jobs.rs call it on the blocking pool",
    ),
    ("src/engine/server/program/isolation.rs", "server/program/launch_spec.rs calls it on the blocking pool"),
    ("src/engine/server/program/launch_spec.rs", "server/lifecycle/startup.rs calls it on the blocking pool"),
    ("src/engine/server/program/toolchain.rs", "server/program/launch_spec.rs calls it on the blocking pool"),
    ("src/engine/server/projects/prepared_projects.rs", "the preparation runs on the blocking pool"),
    ("src/engine/redact.rs", "the engine calls it once, before there is an actor"),
    ("src/engine/run/spans.rs", "workspace/runs.rs calls it on the blocking pool"),
    ("src/gateway/launch/mod.rs", "it reads on the blocking pool"),
    ("src/engine/supervisor/root_opening.rs", "it opens gates on the blocking pool"),
];

/// Calls of the path gate that open a file.
const GATE: [&str; 8] = [
    "gate.read(", "gate.stat(", "gate.path(", "gate.admit(", "gate.document(", "gate.document_stamped(",
    "gate.agent_path_stamped(", "gate.batch_lookup(",
];

/// The modules that call the gate, and what keeps an actor's thread out of them. The gate opens regular files only and never waits for a FIFO or
/// a device, but a file system that hangs holds up whoever calls it. All of them are called through `Gate::run`, on the blocking pool, where
/// `MAX_GATE_WORK` bounds the threads that one workspace can hold up.
const GATE_ALLOWED: [(&str, &str); 21] = [
    ("src/engine/answer/confirm.rs", "all files of an answer are admitted in one piece of work"),
    ("src/engine/answer/path_check.rs", "the path check of a call is a piece of work"),
    ("src/engine/query/canonicalise/context.rs", "query/execution.rs canonicalises an answer in one piece of work"),
    ("src/engine/query/canonicalise/linked_names.rs", "the same"),
    ("src/engine/query/operations/document_diagnostics.rs", "the same"),
    ("src/complete/commonjs/linker.rs", "it admits the files of a reply in one piece of work"),
    ("src/complete/commonjs/mod.rs", "it locates the places that were found in one piece of work"),
    ("src/complete/commonjs/module_cache.rs", "commonjs/sources.rs calls it in pieces of work"),
    ("src/complete/commonjs/resolution.rs", "each look at files is a piece of work"),
    ("src/complete/commonjs/sources.rs", "the cache and the question for words call it in pieces of work"),
    ("src/complete/commonjs/specifiers.rs", "commonjs/resolution.rs calls it in pieces of work"),
    ("src/complete/import_symbols.rs", "query/operations/workspace_symbols.rs calls it in a piece of work"),
    ("src/engine/query/file_looks.rs", "a call looks at files for the workspace's actor in one piece of work"),
    ("src/engine/query/missing_servers.rs", "the files of a missing server are searched in one piece of work"),
    ("src/engine/query/position_encoding.rs", "a conversion that reads files is a piece of work"),
    ("src/engine/query/provider_call.rs", "the files of pulled diagnostics are admitted in one piece of work"),
    ("src/engine/query/previews.rs", "the source lines of an answer are read in one piece of work"),
    ("src/engine/query/symbol_names.rs", "the names of workspace symbols are looked for in one piece of work"),
    (
        "src/engine/server/documents/document_loading.rs",
        "server/documents/disk_reads.rs and server/lifecycle/startup.rs call it in pieces of work",
    ),
    (
        "src/engine/server/diagnostics/pushed_diagnostics.rs",
        "server/documents/disk_reads.rs calls it in a piece of work",
    ),
    ("src/engine/workspace/sweep.rs", "opening a document is a piece of work"),
];

/// The files of these crates with a statement that holds one of `words`.
fn users(words: &[&str]) -> BTreeSet<String> {
    let uses = |line: &str| words.iter().any(|word| line.contains(word));
    let own = sources().into_iter().filter(|source| ACTORS.contains(&source.crate_name()));
    own.filter(|source| source.statements().any(uses)).map(|source| source.path).collect()
}

fn compare(words: &[&str], allowed: &[&str]) {
    let users = users(words);
    let allowed = allowed.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<_>>();
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
    compare(&GATE, &GATE_ALLOWED.map(|(path, _)| path));
}
