//! What ignore rules cost in memory, and the budget that the rules of one root share.
//!
//! It reads no file. Invariant: what a directory's rules take is given back when they are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits::MAX_IGNORE_TOTAL_COST;

/// The cost of a byte of a pattern that is compiled to an automaton, against a byte of a plain name. Measured with the crate `ignore` 0.4:
/// about 120 bytes of memory for each byte of a plain name, and 700 to 1,400 for each byte of such a pattern.
const GLOB_COST: u64 = 8;

/// The cost of the rules of many directories that are kept at the same time.
#[derive(Debug, Clone, Default)]
pub(crate) struct RulesBudget(Arc<AtomicU64>);

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct CostShare {
    budget: RulesBudget,
    cost: u64,
}

impl CostShare {
    /// Takes `cost` from the budget; `None`: that much isn't left.
    pub(crate) fn take(budget: &RulesBudget, cost: u64) -> Option<Self> {
        let add = |used: u64| used.checked_add(cost).filter(|used| *used <= MAX_IGNORE_TOTAL_COST);
        budget.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok()?;
        Some(Self { budget: budget.clone(), cost })
    }
}

impl Drop for CostShare {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.cost, Ordering::Relaxed);
    }
}

/// The cost of a line: its bytes, and several times as much for a pattern that is compiled to an automaton.
pub(crate) fn cost_of(line: &str) -> u64 {
    let line = line.trim_end();
    if line.is_empty() || line.starts_with('#') {
        return 0;
    }
    // `*.o` is looked up by its extension.
    let simple = line.strip_prefix("**/").unwrap_or(line);
    let simple = simple.strip_prefix("*.").unwrap_or(simple);
    let is_glob = simple.contains(['*', '?', '[', '{']);
    line.len() as u64 * if is_glob { GLOB_COST } else { 1 }
}
