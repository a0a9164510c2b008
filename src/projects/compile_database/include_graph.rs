//! Resolves the includes of a tree and derives the include directories that each source needs.
//!
//! An include names a file by the end of its path, so the directories in which that name exists are its candidates. Where there are
//! several, the order is: directories that a build file names, no foreign platform, the nearest to the including file, the directory that
//! resolves most unambiguous includes, the path. A source needs the directories of all includes that it reaches. Invariants: the result
//! depends only on the tree's paths and texts; standard headers are never taken from the tree unless a build file says so.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use super::build_hints::BuildHints;
use super::includes::{Include, IncludeForm, ScannedFile};
use super::platforms;
use super::scan_cache::ScanCache;
use super::system_headers::{SystemHeaders, is_standard};
use crate::tree::{Tree, distance, join, parent};

/// The inputs of a resolution.
pub(super) struct GraphInputs<'a> {
    /// The project root.
    pub root: &'a Path,
    /// All files below it.
    pub tree: &'a Tree,
    /// What the build files say.
    pub hints: &'a BuildHints,
    /// What is installed.
    pub system: &'a SystemHeaders,
}

/// The files that are reachable by includes from the listed files.
pub(super) struct IncludeGraph {
    /// Relative paths; the listed files come first.
    pub files: Vec<Box<str>>,
    /// What each file's text says.
    pub scanned: Vec<ScannedFile>,
    /// The files that each file includes.
    targets: Vec<Vec<u32>>,
    /// The directories that each file's own includes need, as positions in `dirs`.
    needs: Vec<Vec<u32>>,
    /// All directories that are needed by some file.
    dirs: Vec<String>,
    /// By directory, how many includes only it resolves.
    votes: HashMap<String, usize>,
    /// Unconditional includes without a candidate, and how many files have them.
    pub unresolved: BTreeMap<Box<str>, usize>,
    /// The listed files with such an include.
    pub files_with_unresolved: usize,
}

/// How one include is resolved.
enum Resolution {
    /// Beside the including file.
    Local(String),
    /// In a directory that must be named.
    Below(String),
    /// A header of the system, or a name that nothing is known about.
    System,
    Unresolved,
}

struct Resolver<'a> {
    inputs: &'a GraphInputs<'a>,
    candidates: HashMap<Box<str>, Rc<[String]>>,
    /// The directories that build files name, by the directory of the including file.
    named: HashMap<String, Rc<[String]>>,
    votes: HashMap<String, usize>,
}

impl IncludeGraph {
    /// Scans `listed` and everything that they include.
    pub(super) fn build(inputs: &GraphInputs<'_>, listed: &[Box<str>], cache: &mut ScanCache) -> Self {
        let mut graph = Self {
            files: listed.to_vec(),
            scanned: cache.scan(inputs.root, listed),
            targets: Vec::new(),
            needs: Vec::new(),
            dirs: Vec::new(),
            votes: HashMap::new(),
            unresolved: BTreeMap::new(),
            files_with_unresolved: 0,
        };
        let mut resolver =
            Resolver { inputs, candidates: HashMap::new(), named: HashMap::new(), votes: HashMap::new() };
        for (path, scanned) in graph.files.iter().zip(&graph.scanned) {
            resolver.vote(path, scanned);
        }
        let mut positions: HashMap<Box<str>, u32> =
            graph.files.iter().zip(0_u32..).map(|(path, at)| (path.clone(), at)).collect();
        let mut dir_positions: HashMap<String, u32> = HashMap::new();
        let mut at = 0;
        while at < graph.files.len() {
            let mut fresh: BTreeSet<Box<str>> = BTreeSet::new();
            let end = graph.files.len();
            let mut resolved: Vec<(usize, Vec<String>)> = Vec::new();
            for node in at..end {
                let (targets, needs) = graph.resolve_node(&mut resolver, node, listed.len());
                fresh.extend(
                    targets
                        .iter()
                        .filter(|path| !positions.contains_key(path.as_str()))
                        .map(|path| Box::from(path.as_str())),
                );
                let needs = needs.into_iter().map(|dir| {
                    let next = u32::try_from(dir_positions.len()).unwrap_or(u32::MAX);
                    *dir_positions.entry(dir).or_insert(next)
                });
                graph.needs.push(needs.collect());
                resolved.push((node, targets));
            }
            let fresh: Vec<Box<str>> = fresh.into_iter().collect();
            graph.scanned.extend(cache.scan(inputs.root, &fresh));
            for path in fresh {
                positions.insert(path.clone(), u32::try_from(graph.files.len()).unwrap_or(u32::MAX));
                graph.files.push(path);
            }
            for (_, targets) in resolved {
                graph.targets.push(targets.iter().filter_map(|path| positions.get(path.as_str()).copied()).collect());
            }
            at = end;
        }
        let mut dirs: Vec<(u32, String)> = dir_positions.into_iter().map(|(dir, at)| (at, dir)).collect();
        dirs.sort_unstable();
        graph.dirs = dirs.into_iter().map(|(_, dir)| dir).collect();
        graph.votes = resolver.votes;
        graph
    }

    /// The files and directories that one file needs. Counts what can't be resolved.
    fn resolve_node(&mut self, resolver: &mut Resolver<'_>, node: usize, listed: usize) -> (Vec<String>, Vec<String>) {
        let (mut targets, mut needs, mut is_complete) = (Vec::new(), Vec::new(), true);
        let path = &self.files[node];
        for include in &self.scanned[node].includes {
            match resolver.resolve(path, include) {
                Resolution::Local(target) => targets.push(target),
                Resolution::Below(dir) => {
                    targets.extend(join(&dir, &include.name));
                    needs.push(dir);
                }
                Resolution::System => {}
                Resolution::Unresolved if include.conditional => {}
                Resolution::Unresolved => {
                    is_complete = false;
                    *self.unresolved.entry(include.name.clone()).or_default() += 1;
                }
            }
        }
        self.files_with_unresolved += usize::from(node < listed && !is_complete);
        (targets, needs)
    }

    /// For each file, the directories that it and everything it includes need: rows of bits.
    fn reached_dirs(&self) -> BitRows {
        let mut rows = BitRows::new(self.files.len(), self.dirs.len());
        for (node, needs) in self.needs.iter().enumerate() {
            needs.iter().for_each(|dir| rows.set(node, *dir as usize));
        }
        // Files that were found later are mostly included by earlier ones, so this order needs few rounds.
        let mut changed = true;
        while changed {
            changed = false;
            for node in (0..self.files.len()).rev() {
                for target in &self.targets[node] {
                    changed |= rows.add(node, *target as usize);
                }
            }
        }
        rows
    }

    /// The include directories of the files at these positions, each list in the order in which a compiler should search.
    pub(super) fn include_dirs(&self, wanted: &[usize], hints: &BuildHints) -> Vec<Vec<String>> {
        let rows = self.reached_dirs();
        let mut ordered: HashMap<(String, Vec<u64>), Vec<String>> = HashMap::new();
        let lists = wanted.iter().map(|node| {
            let dir = parent(&self.files[*node]);
            let key = (dir.to_owned(), rows.row(*node).to_vec());
            ordered.entry(key).or_insert_with(|| self.ordered_dirs(dir, &rows, *node, hints)).clone()
        });
        lists.collect()
    }

    fn ordered_dirs(&self, from: &str, rows: &BitRows, node: usize, hints: &BuildHints) -> Vec<String> {
        let named = hints.include_dirs(from);
        let mut dirs: Vec<&String> =
            self.dirs.iter().enumerate().filter(|(at, _)| rows.has(node, *at)).map(|(_, dir)| dir).collect();
        dirs.retain(|dir| !named.contains(dir));
        dirs.sort_by_cached_key(|dir| rank(from, dir, &[], &self.votes));
        named.iter().chain(dirs).cloned().collect()
    }

    /// Which files are reachable from the files at these positions.
    pub(super) fn reachable(&self, from: impl Iterator<Item = usize>) -> Vec<bool> {
        let mut reached = vec![false; self.files.len()];
        let mut waiting: Vec<usize> = from.collect();
        while let Some(node) = waiting.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                waiting.extend(self.targets[node].iter().map(|target| *target as usize));
            }
        }
        reached
    }

    /// Whether some file includes the file at this position.
    pub(super) fn included(&self) -> Vec<bool> {
        let mut included = vec![false; self.files.len()];
        for target in self.targets.iter().flatten() {
            included[*target as usize] = true;
        }
        included
    }
}

/// The order among several candidates.
type Rank = (usize, bool, usize, Reverse<usize>, usize, String);

fn rank(from: &str, dir: &str, named: &[String], votes: &HashMap<String, usize>) -> Rank {
    let place = named.iter().position(|known| known == dir).unwrap_or(usize::MAX);
    let votes = votes.get(dir).copied().unwrap_or_default();
    let depth = dir.split('/').count();
    (place, platforms::is_foreign(from, dir), distance(from, dir), Reverse(votes), depth, dir.to_owned())
}

impl Resolver<'_> {
    /// Counts the includes that only one directory resolves.
    fn vote(&mut self, path: &str, scanned: &ScannedFile) {
        for include in &scanned.includes {
            if self.local(path, include).is_none()
                && let [only] = &*self.candidates(&include.name)
            {
                *self.votes.entry(only.clone()).or_default() += 1;
            }
        }
    }

    fn resolve(&mut self, path: &str, include: &Include) -> Resolution {
        if let Some(target) = self.local(path, include) {
            return Resolution::Local(target);
        }
        let from = parent(path);
        let named = self.named(from);
        let is_named = |dir: &String| named.contains(dir);
        let standard = is_standard(&include.name);
        let own = include.form == IncludeForm::Next;
        let (candidates, votes) = (self.candidates(&include.name), &self.votes);
        let usable = candidates.iter().filter(|dir| {
            (!standard || is_named(dir)) && !(own && *dir == from) && !platforms::is_other_architecture(from, dir)
        });
        match usable.min_by_key(|dir| rank(from, dir, &named, votes)) {
            Some(dir) => Resolution::Below(dir.clone()),
            None if standard || self.inputs.system.has(&include.name) => Resolution::System,
            None => self.upwards(from, include, &named),
        }
    }

    /// The file beside the including one.
    fn local(&self, path: &str, include: &Include) -> Option<String> {
        if include.form != IncludeForm::Quoted {
            return None;
        }
        let target = join(parent(path), &include.name)?;
        self.inputs.tree.has(&target).then_some(target)
    }

    /// The directories in which this name exists.
    fn candidates(&mut self, name: &str) -> Rc<[String]> {
        if let Some(known) = self.candidates.get(name) {
            return known.clone();
        }
        let dirs: BTreeSet<String> = self.inputs.tree.dirs_with(name).map(str::to_owned).collect();
        let dirs: Rc<[String]> = dirs.into_iter().collect();
        self.candidates.insert(name.into(), dirs.clone());
        dirs
    }

    fn named(&mut self, from: &str) -> Rc<[String]> {
        if let Some(known) = self.named.get(from) {
            return known.clone();
        }
        let dirs: Rc<[String]> = self.inputs.hints.include_dirs(from).into();
        self.named.insert(from.to_owned(), dirs.clone());
        dirs
    }

    /// A name that begins with `..` is looked up from the directories above the including file and from those that build files name.
    fn upwards(&self, from: &str, include: &Include, named: &[String]) -> Resolution {
        if !include.name.starts_with("../") {
            return Resolution::Unresolved;
        }
        let above = std::iter::successors(Some(from), |dir| (!dir.is_empty()).then(|| parent(dir)));
        let bases = named.iter().map(String::as_str).chain(above).map(str::to_owned);
        let mut bases = bases;
        let found = bases.find(|base| join(base, &include.name).is_some_and(|path| self.inputs.tree.has(&path)));
        found.map_or(Resolution::Unresolved, Resolution::Below)
    }
}

/// A matrix of bits.
struct BitRows {
    words: usize,
    bits: Vec<u64>,
}

impl BitRows {
    fn new(rows: usize, columns: usize) -> Self {
        let words = columns.div_ceil(64);
        Self { words, bits: vec![0; rows * words] }
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..(row + 1) * self.words]
    }

    fn has(&self, row: usize, column: usize) -> bool {
        self.row(row)[column / 64] & (1 << (column % 64)) != 0
    }

    fn set(&mut self, row: usize, column: usize) {
        self.bits[row * self.words + column / 64] |= 1 << (column % 64);
    }

    /// Adds the bits of `other` to `row`. Returns whether that changed it.
    fn add(&mut self, row: usize, other: usize) -> bool {
        let mut changed = false;
        for word in 0..self.words {
            let more = self.bits[other * self.words + word];
            let own = &mut self.bits[row * self.words + word];
            changed |= more & !*own != 0;
            *own |= more;
        }
        changed
    }
}
