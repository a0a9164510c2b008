//! Reads the ignore files of one directory within the bounds of their size and cost.
//!
//! It doesn't decide which rules win. Invariant: only regular files are read, and no link is followed.

use std::borrow::Cow;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::gate::{ReadFailure, RootReader};
use crate::git_patterns::pattern_of;
use crate::ignore_cost::{CostShare, RulesBudget, cost_of};

/// Largest ignore file that is read, in bytes.
const MAX_IGNORE_FILE_BYTES: u64 = 1024 * 1024;
/// Longest line of an ignore file that counts, in bytes.
const MAX_IGNORE_LINE_BYTES: usize = 4_096;
/// Cost of the ignore rules of a directory and all above it: bytes of plain names, and eight times the bytes of patterns that are compiled
/// to an automaton. The rules of a file that goes beyond it don't apply.
const MAX_IGNORE_COST: u64 = 256 * 1024;

/// The file whose lines are read as ripgrep reads them; those of all others as git does.
const RIPGREP_FILE: &str = ".ignore";

/// Reads the ignore files of one directory within the bounds.
pub(crate) struct RuleReader {
    /// An ignore file wasn't read, or some of its lines weren't.
    pub is_incomplete: bool,
    /// The cost of the rules read so far and of all above them.
    pub chain_cost: u64,
    /// What all rules that are kept together take from.
    pub budget: RulesBudget,
    /// What the rules read so far take from it.
    pub shares: Vec<CostShare>,
}

impl RuleReader {
    /// A reader below rules of this cost.
    pub(crate) fn new(chain_cost: u64, budget: RulesBudget) -> Self {
        Self { is_incomplete: false, chain_cost, budget, shares: Vec::new() }
    }

    /// The rules in the file `name` below `folder`, which apply to paths below `dir`.
    pub(crate) fn read(&mut self, dir: &Path, folder: &Path, name: &str) -> Gitignore {
        let mut bytes = Vec::new();
        match RootReader::open(folder).read(Path::new(name), MAX_IGNORE_FILE_BYTES, &mut bytes) {
            // ripgrep reads `.ignore` in its own dialect.
            Ok(_) => self.build(dir, &String::from_utf8_lossy(&bytes), name != RIPGREP_FILE),
            Err(ReadFailure::Missing) => Gitignore::empty(),
            Err(ReadFailure::TooLarge(_) | ReadFailure::Busy | ReadFailure::Failed) => self.give_up(),
        }
    }

    fn build(&mut self, dir: &Path, text: &str, is_of_git: bool) -> Gitignore {
        let all = text.trim_start_matches('\u{feff}').lines();
        let lines: Vec<Cow<'_, str>> = all
            .filter(|line| line.len() <= MAX_IGNORE_LINE_BYTES)
            .filter_map(|line| if is_of_git { pattern_of(line).map(Cow::Owned) } else { Some(Cow::Borrowed(line)) })
            .collect();
        self.is_incomplete |= text.lines().any(|line| line.len() > MAX_IGNORE_LINE_BYTES);
        let cost = lines.iter().map(|line| cost_of(line)).sum::<u64>();
        if self.chain_cost + cost > MAX_IGNORE_COST {
            return self.give_up();
        }
        let Some(share) = CostShare::take(&self.budget, cost) else { return self.give_up() };
        let mut builder = GitignoreBuilder::new(dir);
        for line in lines {
            // An invalid line is skipped, as in git.
            let _ = builder.add_line(None, &line);
        }
        let Ok(built) = builder.build() else { return self.give_up() };
        self.chain_cost += cost;
        self.shares.push(share);
        built
    }

    fn give_up(&mut self) -> Gitignore {
        self.is_incomplete = true;
        Gitignore::empty()
    }
}
