//! The state machine of a run: a command comes in, the new progress and the actions come out.
//!
//! It is a pure function over the table of a [`Workflow`]. It doesn't store, start or stop anything: whoever applies a command makes the
//! actions durable and carries them out, in their order. Invariants: a run takes only arrows of the table; nothing runs in a run that has
//! ended; a run works on one stage at a time; a finished stage of a step never begins a second time.

use std::collections::BTreeMap;

use crate::workflow::{Role, State, Workflow};

/// Where a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub state: &'static State,
    /// Whether the run goes on by itself.
    pub advance: Advance,
    /// The stage that runs.
    pub activity: Activity,
    /// Whether the last report was good; `None` before the first one.
    pub report: Option<bool>,
    /// How often each stage has begun, interruptions not counted.
    pub attempts: BTreeMap<&'static str, u32>,
}

/// Whether a run goes on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Advance {
    /// It goes on until it needs a decision.
    Auto,
    /// It waits at each stable boundary.
    Step,
}

/// What a run works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Activity {
    Idle,
    /// A stage runs.
    Running(Work),
    /// A stage had begun when the process ended. It continues from its finished work items.
    Interrupted(Work),
}

/// One execution of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Work {
    pub stage: &'static str,
    /// 1 for the first execution.
    pub attempt: u32,
}

/// What is asked of a run, or reported about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Command {
    /// Go on: after creation, after an interruption, or from a boundary.
    Resume,
    /// Make a report of the present state.
    Validate,
    /// Repair the next fault of the report.
    FixNext,
    /// Publish the result.
    Publish,
    /// End the run.
    Cancel,
    /// The running stage has ended.
    Finished(StageResult),
}

/// How a stage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StageResult {
    /// It did its work. A step goes on, a repair is checked, a publication is published.
    Done,
    /// A check made a report.
    Report {
        /// Whether the report is good.
        ok: bool,
    },
    /// It did nothing, and the state is as before: a repair was rolled back, a publication or a check was not possible.
    Unchanged,
    /// It failed, and so does the run.
    Failed,
}

/// What has to be done, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Record the end of the running work, then stop it. Its result doesn't count any more.
    Stop(Work),
    /// Record the change to this state.
    Enter(&'static str),
    /// Record and begin this work. If it was interrupted, its finished work items stay finished.
    Begin(Work),
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Where the run is afterwards.
    pub progress: Progress,
    /// What has to be done. Empty if the command only attaches to what runs already.
    pub actions: Vec<Action>,
}

/// Why a command isn't carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The state doesn't allow it.
    #[error("the run is in state {state}, but this needs one of {}", allowed.join(", "))]
    State { state: &'static str, allowed: Vec<&'static str> },
    /// Another stage runs.
    #[error("the run is in state {state} and works on the stage {stage}; call again when that has ended")]
    Busy {
        state: &'static str,
        /// The stage that runs.
        stage: &'static str,
    },
    /// The command needs a report, and it must be good for a publication and bad for a repair.
    #[error("the run is in state {state}, but its last report {}", report_text(*found))]
    Report {
        state: &'static str,
        /// Whether the last report is good; `None` if there is none.
        found: Option<bool>,
    },
}

fn report_text(found: Option<bool>) -> &'static str {
    match found {
        None => "doesn't exist: validate first",
        Some(true) => "has no fault to repair",
        Some(false) => "has faults: repair them first",
    }
}

impl Progress {
    /// A run that has just been created.
    pub fn new(workflow: &Workflow, advance: Advance) -> Self {
        Self { state: workflow.first(), advance, activity: Activity::Idle, report: None, attempts: BTreeMap::new() }
    }

    /// Whether something runs now.
    pub fn is_active(&self) -> bool {
        matches!(self.activity, Activity::Running(_))
    }
}

/// The states that allow `command`, in the order of the table.
pub fn allowed(workflow: &Workflow, command: Command) -> Vec<&'static str> {
    let is_allowed = |state: &State| match command {
        Command::Resume | Command::Cancel | Command::Finished(_) => !state.role.is_end(),
        Command::Validate => state.accepts_validation,
        Command::FixNext => matches!(state.role, Role::Check { .. }),
        Command::Publish => matches!(state.role, Role::Ready { .. }),
    };
    workflow.states.iter().filter(|state| is_allowed(state)).map(|state| state.name).collect()
}

/// Applies `command` to a run.
///
/// # Errors
/// If the run can't carry it out. Then nothing changes.
pub fn apply(workflow: &'static Workflow, progress: &Progress, command: Command) -> Result<Outcome, Refusal> {
    let mut run = Run { workflow, progress: progress.clone(), actions: Vec::new() };
    match command {
        Command::Resume => run.resume()?,
        Command::Validate => run.validate()?,
        Command::FixNext => run.fix_next()?,
        Command::Publish => run.publish()?,
        Command::Cancel => run.cancel()?,
        Command::Finished(result) => run.finished(result)?,
    }
    Ok(Outcome { progress: run.progress, actions: run.actions })
}

/// A run while a command is applied to it.
struct Run {
    workflow: &'static Workflow,
    progress: Progress,
    actions: Vec<Action>,
}

impl Run {
    fn resume(&mut self) -> Result<(), Refusal> {
        if self.progress.state.role.is_end() {
            return Err(self.illegal(Command::Resume));
        }
        match self.progress.activity {
            Activity::Running(_) => {}
            Activity::Interrupted(work) => self.begin(work),
            Activity::Idle => match self.progress.state.role {
                Role::Boundary { next } => self.enter(next),
                Role::Check { next, .. } if self.progress.report == Some(true) => self.enter(next),
                Role::Check { .. } if self.progress.report.is_some() => {}
                Role::Ready { .. } => {}
                _ => self.go_on(),
            },
        }
        Ok(())
    }

    fn validate(&mut self) -> Result<(), Refusal> {
        let state = self.progress.state;
        if !state.accepts_validation {
            return Err(self.illegal(Command::Validate));
        }
        let check = match state.role {
            Role::Check { stage, .. } => Some(stage),
            Role::Ready { check, .. } => self.workflow.state(check).and_then(|check| check.role.stage()),
            // The way of the run leads to a check anyway.
            _ => None,
        };
        match (self.progress.activity, check) {
            (Activity::Running(work), Some(check)) if work.stage != check => Err(self.busy(work)),
            (Activity::Running(_), _) => Ok(()),
            (Activity::Interrupted(work), None) => {
                self.begin(work);
                Ok(())
            }
            // Also after an interrupted check: what it has found may be older than the call.
            (_, Some(check)) => {
                self.begin_new(check);
                Ok(())
            }
            (Activity::Idle, None) => {
                self.go_on();
                Ok(())
            }
        }
    }

    fn fix_next(&mut self) -> Result<(), Refusal> {
        match (self.progress.state.role, self.progress.activity) {
            (Role::Repair { .. }, Activity::Running(_)) => Ok(()),
            (Role::Repair { .. }, Activity::Interrupted(work)) => {
                self.begin(work);
                Ok(())
            }
            // A crash came before the first work item of the repair.
            (Role::Repair { .. }, Activity::Idle) => {
                self.go_on();
                Ok(())
            }
            (Role::Check { .. }, Activity::Running(work)) => Err(self.busy(work)),
            (Role::Check { repair, .. }, _) if self.progress.report == Some(false) => {
                self.enter(repair);
                Ok(())
            }
            (Role::Check { .. }, _) => Err(self.wrong_report()),
            _ => Err(self.illegal(Command::FixNext)),
        }
    }

    fn publish(&mut self) -> Result<(), Refusal> {
        let Role::Ready { stage, .. } = self.progress.state.role else { return Err(self.illegal(Command::Publish)) };
        match self.progress.activity {
            Activity::Running(work) if work.stage == stage => Ok(()),
            Activity::Running(work) => Err(self.busy(work)),
            _ if self.progress.report != Some(true) => Err(self.wrong_report()),
            Activity::Interrupted(work) if work.stage == stage => {
                self.begin(work);
                Ok(())
            }
            _ => {
                self.begin_new(stage);
                Ok(())
            }
        }
    }

    fn cancel(&mut self) -> Result<(), Refusal> {
        match self.progress.state.role {
            Role::Cancelled => Ok(()),
            role if role.is_end() => Err(self.illegal(Command::Cancel)),
            _ => {
                self.end(Role::Cancelled);
                Ok(())
            }
        }
    }

    fn finished(&mut self, result: StageResult) -> Result<(), Refusal> {
        // A result that comes after the end, or of work that was stopped, doesn't count.
        let Activity::Running(work) = self.progress.activity else {
            return Err(self.illegal(Command::Finished(result)));
        };
        self.progress.activity = Activity::Idle;
        match (self.progress.state.role, result) {
            (_, StageResult::Failed) => self.end(Role::Failed),
            (Role::Step { next, .. }, StageResult::Done) => self.enter(next),
            (Role::Repair { check, .. }, StageResult::Done) => {
                self.progress.report = None;
                self.enter(check);
            }
            (Role::Repair { check, .. }, StageResult::Unchanged) => self.enter(check),
            (Role::Check { next, .. }, StageResult::Report { ok }) => {
                self.progress.report = Some(ok);
                if ok && self.progress.advance == Advance::Auto {
                    self.enter(next);
                }
            }
            (Role::Ready { check, .. }, StageResult::Report { ok }) => {
                self.progress.report = Some(ok);
                if !ok {
                    self.enter(check);
                }
            }
            (Role::Ready { stage, next, .. }, StageResult::Done) if work.stage == stage => self.enter(next),
            (Role::Check { .. } | Role::Ready { .. }, StageResult::Unchanged) => {}
            // The code of a stage has returned a result that doesn't belong to its role.
            _ => self.end(Role::Failed),
        }
        Ok(())
    }

    /// Enters `name` and goes on from there as far as the run does by itself.
    fn enter(&mut self, name: &'static str) {
        let Some(state) = self.workflow.state(name) else { return };
        self.progress.state = state;
        self.progress.activity = Activity::Idle;
        self.actions.push(Action::Enter(name));
        let waits = self.progress.advance == Advance::Step && state.is_stable;
        match state.role {
            Role::Boundary { next } if !waits => self.enter(next),
            Role::Published { next } => self.enter(next),
            Role::Boundary { .. } => {}
            Role::Check { .. } if self.progress.report.is_some() => {}
            _ => self.go_on(),
        }
    }

    /// Begins the stage of the present state, if the run does so by itself.
    fn go_on(&mut self) {
        match self.progress.state.role {
            Role::Step { stage, .. } | Role::Check { stage, .. } | Role::Repair { stage, .. } => self.begin_new(stage),
            Role::Published { next } | Role::Boundary { next } => self.enter(next),
            Role::Ready { .. } | Role::Done | Role::Failed | Role::Cancelled => {}
        }
    }

    fn begin_new(&mut self, stage: &'static str) {
        let attempt = self.progress.attempts.entry(stage).or_default();
        *attempt += 1;
        let work = Work { stage, attempt: *attempt };
        self.begin(work);
    }

    fn begin(&mut self, work: Work) {
        self.progress.activity = Activity::Running(work);
        self.actions.push(Action::Begin(work));
    }

    fn end(&mut self, role: Role) {
        if let Activity::Running(work) | Activity::Interrupted(work) = self.progress.activity {
            self.actions.push(Action::Stop(work));
        }
        self.progress.activity = Activity::Idle;
        if let Some(state) = self.workflow.find(|found| found == role) {
            self.progress.state = state;
            self.actions.push(Action::Enter(state.name));
        }
    }

    fn illegal(&self, command: Command) -> Refusal {
        Refusal::State { state: self.progress.state.name, allowed: allowed(self.workflow, command) }
    }

    fn busy(&self, work: Work) -> Refusal {
        Refusal::Busy { state: self.progress.state.name, stage: work.stage }
    }

    fn wrong_report(&self) -> Refusal {
        Refusal::Report { state: self.progress.state.name, found: self.progress.report }
    }
}

#[cfg(test)]
mod tests;
