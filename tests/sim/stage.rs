//! What the parts of one simulated world share: files, chance, the transcript, what was covered, what went wrong.
//!
//! One lock around all of it; it is held for no longer than a look or a note takes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use codeyard_base::digest::sha256hex;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::dice::Dice;
use crate::profile::Profile;
use crate::site::Site;

/// Everybody's hold on the stage.
pub(crate) type Shared = Arc<Mutex<Stage>>;

/// What a world does wrong on purpose, to prove that it would be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sabotage {
    Nothing,
    /// Servers don't hear of changes: as if they weren't told.
    DeafToChanges,
    /// Servers index without saying so: as if what they say of it were ignored.
    QuietIndexing,
    /// Every answer comes twice.
    DoubleAnswers,
    /// Requests stay open at the servers: as if cancellations weren't sent.
    DeafToCancels,
    /// Answers come late: as if deadlines weren't kept.
    LateAnswers,
}

/// One life of a fake server.
#[derive(Debug)]
pub(crate) struct Life {
    /// Workspace and kind.
    pub label: String,
    /// Project folder below the root, and which life of the workspace's configuration it belongs to.
    pub folder: String,
    pub era: String,
    pub began: Instant,
    pub ended: Option<Instant>,
    /// It was asked to shut down.
    pub stopping: bool,
    /// It neither reads nor writes any more.
    pub silent: bool,
    /// Our own code panicked when it was started.
    pub panicked: bool,
    /// Methods it said that it doesn't have after all.
    pub unable: BTreeSet<String>,
    /// It has been initialised.
    pub up: bool,
    /// It has been through with indexing at least once.
    pub has_read: bool,
    /// Requests without an answer, by id.
    pub open: BTreeMap<u64, String>,
}

/// See the module.
pub(crate) struct Stage {
    pub sites: Vec<Site>,
    pub profile: Profile,
    /// Chance of the servers' faults.
    pub dice: Dice,
    /// Servers behave well from now on.
    pub healthy: bool,
    pub sabotage: Sabotage,
    /// Kinds whose programs aren't there at the moment.
    pub missing: BTreeSet<String>,
    pub lives: Vec<Life>,
    /// Requests that servers received, by workspace, method and parameters.
    pub requests: BTreeMap<String, u64>,
    pub seen: BTreeMap<String, u64>,
    pub wrong: Vec<String>,
    transcript: Vec<String>,
    began: Instant,
    base: String,
}

impl Stage {
    /// An empty stage; `base` is the text that differs between two runs of one seed.
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

    /// Notes an event in the transcript.
    pub(crate) fn note(&mut self, event: impl AsRef<str>) {
        let at = self.began.elapsed();
        let text = event.as_ref().replace(&self.base, "<base>");
        self.transcript.push(format!("{:>12.3} {text}", at.as_secs_f64() * 1000.0));
    }

    /// Notes that something was covered.
    pub(crate) fn cover(&mut self, what: impl Into<String>) {
        *self.seen.entry(what.into()).or_default() += 1;
    }

    /// Something that must never be.
    pub(crate) fn wrong(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.note(format!("WRONG {what}"));
        self.wrong.push(what.replace(&self.base, "<base>"));
    }

    /// A short digest of a message, the same in each run.
    pub(crate) fn digest(&self, value: &Value) -> String {
        let text = value.to_string().replace(&self.base, "<base>");
        sha256hex(text)[..10].to_owned()
    }

    /// The transcript so far.
    pub(crate) fn transcript(&self) -> &[String] {
        &self.transcript
    }

    /// The folder that everything of this world is in.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// The site of a workspace.
    pub(crate) fn site(&mut self, workspace: usize) -> &mut Site {
        &mut self.sites[workspace]
    }
}

/// The number in a workspace's name.
pub(crate) fn number_of(name: &str) -> usize {
    name.trim_start_matches('w').chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}
