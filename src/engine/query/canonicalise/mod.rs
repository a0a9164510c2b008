//! Makes the raw answers of the providers one canonical result, through the gate. Each file in it is observed on disk.
//!
//! It blocks, so it runs on the blocking pool, in one piece for each query, unless the operation touches no file
//! ([`QueryOperation::IN_MEMORY`]). `operations` has the step of each operation.

pub(crate) mod context;
mod linked_names;

use self::context::{CanonicalContext, GateRecorder};
use crate::query::collected::Collected;
use crate::query::file_looks::ObservedFile;
use crate::query::query_operation::QueryOperation;
use crate::query::row_order;
use crate::status::server_state::Unavailable;
use codeyard_files::gate::Gate;
use codeyard_model::answer::AnswerNotes;
use codeyard_model::coverage::{AnswerCoverage, AnswerScope};
use codeyard_model::error::ToolError;
use codeyard_model::limits::Limits;
use codeyard_model::position::Location;
use codeyard_model::query::GatedQuery;
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::CanonicalResult;

/// A canonical result, and the files that it names.
pub(crate) struct Canonicalised {
    /// The result.
    pub result: CanonicalResult,
    /// The observation of each file in it.
    pub observed: Vec<(CanonicalUri, ObservedFile)>,
    /// Files that the gate left out because they lie outside the roots.
    pub outside: usize,
    /// Where the symbol of the query is declared, if that is known.
    pub declared: Vec<Location>,
}

/// Gates, normalises, sorts, deduplicates and caps the answers to `query`, and puts the rows into the order of its pages. `source_files` is
/// the number of files that the providers serve, and `scope` what the answer stands on.
///
/// # Errors
/// CAP_EXCEEDED.
pub(crate) fn canonicalise<O: QueryOperation>(
    operation: &O,
    query: &GatedQuery,
    gate: &Gate,
    limits: &Limits,
    collected: Collected<O::Answer>,
    source_files: usize,
    scope: AnswerScope,
) -> Result<Canonicalised, ToolError> {
    // A language without any server is not a failure.
    let named = collected.skipped.iter().filter(|unavailable| !unavailable.kind.is_empty());
    let mut skipped_providers: Vec<String> = named.map(Unavailable::to_note).collect();
    skipped_providers.sort_unstable();
    skipped_providers.dedup();
    let notes = AnswerNotes {
        skipped_providers,
        is_partial: collected.is_partial,
        may_improve: collected.skipped.iter().any(Unavailable::may_pass),
        truncated: collected.is_cut,
        by_name: collected.by_name.into_iter().collect(),
        known_files: AnswerCoverage::new(collected.known_files, scope),
        ..AnswerNotes::default()
    };
    let recorder = GateRecorder::of_query(gate, query.uri());
    let answered_by = collected.answered_by;
    let (declared, calls_in) = Default::default();
    let mut context = CanonicalContext { gate, recorder, limits, notes, answered_by, source_files, declared, calls_in };
    let mut result = operation.canonicalise(collected.answers, &mut context)?;
    row_order::apply(&mut result, query, &context.declared);
    let CanonicalContext { recorder, declared, .. } = context;
    Ok(Canonicalised { result, observed: recorder.observed, outside: recorder.outside, declared })
}
