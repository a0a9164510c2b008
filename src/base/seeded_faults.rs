//! Deliberate bugs, to test the tests. They exist only with the feature `seeded-faults`, which no package has; without it [`is_on`] is
//! always false and costs nothing.
//!
//! `tests/faults/run` switches on one at a time and expects that the tests fail. Invariants: one process has at most one fault; a name that
//! isn't in [`FAULTS`] ends the process, so no fault is missed by a wrong name.

/// The variable that names the fault.
pub const VARIABLE: &str = "CODEYARD_SEEDED_FAULT";

/// All faults, sorted: the name, and what goes wrong.
pub const FAULTS: &[(&str, &str)] = &[
    ("answer_unsorted", "canonical lists keep the order of the language server"),
    ("answer_with_duplicates", "canonical lists keep equal entries"),
    ("audit_dropped", "calls have no audit lines"),
    ("call_limit_ignored", "a workspace takes any number of calls"),
    ("cancel_unsent", "a dropped request isn't cancelled at the language server"),
    ("cursor_of_another_question", "a cursor is taken by a question that it doesn't belong to"),
    ("deadline_ignored", "a call doesn't end at its deadline"),
    ("deny_allows", "a denied operation is carried out"),
    ("diagnostics_unbounded", "what a language server pushes is kept without a limit"),
    ("edit_applied", "a language server gets the answer that its edit was carried out"),
    ("edit_unseen", "an edit on disk doesn't make answers outdated"),
    ("epochs_not_in_key", "a retained answer has the same key before and after a change"),
    ("escape_kept", "the escape character reaches the terminal"),
    ("frame_of_any_length", "frames of any length are read"),
    ("git_directory_of_others", "a git directory outside the root needn't point back"),
    ("hover_uncut", "hovers of any length are answered"),
    ("host_unchecked", "requests to any host name are served"),
    ("kill_from_outside_is_a_crash", "a language server that was killed counts as crashed"),
    ("ledger_unswept", "children of a killed codeyard are left at the next start"),
    ("links_followed", "a link in a path leads out of the root"),
    ("never_quarantined", "a language server that always crashes is restarted for ever"),
    ("outside_uncounted", "entries outside the roots are left out without a word"),
    ("outdated_result_accepted", "a result is taken although files changed meanwhile"),
    ("overload_unnoticed", "an overloaded language server gets all requests"),
    ("page_overlaps", "a page begins with the last entry of the page before"),
    ("partial_retained", "an incomplete answer is retained"),
    ("positions_unconverted", "columns of a language server are passed on as they are"),
    ("session_of_anyone", "a session may be used with another token"),
    ("snapshot_unexpired", "retained answers don't expire"),
    ("snapshot_uncounted", "retained answers aren't counted"),
    ("special_file_opened", "devices and pipes are opened as documents"),
    ("tenant_unchecked", "a caller sees the workspaces of all tenants"),
    ("unready_asked", "a language server that is still indexing is asked"),
    ("uri_decoded_twice", "escapes of a URI are decoded twice"),
    ("uri_of_any_host", "a file URI may name another host"),
];

/// Whether the fault `name` is switched on.
#[cfg(feature = "seeded-faults")]
pub fn is_on(name: &'static str) -> bool {
    use std::sync::LazyLock;

    static ON: LazyLock<Option<String>> = LazyLock::new(|| {
        let on = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty());
        let is_known = |name: &String| FAULTS.iter().any(|(known, _)| known == name);
        assert!(on.as_ref().is_none_or(is_known), "{VARIABLE} names no fault: {on:?}");
        on
    });
    debug_assert!(FAULTS.iter().any(|(known, _)| *known == name), "{name} isn't in the list");
    ON.as_deref() == Some(name)
}

/// Without the feature no fault is ever on.
#[cfg(not(feature = "seeded-faults"))]
#[inline(always)]
pub const fn is_on(_name: &'static str) -> bool {
    false
}
