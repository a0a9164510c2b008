//! Runs a language's query over a tree, within a work budget.
//!
//! The query cursor counts its work: the nodes that it visits, and at each node the states that are in progress. Three costs aren't in that
//! count. It compares the states with each other, so work that makes nearly no way in the source costs more. At an error node, it looks for
//! each child over all siblings without a name that follow, so these are counted before it runs. And as soon as it has more states than its
//! match limit, it searches all of them at each capture, so it is stopped there.

use tree_sitter::{Node, QueryCursor, QueryCursorOptions, QueryCursorState, StreamingIterator, Tree, ffi};

use super::captures::Captures;
use super::grammar::CompiledGrammar;
use super::work_budget::{CROWDED_QUERY_BYTES, CROWDED_QUERY_UNITS, QUERY_UNITS, WorkBudget};

/// Matches of a query that may be in progress at a time. A source with more is too complex.
const MAX_OPEN_MATCHES: u32 = 4_096;
/// Siblings that the cursor looks over for one unit of work.
const SIBLINGS_PER_UNIT: u64 = 512;

/// A query cursor whose match limit can be checked while it runs.
pub(super) struct QueryRunner {
    cursor: QueryCursor,
    /// The cursor's own pointer, valid as long as the cursor.
    raw: *const ffi::TSQueryCursor,
}

impl QueryRunner {
    pub(super) fn new() -> Self {
        let raw = QueryCursor::new().into_raw();
        // SAFETY: the pointer is the one of a cursor that was just given up, so this cursor is its only owner.
        let mut cursor = unsafe { QueryCursor::from_raw(raw) };
        cursor.set_match_limit(MAX_OPEN_MATCHES);
        Self { cursor, raw }
    }

    /// Collects the captures of a query in a tree. Spends the whole budget if there are too many open matches. The captures aren't
    /// complete if the budget is spent.
    pub(super) fn collect(
        &mut self,
        compiled: &CompiledGrammar,
        tree: &Tree,
        text: &str,
        budget: &WorkBudget,
        captures: &mut Captures,
    ) {
        spend_error_siblings(tree, budget);
        if budget.is_spent() {
            return;
        }
        let raw = self.raw;
        let mut last = None;
        let mut progress = |state: &QueryCursorState| {
            // SAFETY: the cursor outlives this run, and it calls back on this thread between two of its own steps; this reads one flag.
            if unsafe { ffi::ts_query_cursor_did_exceed_match_limit(raw) } {
                budget.exhaust();
            }
            let at = state.current_byte_offset();
            let is_crowded = last.replace(at).is_some_and(|last| at.abs_diff(last) <= CROWDED_QUERY_BYTES);
            budget.spend(if is_crowded { CROWDED_QUERY_UNITS } else { QUERY_UNITS })
        };
        let options = QueryCursorOptions::new().progress_callback(&mut progress);
        let text = |node: Node<'_>| {
            let range = node.byte_range();
            let range = if budget.spend_predicate(range.len()).is_break() { 0..0 } else { range };
            std::iter::once(text.as_bytes().get(range).unwrap_or_default())
        };
        let mut matches = self.cursor.matches_with_options(&compiled.query, tree.root_node(), text, options);
        while let Some(query_match) = matches.next() {
            captures.add_match(query_match, compiled);
        }
    }
}

/// Takes the units for siblings without a name in error nodes. Only an error node has more of them than the rules of a grammar are long.
fn spend_error_siblings(tree: &Tree, budget: &WorkBudget) {
    let mut cursor = tree.walk();
    // For each open node: whether it is an error, and the children without a name that directly precede.
    let mut open: Vec<(bool, u64)> = Vec::new();
    let mut siblings = 0;
    loop {
        let node = cursor.node();
        if let Some((true, unnamed)) = open.last_mut() {
            *unnamed = if node.is_named() { 0 } else { *unnamed + 1 };
            siblings += *unnamed;
            if siblings >= SIBLINGS_PER_UNIT {
                if budget.spend(siblings / SIBLINGS_PER_UNIT).is_break() {
                    return;
                }
                siblings %= SIBLINGS_PER_UNIT;
            }
        }
        if node.has_error() && cursor.goto_first_child() {
            open.push((node.is_error(), 0));
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            open.pop();
        }
    }
}
