//! Answers a search over workspaces from their projects. It blocks.
//!
//! A ranked search has three steps, each over all roots at once: the statistics of the words, whose sums make scores comparable; the
//! best hits; the rows of those hits that are among the best of all. The rows are then merged like those of the roots of one workspace.
//! Invariants: the answer depends on the indexes alone, not on threads, unless the time is up; a root that can't answer, or whose files
//! hang, disturbs no other, and its workspace is named; a score is the one that a single index of everything would give.

use std::cmp::Ordering;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::indexer::code_query::{Projects, is_behind};
use crate::indexer::fan_out::{Done, fan_out};
use crate::indexer::group_members::{MemberProjects, request_order};
use crate::indexer::group_report::{self, UnitProblem};
use crate::indexer::group_rows::{GroupRows, OutdatedRoots};
use crate::indexer::group_steps::{Steps, Unit};
use crate::indexer::merge::{self, Merged, RootRows};
use crate::indexer::query_end::QueryEnd;
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
    /// Whether the answer is about a group. One about a workspace alone names no workspace, and its roots in the place of workspaces.
    pub is_group: bool,
}

impl GroupProjects<'_> {
    /// `search_code` over all members.
    pub fn search(self, query: &SearchQuery, end: &QueryEnd) -> GroupRows {
        if let Some(alone) = self.alone() {
            return alone.search(query, end);
        }
        let mut search = GroupSearch::new(self, &query.shape, end);
        let asked = Arc::new(query.clone());
        let compared = Project::compared_hits(query);
        search.most_hits = compared.unwrap_or(search.most_hits);
        search.begin(move |project| project.begin_search(&asked));
        let may_fall_back = query.mode == SearchMode::Auto && !query.is_listing();
        let until = if may_fall_back { end.of_step() } else { end.clone() };
        let begins_with_lines = Project::begins_with_lines(query);
        let mut parts = if begins_with_lines { search.lines(query, &until) } else { search.ranked(&until) };
        let is_empty = parts.iter().flatten().all(|rows| rows.rows.is_empty());
        let mut warning = None;
        if may_fall_back && is_empty {
            let is_cut = parts.iter().flatten().any(is_cut);
            (parts, warning) = if begins_with_lines {
                (search.ranked(end), Project::absent_phrase(query).filter(|_| !is_cut))
            } else {
                let absent = search.absent_name(&parts, 1, &end.of_step());
                (search.lines(query, end), absent.map(|absent| absent.to_string()))
            };
            if is_cut {
                // The first search may have missed lines, which would have been the answer.
                parts.iter_mut().flatten().for_each(|rows| Project::mark_cut(&mut rows.metadata));
            }
        }
        // A single root says it by itself.
        let absent = search.absent_name(&parts, 2, end);
        let found = search.finish(parts, |parts| merge::search(parts, query));
        let found = found.with_absent_name(absent).with_warning(warning);
        if begins_with_lines { found } else { found.with_compared(compared, query.shape.limit) }
    }

    /// `locate_symbol` over all members.
    pub fn locate(self, query: &LocateQuery, end: &QueryEnd) -> GroupRows {
        if let Some(alone) = self.alone() {
            return alone.locate(query, end);
        }
        let mut search = GroupSearch::new(self, &query.shape, end);
        let asked = Arc::new(query.clone());
        if !matches!(query.by, LocateBy::Name(_)) {
            let parts = search.steps.step(end, move |_, unit, end| unit.project.locate(&asked, &|| end.is_reached()));
            return search.finish(parts, |parts| merge::ranked(parts, query.shape.limit));
        }
        search.begin(move |project| project.begin_locate(&asked));
        let parts = search.ranked(end);
        let is_absent = parts.iter().flatten().all(|rows| rows.rows.is_empty());
        let absent = if is_absent { search.nearest_names(end) } else { None };
        search.finish(parts, |parts| merge::ranked(parts, query.shape.limit)).with_absent_name(absent)
    }

    fn alone(&self) -> Option<Projects<'_>> {
        self.members.first().filter(|_| !self.is_group).map(|member| Projects { all: &member.projects })
    }

    /// `get_file_outline` of every member, by position; of each the first root that has the file.
    pub fn outlines(self, query: &OutlineQuery, end: &QueryEnd) -> Vec<Result<Outline, Box<CodeRefusal>>> {
        let members = self.members.to_vec();
        let query = query.clone();
        let order = request_order(members.iter().map(|member| &*member.queries));
        let done = fan_out(members.len(), order, self.threads, end, move |at| {
            let _running = members[at].begin()?;
            Projects { all: &members[at].projects }.outline_at(&query).map(|(_, outline)| outline)
        });
        let result = |done| match done {
            Done::Result(result) => result,
            Done::Late => Err(Box::new(UnitProblem::Late.refusal())),
            Done::Panicked => Err(Box::new(UnitProblem::Panicked.refusal())),
        };
        done.into_iter().map(result).collect()
    }
}

/// A search over a group, in steps.
struct GroupSearch<'e> {
    steps: Steps,
    /// Whether each unit has an index to search.
    has_index: Vec<bool>,
    end: &'e QueryEnd,
    limit: usize,
    /// The hits of all units whose rows are built.
    most_hits: usize,
    policy: Option<FreshnessPolicy>,
    is_live: bool,
}

impl<'e> GroupSearch<'e> {
    fn new(group: GroupProjects<'_>, shape: &RowOptions, end: &'e QueryEnd) -> Self {
        let steps = Steps::new(group.members, group.threads);
        let is_live = shape.reference.as_deref().is_none_or(|reference| reference == "live");
        let limit = shape.limit;
        let policy = shape.freshness;
        let has_index = vec![true; steps.units.len()];
        let most_hits = limit.saturating_mul(OVERFETCH_FACTOR);
        Self { steps, has_index, end, limit, most_hits, policy, is_live }
    }

    fn begin(&mut self, begin: impl Fn(&Arc<Project>) -> Result<PartSearch, Box<CodeRefusal>> + Send + Sync + 'static) {
        let begun = self.steps.step(&self.end.of_step(), move |_, unit, _| unit.begin(&begin));
        self.has_index = begun.into_iter().map(|has_index| has_index.unwrap_or(true)).collect();
    }

    /// The best rows of all units.
    fn ranked(&mut self, end: &QueryEnd) -> Vec<Option<ResultRows>> {
        let statistics = self.steps.step(&end.of_step(), |_, unit, _| unit.ask(PartSearch::statistics));
        let mut sums = QueryStatistics::default();
        statistics.iter().flatten().for_each(|one| sums.add(one));
        let hits = self.steps.step(&end.of_step(), move |_, unit, _| unit.ask(|part| part.hits(&sums)));
        let counts = chosen(&hits, self.most_hits);
        let hits: Vec<Mutex<Option<PartHits>>> = hits.into_iter().map(Mutex::new).collect();
        self.steps.step(end, move |at, unit, _| {
            let own = hits[at].lock().take();
            unit.ask(|part| part.rows(own.unwrap_or_default(), counts[at]))
        })
    }

    /// The matching lines of all units: those that the answer needs, and the number of all.
    fn lines(&mut self, query: &SearchQuery, end: &QueryEnd) -> Vec<Option<ResultRows>> {
        let offset = query.offset;
        let limit = self.limit;
        let lines = |offset, limit| {
            move |unit: &Unit, end: &QueryEnd| unit.ask(|part| part.lines(offset, limit, &|| end.is_reached()))
        };
        if offset == 0 {
            let first = lines(0, limit);
            return self.steps.step(end, move |_, unit, end| first(unit, end));
        }
        // The lines of all units form one list. The totals say which units the requested lines are in.
        let one = lines(0, 1);
        let mut counted = self.steps.step(&end.of_step(), move |_, unit, end| one(unit, end));
        let mut windows = vec![None; counted.len()];
        let mut before = 0;
        let mut left = limit;
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
        // Only units with a window are asked again.
        let order = self.steps.order.clone();
        self.steps.order.retain(|unit| windows[*unit].is_some());
        let known = self.steps.problems.clone();
        let of_units = windows.clone();
        let shown = self.steps.step(end, move |at, unit, end| match of_units[at] {
            Some((skipped, taken)) => lines(skipped, taken)(unit, end).map(Some),
            None => Ok(None),
        });
        self.steps.order = order;
        for (((rows, shown), window), (problem, before)) in
            counted.iter_mut().zip(shown).zip(windows).zip(self.steps.problems.iter_mut().zip(known))
        {
            if let (Some(rows), Some(mut shown)) = (rows, shown.flatten()) {
                if is_cut(rows) {
                    // The window may lie elsewhere among all lines.
                    Project::mark_cut(&mut shown.metadata);
                }
                *rows = shown;
            }
            if window.is_none() {
                *problem = before;
            }
        }
        counted
    }

    /// The sentence that no unit has the name that a search consists of, if at least `least` units say so.
    fn absent_name(&mut self, parts: &[Option<ResultRows>], least: usize, end: &QueryEnd) -> Option<AbsentName> {
        let says_so =
            |rows: &&ResultRows| rows.metadata.warnings.iter().any(|warning| is_unknown_name_warning(warning));
        let is_absent = parts.iter().flatten().filter(says_so).count() >= least;
        if is_absent { self.nearest_names(end) } else { None }
    }

    /// What all units say of a name that they don't have. A unit that fails at this keeps its rows and says nothing.
    fn nearest_names(&mut self, end: &QueryEnd) -> Option<AbsentName> {
        let known = self.steps.problems.clone();
        let said = self.steps.step(end, |_, unit, _| unit.ask(PartSearch::absent_name));
        self.steps.problems = known;
        said.into_iter().flatten().flatten().reduce(AbsentName::merged)
    }

    /// Merges the parts, and names the workspaces without one.
    fn finish(mut self, parts: Vec<Option<ResultRows>>, merge: impl FnOnce(Vec<RootRows>) -> Merged) -> GroupRows {
        let mut indexed = Vec::new();
        let mut unindexed = Vec::new();
        let mut problems = Vec::new();
        let mut refused = None;
        let mut behind: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut took: Vec<(usize, Instant, Instant)> = Vec::new();
        let mut lost = Vec::new();
        let mut invalid = None;
        let unit_problems = std::mem::take(&mut self.steps.problems);
        for (((unit, problem), has_index), rows) in
            self.steps.units.iter().zip(unit_problems).zip(self.has_index).zip(parts)
        {
            let name = &unit.of.name;
            if let Some((from, to)) = unit.took() {
                match took.last_mut().filter(|(member, ..)| *member == unit.member) {
                    Some((_, first, last)) => (*first, *last) = ((*first).min(from), (*last).max(to)),
                    None => took.push((unit.member, from, to)),
                }
            }
            if let Some(problem) = problem {
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
            None => merged(indexed, unindexed, refused, merge),
        };
        let rows = match rows {
            Ok(mut rows) => {
                group_report::report(&mut rows.metadata, problems);
                Ok(rows)
            }
            Err(refusal) => Err(group_report::with_problems(refusal, problems)),
        };
        lost.dedup();
        GroupRows { rows, outdated: OutdatedRoots { behind, unindexed: lost }, took }
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

/// Whether lines are missing, because the time was up.
fn is_cut(rows: &ResultRows) -> bool {
    rows.metadata.safety_limit.is_some()
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
