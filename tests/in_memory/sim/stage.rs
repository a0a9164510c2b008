//! State shared by the parts of one simulated world: files, random numbers, transcript, coverage, failures.
//!
//! One lock protects all of it and is held only for short accesses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use codeyard_base::digest::sha256hex;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::sim::dice::Dice;
use crate::sim::profile::Profile;
use crate::sim::site::Site;

pub(crate) type Shared = Arc<Mutex<Stage>>;

/// Intentional defects of a world; the checks must detect each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sabotage {
    Nothing,
    /// Servers ignore changes, as if none were sent.
    DeafToChanges,
    /// Servers index without progress reports, as if the reports were ignored.
    QuietIndexing,
    /// Every answer is sent twice.
    DoubleAnswers,
    /// Servers ignore cancellations, as if none were sent.
    DeafToCancels,
    /// Answers are late, as if there were no deadlines.
    LateAnswers,
}

/// One incarnation of a fake server.
#[derive(Debug)]
pub(crate) struct Life {
    /// Workspace and kind.
    pub label: String,
    /// Project folder relative to the root, and the generation of the workspace's configuration.
    pub folder: String,
    pub era: String,
    pub began: Instant,
    pub ended: Option<Instant>,
    /// It received `shutdown`.
    pub stopping: bool,
    /// It stopped reading and writing.
    pub silent: bool,
    /// Starting it panicked in the test's code.
    pub panicked: bool,
    /// It was killed, and not by codeyard.
    pub killed_outside: bool,
    /// Methods that it answered with "method not found".
    pub unable: BTreeSet<String>,
    pub up: bool,
    /// It has finished indexing at least once.
    pub has_read: bool,
    /// Requests without an answer, by id.
    pub open: BTreeMap<u64, String>,
}

/// Shared state of one world.
pub(crate) struct Stage {
    pub sites: Vec<Site>,
    pub profile: Profile,
    /// Random numbers for server faults.
    pub dice: Dice,
    /// Servers have no further faults.
    pub healthy: bool,
    pub sabotage: Sabotage,
    /// Kinds whose programs are missing at the moment.
    pub missing: BTreeSet<String>,
    pub lives: Vec<Life>,
    /// Number of requests that servers received, by workspace, method and parameters.
    pub requests: BTreeMap<String, u64>,
    pub seen: BTreeMap<String, u64>,
    pub wrong: Vec<String>,
    transcript: Vec<String>,
    began: Instant,
    base: String,
}

impl Stage {
    /// An empty stage; `base` is the path that differs between two runs of one seed.
    pub(crate) fn new(seed: u64, profile: Profile, base: String) -> Self {
        Self {
            sites: vec![],
            profile,
            dice: Dice::new(seed, 2),
            healthy: false,
            sabotage: Sabotage::Nothing,
            missing: BTreeSet::new(),
            lives: vec![],
            requests: BTreeMap::new(),
            seen: BTreeMap::new(),
            wrong: vec![],
            transcript: vec![],
            began: Instant::now(),
            base,
        }
    }

    /// Adds an event to the transcript.
    pub(crate) fn note(&mut self, event: impl AsRef<str>) {
        let at = self.began.elapsed();
        let text = event.as_ref().replace(&self.base, "<base>");
        self.transcript.push(format!("{:>12.3} {text}", at.as_secs_f64() * 1000.0));
    }

    /// Counts a covered event.
    pub(crate) fn cover(&mut self, what: impl Into<String>) {
        *self.seen.entry(what.into()).or_default() += 1;
    }

    /// Records a violated invariant.
    pub(crate) fn wrong(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.note(format!("WRONG {what}"));
        self.wrong.push(what.replace(&self.base, "<base>"));
    }

    /// A short digest of a message, equal in every run.
    pub(crate) fn digest(&self, value: &Value) -> String {
        let text = value.to_string().replace(&self.base, "<base>");
        sha256hex(text)[..10].to_owned()
    }

    pub(crate) fn transcript(&self) -> &[String] {
        &self.transcript
    }

    /// Folder of this world.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn site(&mut self, workspace: usize) -> &mut Site {
        &mut self.sites[workspace]
    }
}

/// The number in a workspace's name.
pub(crate) fn number_of(name: &str) -> usize {
    name.trim_start_matches('w').chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}
