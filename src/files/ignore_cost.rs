//! What ignore rules cost in memory, and the budget that the rules of one root share.
//!
//! It reads no file. Invariant: what a directory's rules take is given back when they are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The same cost for all directories of a root whose rules are kept at the same time.
const MAX_IGNORE_TOTAL_COST: u64 = 1024 * 1024;

/// The cost of a byte of a pattern that is compiled to an automaton, against a byte of a plain name. Measured with the crate `ignore` 0.4:
/// about 120 bytes of memory for each byte of a plain name, and 700 to 1,400 for each byte of such a pattern.
const GLOB_COST: u64 = 8;

/// The cost of any rule besides that of its bytes, and of one that is compiled to an automaton: a rule of one byte takes a few hundred
/// bytes, and the least automaton about 4 KiB.
const RULE_COST: u64 = 8;
const AUTOMATON_COST: u64 = 40;

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

/// The cost of a line: that of a rule and of its bytes, and several times as much for a pattern that is compiled to an automaton.
pub(crate) fn cost_of(line: &str) -> u64 {
    let line = line.trim_end();
    if line.is_empty() || line.starts_with('#') {
        return 0;
    }
    // `*.o` is looked up by its extension.
    let simple = line.strip_prefix("**/").unwrap_or(line);
    let simple = simple.strip_prefix("*.").unwrap_or(simple);
    // A rule without a name matches every folder, by an automaton.
    let is_nameless = simple.trim_matches(['!', '/', '\\']).is_empty();
    if is_nameless || simple.contains(['*', '?', '[', '{']) {
        return AUTOMATON_COST + GLOB_COST * line.len() as u64;
    }
    RULE_COST + line.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_without_a_name_cost_as_much_as_the_automaton_that_they_become() {
        assert_eq!((cost_of(""), cost_of("# a comment"), cost_of("target")), (0, 0, 14));
        assert_eq!((cost_of("*.o"), cost_of("a*")), (11, 56));
        for nameless in ["!", "/", "**/", "!/", "\\"] {
            assert!(cost_of(nameless) > 40, "{nameless}");
        }
    }
}
