//! Resolves the includes of a tree and derives the include directories that each source needs.
//!
//! An include names a file by the end of its path, so the directories in which that name exists are its candidates. Where there are
//! several, the order is: directories that a build file names, no foreign platform, the nearest to the including file, the directory that
//! resolves most unambiguous includes, the path. A source needs the directories of all includes that it reaches. Invariants: the result
//! depends only on the tree's paths and texts and on installed headers; standard headers are never taken from the tree unless a build file says so.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use super::bit_rows::{BitRows, Numbered, columns, number};
use super::conditions::{Branch, is_foreign_macro};
use super::dir_order::{DirChoice, in_order_of_choices, rank};
use super::includes::{Include, IncludeForm, ScannedFile};
use super::scan_cache::ScanCache;
use crate::compile_database::build_files::build_hints::BuildHints;
use crate::compile_database::headers::generated_headers::GeneratedHeaders;
use crate::compile_database::headers::system_headers::{SystemHeaders, is_standard};
use crate::compile_database::language::{FileRole, role};
use crate::compile_database::platforms;
use crate::limits::MAX_INCLUDE_DIRS;
use crate::tree::{Tree, distance, join, parent};

pub(crate) struct GraphInputs<'a> {
    pub root: &'a Path,
    /// All files below it.
    pub tree: &'a Tree,
    /// What the build files say.
    pub hints: &'a BuildHints,
    /// What is installed.
    pub system: &'a SystemHeaders,
    /// What a build would make.
    pub generated: &'a GeneratedHeaders<'a>,
}

/// The files that are reachable by includes from the listed files.
pub(crate) struct IncludeGraph {
    /// Relative paths; the listed files come first.
    pub files: Vec<Box<str>>,
    /// What each file's text says.
    pub scanned: Vec<ScannedFile>,
    /// The files that each file includes; those that it may include on this system come first.
    targets: Vec<Vec<u32>>,
    /// How many of them it may include on this system.
    possible_targets: Vec<usize>,
    /// The directories that each file's own includes need, as positions in `dirs`.
    needs: Vec<Vec<u32>>,
    /// All directories that are needed by some file.
    dirs: Vec<String>,
    /// The choices among several directories that each file's own includes made, as positions in `choices`.
    picks: Vec<Vec<u32>>,
    /// All such choices.
    choices: Vec<DirChoice>,
    /// By directory, how many includes only it resolves.
    votes: HashMap<String, usize>,
    /// The unconditional includes of each file without a candidate.
    unresolved: Vec<Vec<Box<str>>>,
}

/// What one file's includes resolve to.
#[derive(Default)]
struct ResolvedNode {
    targets: Vec<String>,
    /// Targets of includes that are never compiled here.
    other_targets: Vec<String>,
    unresolved: Vec<Box<str>>,
    needs: Vec<String>,
    choices: Vec<DirChoice>,
}

/// What the include directories of a file depend on: its directory, the directories that it needs, the choices that it reaches.
type DirsKey<'a> = (&'a str, &'a [u64], &'a [u64]);

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
    /// The build files define macros of another system, so its branches are compiled.
    is_for_other_system: bool,
}

impl IncludeGraph {
    /// Scans `listed` and everything that they include.
    pub(crate) fn build(inputs: &GraphInputs<'_>, listed: &[Box<str>], cache: &mut ScanCache) -> Self {
        let mut graph = Self {
            files: listed.to_vec(),
            scanned: cache.scan(inputs.root, listed),
            targets: Vec::new(),
            possible_targets: Vec::new(),
            needs: Vec::new(),
            dirs: Vec::new(),
            picks: Vec::new(),
            choices: Vec::new(),
            votes: HashMap::new(),
            unresolved: Vec::new(),
        };
        let mut resolver = Resolver {
            inputs,
            candidates: HashMap::new(),
            named: HashMap::new(),
            votes: HashMap::new(),
            is_for_other_system: inputs.hints.define_any(is_foreign_macro),
        };
        for (path, scanned) in graph.files.iter().zip(&graph.scanned) {
            resolver.vote(path, scanned);
        }
        let mut positions: HashMap<Box<str>, u32> =
            graph.files.iter().enumerate().map(|(at, path)| (path.clone(), number(at))).collect();
        let mut dirs = Numbered::default();
        let mut choices = Numbered::default();
        let mut at = 0;
        while at < graph.files.len() {
            let end = graph.files.len();
            let nodes: Vec<ResolvedNode> = (at..end).map(|node| graph.resolve_node(&mut resolver, node)).collect();
            let targets = nodes.iter().flat_map(|node| node.targets.iter().chain(&node.other_targets));
            let fresh: BTreeSet<Box<str>> = targets
                .filter(|path| !positions.contains_key(path.as_str()))
                .map(|path| path.as_str().into())
                .collect();
            let fresh: Vec<Box<str>> = fresh.into_iter().collect();
            graph.scanned.extend(cache.scan(inputs.root, &fresh));
            for path in fresh {
                positions.insert(path.clone(), number(graph.files.len()));
                graph.files.push(path);
            }
            for node in nodes {
                let known = |path: &String| positions.get(path.as_str()).copied();
                let mut targets: Vec<u32> = node.targets.iter().filter_map(known).collect();
                graph.possible_targets.push(targets.len());
                targets.extend(node.other_targets.iter().filter_map(known));
                graph.targets.push(targets);
                graph.unresolved.push(node.unresolved);
                graph.needs.push(node.needs.into_iter().map(|dir| dirs.of(dir)).collect());
                graph.picks.push(node.choices.into_iter().map(|choice| choices.of(choice)).collect());
            }
            at = end;
        }
        graph.dirs = dirs.into_values();
        graph.choices = choices.into_values();
        graph.votes = resolver.votes;
        graph
    }

    /// What one file needs, and what can't be resolved.
    fn resolve_node(&self, resolver: &mut Resolver<'_>, node: usize) -> ResolvedNode {
        let mut found = ResolvedNode::default();
        let path = &self.files[node];
        for include in &self.scanned[node].includes {
            let is_possible = include.branch != Branch::Never || resolver.is_for_other_system;
            let targets = if is_possible { &mut found.targets } else { &mut found.other_targets };
            match resolver.resolve(path, include) {
                Resolution::Local(target) => targets.push(target),
                Resolution::Below(chosen) => {
                    targets.extend(target_in(&chosen, &include.name));
                    let others = resolver.candidates(&include.name);
                    if others.iter().any(|other| *other != chosen) {
                        found.choices.push(DirChoice { chosen: chosen.clone(), others });
                    }
                    found.needs.push(chosen);
                }
                Resolution::System => {}
                Resolution::Unresolved if include.branch == Branch::Always => {
                    found.unresolved.push(include.name.clone())
                }
                Resolution::Unresolved => {}
            }
        }
        found
    }

    /// For each file, what it and everything it includes have: rows of bits.
    fn reached(&self, own: &[Vec<u32>], columns: usize) -> BitRows {
        let mut rows = BitRows::new(self.files.len(), columns);
        for (node, own) in own.iter().enumerate() {
            own.iter().for_each(|column| rows.set(node, *column as usize));
        }
        // Behind all that it includes a file needs one round, except in circles.
        let order = self.included_first();
        let mut changed = true;
        while changed {
            changed = false;
            for node in &order {
                for target in &self.targets[*node] {
                    changed |= rows.add(*node, *target as usize);
                }
            }
        }
        rows
    }

    /// All files, each behind those that it includes, except in circles.
    fn included_first(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.files.len());
        let mut seen = vec![false; self.files.len()];
        // The files on the way down, each with the number of its targets that were looked at.
        let mut way: Vec<(usize, usize)> = Vec::new();
        for start in 0..self.files.len() {
            if !std::mem::replace(&mut seen[start], true) {
                way.push((start, 0));
            }
            while let Some((node, next)) = way.last_mut() {
                let Some(target) = self.targets[*node].get(*next).map(|target| *target as usize) else {
                    order.push(*node);
                    way.pop();
                    continue;
                };
                *next += 1;
                if !std::mem::replace(&mut seen[target], true) {
                    way.push((target, 0));
                }
            }
        }
        order
    }

    /// The include directories of the files at these positions, each list in the order in which a compiler should search.
    pub(crate) fn include_dirs(&self, wanted: &[usize], hints: &BuildHints) -> Vec<Rc<[String]>> {
        let rows = self.reached(&self.needs, self.dirs.len());
        let picks = self.reached(&self.picks, self.choices.len());
        let mut known: HashMap<DirsKey<'_>, Rc<[String]>> = HashMap::new();
        let lists = wanted.iter().map(|node| {
            let dir = parent(&self.files[*node]);
            let needed = rows.row(*node);
            let picked = picks.row(*node);
            known.entry((dir, needed, picked)).or_insert_with(|| self.ordered_dirs(dir, needed, picked, hints)).clone()
        });
        lists.collect()
    }

    fn ordered_dirs(&self, from: &str, needed: &[u64], picked: &[u64], hints: &BuildHints) -> Rc<[String]> {
        let named = hints.include_dirs(from);
        let mut dirs: Vec<&String> = columns(needed).map(|at| &self.dirs[at]).collect();
        dirs.retain(|dir| !named.contains(dir));
        dirs.sort_by_cached_key(|dir| rank(from, dir, &[], &self.votes));
        dirs.truncate(MAX_INCLUDE_DIRS);
        let choices = columns(picked).map(|at| &self.choices[at]);
        named.iter().chain(in_order_of_choices(dirs, choices)).cloned().collect()
    }

    /// Which files are reachable from the files at these positions.
    pub(crate) fn reachable(&self, from: impl Iterator<Item = usize>) -> Vec<bool> {
        self.reachable_by(from, |node| &self.targets[node])
    }

    fn reachable_by<'a>(&self, from: impl Iterator<Item = usize>, targets: impl Fn(usize) -> &'a [u32]) -> Vec<bool> {
        let mut reached = vec![false; self.files.len()];
        let mut waiting: Vec<usize> = from.collect();
        while let Some(node) = waiting.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                waiting.extend(targets(node).iter().map(|target| *target as usize));
            }
        }
        reached
    }

    /// The unconditional includes without a candidate, of all files that a compiler on this system reads: the sources of this system, what
    /// they include outside of branches for other systems, and headers that nothing includes. `listed` is the number of listed files.
    pub(crate) fn unresolved_here(&self, listed: usize) -> BTreeSet<&str> {
        let is_own = |at: &usize| !platforms::is_foreign("", parent(&self.files[*at]));
        let is_source = |at: &usize| matches!(role(&self.files[*at]), Some(FileRole::Source(_)));
        let (sources, headers): (Vec<usize>, Vec<usize>) = (0..listed).partition(is_source);
        let included = self.reachable(sources.iter().copied());
        let starts = sources.into_iter().chain(headers.into_iter().filter(|at| !included[*at]));
        let read = self.reachable_by(starts.filter(is_own), |node| &self.targets[node][..self.possible_targets[node]]);
        let unresolved = self.unresolved.iter().zip(read).filter(|(_, is_read)| *is_read);
        let names = unresolved.flat_map(|(names, _)| names.iter().map(|name| &**name));
        names.filter(|name| !platforms::is_foreign_header(name)).collect()
    }

    /// The files that the file at this position includes.
    pub(crate) fn includes_of(&self, node: usize) -> impl Iterator<Item = usize> {
        self.targets[node].iter().map(|target| *target as usize)
    }

    /// Whether some file includes the file at this position.
    pub(crate) fn included(&self) -> Vec<bool> {
        let mut included = vec![false; self.files.len()];
        for target in self.targets.iter().flatten() {
            included[*target as usize] = true;
        }
        included
    }
}

/// The file in a directory: one of the tree, or, if the directory is an absolute path, a header that was made.
fn target_in(dir: &str, name: &str) -> Option<String> {
    if dir.starts_with('/') { Some(format!("{dir}/{name}")) } else { join(dir, name) }
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
        let is_own = |dir: &String| include.form == IncludeForm::Next && *dir == from;
        let candidates = self.candidates(&include.name);
        let votes = &self.votes;
        let usable = candidates
            .iter()
            .filter(|dir| (!standard || is_named(dir)) && !is_own(dir) && !platforms::is_other_architecture(from, dir));
        let generated = self.inputs.generated;
        if let Some(dir) = generated.instead(from, &include.name, &candidates, &named) {
            return Resolution::Below(dir);
        }
        match usable.min_by_key(|dir| rank(from, dir, &named, votes)) {
            Some(dir) => {
                let nearer = || generated.derived(from, &include.name, Some(distance(from, dir)));
                let made = if standard || is_named(dir) { None } else { nearer() };
                Resolution::Below(made.unwrap_or_else(|| dir.clone()))
            }
            None if standard => Resolution::System,
            None => match generated.derived(from, &include.name, None) {
                Some(dir) => Resolution::Below(dir),
                None if self.inputs.system.has(&include.name) => Resolution::System,
                None => self.upwards(from, include, &named),
            },
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
