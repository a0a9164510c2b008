//! Answers a search over several workspaces from their projects. It blocks.
//!
//! A ranked search has three steps, each over all roots at once: the statistics of the words, whose sums make scores comparable; the
//! best hits; the rows of those hits that are among the best of all. The rows are then merged like those of the roots of one workspace.
//! Invariants: the answer depends on the indexes alone, not on threads, unless the time is up; a root that can't answer disturbs no
//! other, and its workspace is named; a score is the one that a single index of everything would give.

use std::cmp::Ordering;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::indexer::code_query::{Projects, StopCheck, is_behind};
use crate::indexer::fan_out::{Done, fan_out};
use crate::indexer::group_members::MemberProjects;
use crate::indexer::group_report::{self, UnitProblem};
use crate::indexer::group_rows::GroupRows;
use crate::indexer::merge::{self, Merged, RootRows};
use crate::indexer::refusals::no_root;
use codeyard_base::clock::Instant;
use codeyard_index::Project;
use codeyard_index::project::part_search::{HitPlace, PartHits, PartSearch};
use codeyard_index::project::{AbsentName, is_unknown_name_warning};
use codeyard_index::ranked::QueryStatistics;
use codeyard_model::code::{
    CodeError, CodeRefusal, FreshnessPolicy, IndexingStatus, LocateBy, LocateQuery, Outline, OutlineQuery, ResultRows,
    RowOptions, SearchMode, SearchQuery,
};

/// Among this many times the requested rows the best hits of all roots are chosen, because duplicates are removed later.
const OVERFETCH_FACTOR: usize = 3;

/// The projects that a search covers.
#[derive(Clone, Copy)]
pub struct GroupProjects<'g> {
    /// In the order of their names.
    pub members: &'g [MemberProjects],
    /// Threads that work at once.
    pub threads: usize,
}

/// One root of a workspace, and its part of the search.
struct Unit<'g> {
    /// The position of the workspace.
    member: usize,
    /// The position of the root in its workspace.
    at: usize,
    project: &'g Project,
    part: Mutex<Option<PartSearch<'g>>>,
    problem: Option<UnitProblem>,
    took: Mutex<Option<(Instant, Instant)>>,
}

impl<'g> GroupProjects<'g> {
    /// `search_code` over all members.
    pub fn search(self, query: &'g SearchQuery, ends: StopCheck<'_>) -> GroupRows {
        let mut search = GroupSearch::new(self, &query.shape, ends);
        let compared = Project::compared_hits(query);
        search.most_hits = compared.unwrap_or(search.most_hits);
        search.begin(|project| project.begin_search(query));
        let is_auto = query.mode == SearchMode::Auto;
        let begins_with_lines = Project::begins_with_lines(query);
        let mut parts = if begins_with_lines { search.lines(query) } else { search.ranked() };
        let is_empty = parts.iter().flatten().all(|rows| rows.rows.is_empty());
        let mut warning = None;
        if is_auto && !query.is_listing() && is_empty {
            (parts, warning) = if begins_with_lines {
                (search.ranked(), Project::absent_phrase(query))
            } else {
                let absent = search.absent_name(&parts, 1);
                (search.lines(query), absent.map(|absent| absent.to_string()))
            };
        }
        // A single root says it by itself.
        let absent = search.absent_name(&parts, 2);
        let found = search.finish(parts, |parts| merge::search(parts, query));
        let found = found.with_absent_name(absent).with_warning(warning);
        if begins_with_lines { found } else { found.with_compared(compared, query.shape.limit) }
    }

    /// `locate_symbol` over all members.
    pub fn locate(self, query: &'g LocateQuery, ends: StopCheck<'_>) -> GroupRows {
        let mut search = GroupSearch::new(self, &query.shape, ends);
        if !matches!(query.by, LocateBy::Name(_)) {
            let parts = search.step(|_, unit| unit.project.locate(query, ends));
            return search.finish(parts, |parts| merge::ranked(parts, query.shape.limit));
        }
        search.begin(|project| project.begin_locate(query));
        let parts = search.ranked();
        let is_absent = parts.iter().flatten().all(|rows| rows.rows.is_empty());
        let absent = if is_absent { search.nearest_names() } else { None };
        search.finish(parts, |parts| merge::ranked(parts, query.shape.limit)).with_absent_name(absent)
    }

    /// `get_file_outline` of every member, by position; of each the first root that has the file.
    pub fn outlines(self, query: &OutlineQuery, ends: StopCheck<'_>) -> Vec<Result<Outline, Box<CodeRefusal>>> {
        let order: Vec<usize> = (0..self.members.len()).collect();
        let done = fan_out(order.len(), &order, self.threads, ends, |at| {
            let _running = self.members[at].begin()?;
            Projects { all: &self.members[at].projects, payload_bytes: usize::MAX }.first_outline(query)
        });
        let result = |done| match done {
            Done::Result(result) => result,
            Done::NotReached => Err(Box::new(UnitProblem::Late.refusal())),
            Done::Panicked => Err(Box::new(UnitProblem::Panicked.refusal())),
        };
        done.into_iter().map(result).collect()
    }
}

/// A search over a group, in steps.
struct GroupSearch<'g, 's> {
    members: &'g [MemberProjects],
    units: Vec<Unit<'g>>,
    /// The order in which the units are asked: those in memory first, so that most are answered if the time is short.
    order: Vec<usize>,
    threads: usize,
    ends: StopCheck<'s>,
    limit: usize,
    /// The hits of all units whose rows are built.
    most_hits: usize,
    policy: Option<FreshnessPolicy>,
    is_live: bool,
}

impl<'g, 's> GroupSearch<'g, 's> {
    fn new(group: GroupProjects<'g>, shape: &RowOptions, ends: StopCheck<'s>) -> Self {
        let unit = |member, at, project: &'g Arc<Project>| Unit {
            member,
            at,
            project,
            part: Mutex::default(),
            problem: None,
            took: Mutex::default(),
        };
        let units_of = |(member, of): (usize, &'g MemberProjects)| {
            of.projects.iter().enumerate().map(move |(at, project)| unit(member, at, project))
        };
        let units: Vec<Unit<'g>> = group.members.iter().enumerate().flat_map(units_of).collect();
        let mut order: Vec<usize> = (0..units.len()).collect();
        order.sort_by_key(|unit| !units[*unit].project.is_loaded());
        let is_live = shape.reference.as_deref().is_none_or(|reference| reference == "live");
        let (members, threads, limit, policy) = (group.members, group.threads, shape.limit, shape.freshness);
        let most_hits = limit.saturating_mul(OVERFETCH_FACTOR);
        Self { members, units, order, threads, ends, limit, most_hits, policy, is_live }
    }

    /// Runs `work` for every unit without a problem. A unit whose work fails keeps that as its problem.
    fn step<T: Send>(
        &mut self,
        work: impl Fn(usize, &Unit<'g>) -> Result<T, Box<CodeRefusal>> + Sync,
    ) -> Vec<Option<T>> {
        let (units, members) = (&self.units, self.members);
        let order: Vec<usize> = self.order.iter().copied().filter(|unit| units[*unit].problem.is_none()).collect();
        let done = fan_out(units.len(), &order, self.threads, self.ends, |at| {
            let (unit, from) = (&units[at], Instant::now());
            let _running = members[unit.member].begin()?;
            let result = work(at, unit);
            let mut took = unit.took.lock();
            *took = Some((took.map_or(from, |(first, _)| first), Instant::now()));
            result
        });
        let mut results = Vec::with_capacity(done.len());
        for (unit, done) in self.units.iter_mut().zip(done) {
            let problem = match done {
                Done::Result(Ok(value)) => {
                    results.push(Some(value));
                    continue;
                }
                Done::Result(Err(refusal)) => UnitProblem::Refused(refusal),
                Done::NotReached => UnitProblem::Late,
                Done::Panicked => UnitProblem::Panicked,
            };
            unit.problem.get_or_insert(problem);
            results.push(None);
        }
        results
    }

    fn begin(&mut self, begin: impl Fn(&'g Project) -> Result<PartSearch<'g>, Box<CodeRefusal>> + Sync) {
        self.step(|_, unit| {
            *unit.part.lock() = Some(begin(unit.project)?);
            Ok(())
        });
    }

    /// The best rows of all units.
    fn ranked(&mut self) -> Vec<Option<ResultRows>> {
        let statistics = self.step(|_, unit| unit.ask(PartSearch::statistics));
        let mut sums = QueryStatistics::default();
        statistics.iter().flatten().for_each(|one| sums.add(one));
        let hits = self.step(|_, unit| unit.ask(|part| part.hits(&sums)));
        let counts = chosen(&hits, self.most_hits);
        let hits: Vec<Mutex<Option<PartHits>>> = hits.into_iter().map(Mutex::new).collect();
        self.step(|at, unit| {
            let own = hits[at].lock().take();
            unit.ask(|part| part.rows(own.unwrap_or_default(), counts[at]))
        })
    }

    /// The matching lines of all units: those that the answer needs, and the number of all.
    fn lines(&mut self, query: &SearchQuery) -> Vec<Option<ResultRows>> {
        let (offset, limit, ends) = (query.offset, self.limit, self.ends);
        if offset == 0 {
            return self.step(|_, unit| unit.ask(|part| part.lines(0, limit, ends)));
        }
        // The lines of all units form one list. The totals say which units the requested lines are in.
        let mut counted = self.step(|_, unit| unit.ask(|part| part.lines(0, 1, ends)));
        let mut windows = vec![None; counted.len()];
        let (mut before, mut left) = (0, limit);
        for (window, rows) in windows.iter_mut().zip(&mut counted) {
            let Some(rows) = rows else { continue };
            rows.rows.clear();
            let skipped = offset.saturating_sub(before).min(rows.total);
            let taken = left.min(rows.total - skipped);
            if taken > 0 {
                *window = Some((skipped, taken));
                left -= taken;
            }
            before += rows.total;
        }
        let order = self.order.clone();
        self.order.retain(|unit| windows[*unit].is_some());
        let shown =
            self.step_some(&windows, |unit, (skipped, taken)| unit.ask(|part| part.lines(skipped, taken, ends)));
        self.order = order;
        for (rows, shown) in counted.iter_mut().zip(shown) {
            if let Some(shown) = shown {
                *rows = Some(shown);
            }
        }
        counted
    }

    /// The sentence that no unit has the name that a search consists of, if at least `least` units say so.
    fn absent_name(&mut self, parts: &[Option<ResultRows>], least: usize) -> Option<AbsentName> {
        let says_so =
            |rows: &&ResultRows| rows.metadata.warnings.iter().any(|warning| is_unknown_name_warning(warning));
        let is_absent = parts.iter().flatten().filter(says_so).count() >= least;
        if is_absent { self.nearest_names() } else { None }
    }

    /// What all units say of a name that they don't have. A unit that fails at this keeps its rows and says nothing.
    fn nearest_names(&mut self) -> Option<AbsentName> {
        let known: Vec<Option<UnitProblem>> = self.units.iter().map(|unit| unit.problem.clone()).collect();
        let said = self.step(|_, unit| unit.ask(PartSearch::absent_name));
        for (unit, before) in self.units.iter_mut().zip(known) {
            unit.problem = before;
        }
        said.into_iter().flatten().flatten().reduce(AbsentName::merged)
    }

    /// Runs `work` for the units with a window only. A unit that fails or isn't reached has no lines.
    fn step_some<W: Copy + Sync, T: Send>(
        &mut self,
        windows: &[Option<W>],
        work: impl Fn(&Unit<'g>, W) -> Result<T, Box<CodeRefusal>> + Sync,
    ) -> Vec<Option<T>> {
        let known: Vec<Option<UnitProblem>> = self.units.iter().map(|unit| unit.problem.clone()).collect();
        let results = self.step(|at, unit| match windows[at] {
            Some(window) => work(unit, window).map(Some),
            None => Ok(None),
        });
        for ((unit, before), window) in self.units.iter_mut().zip(known).zip(windows) {
            if window.is_none() {
                unit.problem = before;
            }
        }
        results.into_iter().map(Option::flatten).collect()
    }

    /// Merges the parts, and names the workspaces without one.
    fn finish(self, parts: Vec<Option<ResultRows>>, merge: impl FnOnce(Vec<RootRows>) -> Merged) -> GroupRows {
        let (mut indexed, mut unindexed, mut problems, mut refused) = (Vec::new(), Vec::new(), Vec::new(), None);
        let mut behind: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut took: Vec<(usize, Instant, Instant)> = Vec::new();
        let (mut lost, mut invalid) = (Vec::new(), None);
        for (unit, rows) in self.units.into_iter().zip(parts) {
            let name = &self.members[unit.member].name;
            if let Some((from, to)) = unit.took.into_inner() {
                match took.last_mut().filter(|(member, ..)| *member == unit.member) {
                    Some((_, first, last)) => (*first, *last) = ((*first).min(from), (*last).max(to)),
                    None => took.push((unit.member, from, to)),
                }
            }
            if let Some(problem) = unit.problem {
                let refusal = problem.refusal();
                // What is wrong with the query is wrong for all, also for those that haven't an index to ask.
                if refusal.code == CodeError::InvalidInput {
                    invalid.get_or_insert_with(|| Box::new(refusal.clone()));
                }
                // A handle belongs to one workspace; the others aren't incomplete.
                if !matches!(refusal.code, CodeError::SymbolNotFound | CodeError::ResultNotFound) {
                    problems.push(group_report::refused(name.clone(), &refusal));
                }
                refused.get_or_insert(Box::new(refusal));
                continue;
            }
            let Some(mut rows) = rows else { continue };
            rows.rows.iter_mut().for_each(|row| row.workspace = Some(name.clone()));
            let metadata = &rows.metadata;
            if is_behind(metadata, self.policy.unwrap_or(unit.project.settings().freshness)) {
                match behind.last_mut().filter(|(member, _)| *member == unit.member) {
                    Some((_, roots)) => roots.push(unit.at),
                    None => behind.push((unit.member, vec![unit.at])),
                }
            }
            let has_index = unit.part.into_inner().is_none_or(|part| part.is_indexed());
            let list = if has_index { &mut indexed } else { &mut unindexed };
            if has_index && metadata.indexing == IndexingStatus::Indexing {
                problems.push(group_report::partly_indexed(name.clone()));
            }
            if !has_index && self.is_live {
                lost.push(unit.member);
                let is_being_indexed = metadata.indexing == IndexingStatus::Indexing;
                problems.push(group_report::not_indexed(name.clone(), is_being_indexed));
            }
            let label = format!("The workspace {name}");
            list.push(RootRows { at: list.len(), label, result: Ok(rows) });
        }
        let rows = match invalid {
            Some(refusal) => Err(refusal),
            None => self::merged(indexed, unindexed, refused, merge),
        };
        let rows = match rows {
            Ok(mut rows) => {
                group_report::report(&mut rows.metadata, problems);
                Ok(rows)
            }
            Err(refusal) => Err(group_report::with_problems(refusal, problems)),
        };
        lost.dedup();
        GroupRows { rows, behind, unindexed: lost, took }
    }
}

/// The rows of the parts with an index; if there is none, the answer of those without one, or the refusal.
fn merged(
    indexed: Vec<RootRows>,
    unindexed: Vec<RootRows>,
    refused: Option<Box<CodeRefusal>>,
    merge: impl FnOnce(Vec<RootRows>) -> Merged,
) -> Result<ResultRows, Box<CodeRefusal>> {
    let statuses: Vec<IndexingStatus> =
        unindexed.iter().filter_map(|part| Some(part.result.as_ref().ok()?.metadata.indexing)).collect();
    let parts = match (indexed.is_empty(), unindexed.is_empty(), refused) {
        (true, true, Some(refusal)) => return Err(refusal),
        (true, true, None) => return Err(Box::new(no_root())),
        (true, false, _) => unindexed,
        (false, ..) => indexed,
    };
    let (mut rows, _) = merge(parts)?;
    if let Some(worst) = statuses.into_iter().max_by_key(|status| merge::unready(*status))
        && merge::unready(worst) > merge::unready(rows.metadata.indexing)
    {
        rows.metadata.indexing = worst;
    }
    Ok(rows)
}

impl<'g> Unit<'g> {
    /// Asks its part. A unit whose part hasn't begun has a problem, and isn't asked.
    fn ask<T>(&self, ask: impl FnOnce(&PartSearch<'g>) -> Result<T, Box<CodeRefusal>>) -> Result<T, Box<CodeRefusal>> {
        match &*self.part.lock() {
            Some(part) => ask(part),
            None => Err(Box::new(UnitProblem::Panicked.refusal())),
        }
    }
}

/// How many of the hits of each unit are among the best `most` of all: by score, then path, then position, then unit.
fn chosen(hits: &[Option<PartHits>], most: usize) -> Vec<usize> {
    let places = |unit: usize| hits[unit].as_ref().map_or(&[][..], |hits| &hits.places);
    let mut all: Vec<(&HitPlace, usize)> =
        (0..hits.len()).flat_map(|unit| places(unit).iter().map(move |place| (place, unit))).collect();
    all.sort_by(|(one, unit), (other, other_unit)| by_place(one, other).then(unit.cmp(other_unit)));
    let mut counts = vec![0; hits.len()];
    for (_, unit) in all.into_iter().take(most) {
        counts[unit] += 1;
    }
    counts
}

fn by_place(one: &HitPlace, other: &HitPlace) -> Ordering {
    other.score.total_cmp(&one.score).then_with(|| one.path.cmp(&other.path)).then(one.ordinal.cmp(&other.ordinal))
}
