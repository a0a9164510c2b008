//! The raw answers of all providers of one query, before they are made canonical.

use std::collections::BTreeSet;

use crate::status::server_state::Unavailable;
use codeyard_base::ids::ServerKind;
use codeyard_model::error::ToolError;

/// Raw answers of all providers that gave one, in the registry's order.
pub(crate) struct Collected<A> {
    /// The answers.
    pub answers: Vec<A>,
    /// Who gave the answer, where one server's counts.
    pub answered_by: Option<ServerKind>,
    /// Who gave none, and why.
    pub passed_over: Vec<Unavailable>,
    /// Whether somebody gave none only because time ran out.
    pub is_partial: bool,
    /// Whether a server named as many as it ever does, and may know of more.
    pub is_cut: bool,
    /// Languages for which somebody who answered stands in.
    pub by_name: BTreeSet<String>,
    /// The call's error if nothing is found: those who answered can't say that there is nothing.
    pub if_nothing: Option<ToolError>,
}

impl<A> Collected<A> {
    /// All that there will be.
    pub(crate) fn whole(answers: Vec<A>, passed_over: Vec<Unavailable>) -> Self {
        let by_name = BTreeSet::new();
        Self { answers, answered_by: None, passed_over, is_partial: false, is_cut: false, by_name, if_nothing: None }
    }
}
