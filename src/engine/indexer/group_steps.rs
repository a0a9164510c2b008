//! The steps of a search over several roots: each asks all roots that have had no problem so far. It blocks.
//!
//! Invariants: the caller never waits for a lock that a thread holds while it is in a call of the system; what a stuck thread keeps
//! beyond the answer is its own root's part alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::indexer::fan_out::{Done, fan_out};
use crate::indexer::group_members::{MemberProjects, request_rank};
use crate::indexer::group_report::UnitProblem;
use crate::indexer::query_end::QueryEnd;
use codeyard_base::clock::Instant;
use codeyard_index::Project;
use codeyard_index::project::part_search::PartSearch;
use codeyard_model::code::CodeRefusal;

/// One root of a workspace, and its part of the search.
pub(super) struct Unit {
    /// The position of the workspace.
    pub(super) member: usize,
    /// The position of the root in its workspace.
    pub(super) at: usize,
    pub(super) project: Arc<Project>,
    pub(super) of: MemberProjects,
    /// A thread keeps it locked while it works on it.
    part: Mutex<Option<PartSearch>>,
    took: Mutex<Option<(Instant, Instant)>>,
}

/// The units of a search, and what became of them.
pub(super) struct Steps {
    pub(super) units: Arc<[Unit]>,
    /// Why units have no part in the answer.
    pub(super) problems: Vec<Option<UnitProblem>>,
    /// The order in which the units are asked: those in memory first, and those with a late query last, so that most are answered if the
    /// time is short.
    pub(super) order: Vec<usize>,
    threads: usize,
    /// Nobody asks any more. Threads that return now give up their unit's part.
    is_over: Arc<AtomicBool>,
}

impl Steps {
    pub(super) fn new(members: &[MemberProjects], threads: usize) -> Self {
        let units_of = |(member, of): (usize, &MemberProjects)| {
            let unit = |(at, project): (usize, &Arc<Project>)| {
                let project = project.clone();
                Unit { member, at, project, of: of.clone(), part: Mutex::default(), took: Mutex::default() }
            };
            of.projects.iter().enumerate().map(unit).collect::<Vec<_>>()
        };
        let units: Arc<[Unit]> = members.iter().enumerate().flat_map(units_of).collect();
        let mut order: Vec<usize> = (0..units.len()).collect();
        order.sort_by_cached_key(|unit| {
            let unit = &units[*unit];
            request_rank(&unit.of.queries, unit.project.is_loaded())
        });
        Self { problems: vec![None; units.len()], units, order, threads, is_over: Arc::default() }
    }

    /// Runs `work` for every unit without a problem, until this end. A unit whose work fails or doesn't return keeps that as its problem.
    pub(super) fn step<T: Send + 'static>(
        &mut self,
        end: &QueryEnd,
        work: impl Fn(usize, &Unit, &QueryEnd) -> Result<T, Box<CodeRefusal>> + Send + Sync + 'static,
    ) -> Vec<Option<T>> {
        let order = self.order.iter().copied().filter(|unit| self.problems[*unit].is_none()).collect();
        let units = self.units.clone();
        let until = end.clone();
        let is_over = self.is_over.clone();
        let done = fan_out(units.len(), order, self.threads, end, move |at| {
            let unit = &units[at];
            let from = Instant::now();
            let _running = unit.of.begin()?;
            let result = work(at, unit, &until);
            if is_over.load(Ordering::SeqCst) {
                unit.give_up();
            }
            let mut took = unit.took.lock();
            *took = Some((took.map_or(from, |(first, _)| first), Instant::now()));
            result
        });
        let mut results = Vec::with_capacity(done.len());
        for (known, done) in self.problems.iter_mut().zip(done) {
            let problem = match done {
                Done::Result(Ok(value)) => {
                    results.push(Some(value));
                    continue;
                }
                Done::Result(Err(refusal)) => UnitProblem::Refused(refusal),
                Done::Late => UnitProblem::Late,
                Done::Panicked => UnitProblem::Panicked,
            };
            known.get_or_insert(problem);
            results.push(None);
        }
        results
    }
}

impl Drop for Steps {
    /// A thread that is stuck keeps the units. The parts of the others hold their databases and files open.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.units.iter().for_each(Unit::give_up);
    }
}

impl Unit {
    /// Begins its part. Whether it has an index to search.
    pub(super) fn begin(
        &self,
        begin: impl FnOnce(&Arc<Project>) -> Result<PartSearch, Box<CodeRefusal>>,
    ) -> Result<bool, Box<CodeRefusal>> {
        let begun = begin(&self.project)?;
        let is_indexed = begun.is_indexed();
        *self.part.lock() = Some(begun);
        Ok(is_indexed)
    }

    /// Asks its part. A unit whose part hasn't begun has a problem, and isn't asked.
    pub(super) fn ask<T>(
        &self,
        ask: impl FnOnce(&PartSearch) -> Result<T, Box<CodeRefusal>>,
    ) -> Result<T, Box<CodeRefusal>> {
        // A thread of an earlier step that was left behind may have it.
        let Some(part) = self.part.try_lock() else { return Err(Box::new(UnitProblem::Late.refusal())) };
        match &*part {
            Some(part) => ask(part),
            None => Err(Box::new(UnitProblem::Panicked.refusal())),
        }
    }

    /// Drops its part, unless a thread has it, which does the same when it returns.
    fn give_up(&self) {
        if let Some(mut part) = self.part.try_lock() {
            part.take();
        }
    }

    /// From when to when it was asked.
    pub(super) fn took(&self) -> Option<(Instant, Instant)> {
        *self.took.lock()
    }
}
