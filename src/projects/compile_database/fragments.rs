//! Files that are no unit of their own: another file includes them after declarations that they use (`.inl`, `.ipp`, `.tcc`).
//!
//! Compiled alone, such a file knows nothing of those declarations, and a server that has opened it once answers from that reading ever after.
//! So the server gets a command for each, which includes the includer first; a compiler doesn't read a file into itself. These commands aren't
//! written into the database, because a server takes the entry with the most similar name for a header without one; they are sent when the server
//! is ready, because it indexes these files at once, and the end of that isn't the end of its indexing. Invariants: a fragment
//! doesn't reach its includer by its own includes; the includer is no fragment; the choice depends only on the graph.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::language::{FileRole, SourceLanguage, role};
use crate::compile_database::commands::database::CompileCommand;
use crate::compile_database::header_search::include_graph::IncludeGraph;
use crate::limits::MAX_FRAGMENTS;
use crate::tree::{distance, file_name, parent};

/// Extensions of files that are meant to be included at the end or in the middle of a header.
const EXTENSIONS: [&str; 5] = ["inl", "ipp", "tpp", "tcc", "txx"];

/// Fragments that include each other, at most.
const MAX_NESTED_FRAGMENTS: usize = 8;
/// Files that are looked at to find the source above a fragment, and whether it includes its includer.
const MAX_REACHED: usize = 256;
/// Bytes of all commands together.
const MAX_SETTINGS_BYTES: usize = 16 * 1024 * 1024;

/// A fragment, as positions in the graph.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fragment {
    pub at: usize,
    /// A file that includes it, itself or by other fragments.
    pub includer: usize,
    /// The language of the nearest source that includes it.
    pub language: Option<SourceLanguage>,
}

/// Whether the name of a file says that it is meant to be included below declarations.
pub fn is_fragment(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}

/// The fragments among the first `listed` files of the graph, and how many more there are than [`MAX_FRAGMENTS`].
pub(super) fn find(graph: &IncludeGraph, listed: usize) -> (Vec<Fragment>, usize) {
    let is_meant = |at: &usize| is_fragment(Path::new(&*graph.files[*at]));
    let meant: BTreeSet<usize> = (0..listed).filter(is_meant).collect();
    if meant.is_empty() {
        return (vec![], 0);
    }
    let mut included_by: HashMap<usize, Vec<usize>> = HashMap::new();
    for node in 0..graph.files.len() {
        for target in graph.includes_of(node).filter(|target| *target != node) {
            included_by.entry(target).or_default().push(node);
        }
    }
    let mut found = Vec::new();
    let mut waiting = meant.iter();
    for at in waiting.by_ref() {
        if let Some(includer) = nearest_includer(graph, *at, &included_by, &meant)
            && !reaches(graph, *at, includer)
        {
            found.push(Fragment { at: *at, includer, language: source_above(graph, includer, &included_by) });
            if found.len() == MAX_FRAGMENTS {
                break;
            }
        }
    }
    (found, waiting.count())
}

/// The file outside of all fragments that includes this one: over as few fragments as possible, then with the name of one of these, then the
/// nearest.
fn nearest_includer(
    graph: &IncludeGraph,
    at: usize,
    included_by: &HashMap<usize, Vec<usize>>,
    meant: &BTreeSet<usize>,
) -> Option<usize> {
    let stem = |at: usize| file_name(&graph.files[at]).split('.').next();
    let dir = |at: usize| parent(&graph.files[at]);
    let mut seen = BTreeSet::from([at]);
    let mut level = vec![at];
    for _ in 0..MAX_NESTED_FRAGMENTS {
        let above: BTreeSet<usize> = level.iter().filter_map(|at| included_by.get(at)).flatten().copied().collect();
        let whole = above.iter().copied().filter(|one| !meant.contains(one));
        let stems: BTreeSet<_> = seen.iter().map(|one| stem(*one)).collect();
        let order = |one: &usize| (!stems.contains(&stem(*one)), distance(dir(*one), dir(at)), &graph.files[*one]);
        if let Some(nearest) = whole.min_by(|a, b| order(a).cmp(&order(b))) {
            return Some(nearest);
        }
        level = above.into_iter().filter(|one| seen.insert(*one)).collect();
    }
    None
}

/// The language of the nearest source that includes a file, itself or over others.
fn source_above(graph: &IncludeGraph, at: usize, included_by: &HashMap<usize, Vec<usize>>) -> Option<SourceLanguage> {
    let above = |node| included_by.get(&node).into_iter().flatten().copied();
    nearest(at, above, |node| match role(&graph.files[node]) {
        Some(FileRole::Source(language)) => Some(language),
        _ => None,
    })
}

/// Whether the includes of `from` lead to `to`. In doubt the answer is no, which costs only a command.
fn reaches(graph: &IncludeGraph, from: usize, to: usize) -> bool {
    nearest(from, |node| graph.includes_of(node), |node| (node == to).then_some(())).is_some()
}

/// What `find` gives for the nearest file to which the steps from `start` lead, itself included, among at most [`MAX_REACHED`] files.
fn nearest<I: Iterator<Item = usize>, T>(
    start: usize,
    steps: impl Fn(usize) -> I,
    find: impl Fn(usize) -> Option<T>,
) -> Option<T> {
    let mut seen = HashSet::from([start]);
    let mut waiting = VecDeque::from([start]);
    while let Some(node) = waiting.pop_front().filter(|_| seen.len() <= MAX_REACHED) {
        if let Some(found) = find(node) {
            return Some(found);
        }
        waiting.extend(steps(node).filter(|next| seen.insert(*next)));
    }
    None
}

/// The commands as clangd takes them in a change of its settings, over those of the database.
pub(super) fn settings(commands: &[CompileCommand]) -> Option<Value> {
    let entry = |command: &CompileCommand| {
        let of_file = json!({
            "workingDirectory": command.directory.to_string_lossy(),
            "compilationCommand": command.arguments,
        });
        (command.path().to_string_lossy().into_owned(), of_file)
    };
    let mut left = MAX_SETTINGS_BYTES;
    let fits = |command: &&CompileCommand| {
        let size = command.arguments.iter().map(String::len).sum::<usize>();
        left.checked_sub(size).map(|rest| left = rest).is_some()
    };
    let changes: Map<String, Value> = commands.iter().take_while(fits).map(entry).collect();
    (!changes.is_empty()).then(|| json!({"compilationDatabaseChanges": changes}))
}

/// Whether the driver takes the options of cl, which has no `-include`.
pub(super) fn is_like_cl(command: &CompileCommand) -> bool {
    let driver = command.arguments.first().and_then(|driver| driver.rsplit(['/', '\\']).next()).unwrap_or_default();
    let name = driver.to_ascii_lowercase();
    matches!(name.trim_end_matches(".exe"), "cl" | "clang-cl")
        || command.arguments.iter().any(|argument| argument == "--driver-mode=cl")
}

/// The option that includes a file first.
pub(super) fn include_first(root: &Path, includer: &str) -> [String; 2] {
    ["-include".to_owned(), root.join(includer).to_string_lossy().into_owned()]
}
