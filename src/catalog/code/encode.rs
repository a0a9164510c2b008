//! Encodes answers and errors as tool results.
//!
//! Invariants: a payload never exceeds [`MAX_CODE_PAYLOAD_BYTES`], a reply never its cap; rows and symbols that don't fit are omitted from the
//! end, `result_completeness` is `truncated`, and the answer says how to get them; ranking reasons belong to the rows in the answer.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::EncodedReply;
use crate::dialect::error_reply;
use crate::fit::{Room, longest};
use crate::limits::{MAX_ERROR_DATA_BYTES, MAX_ERROR_MESSAGE_CHARS};
use codeyard_base::budget::to_json_bounded;
use codeyard_model::answer::Answer;
use codeyard_model::code::{
    AnswerMetadata, CodeAnswer, CodeRefusal, Completeness, DetailLevel, GroupJobs, GroupStatus, HealthReport,
    IndexStatus, NextAction, Outline, OutlineDepth, OutlineSymbol, ResultRow, ResultRows, ResultType,
};
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits::MAX_CODE_PAYLOAD_BYTES;
use codeyard_model::next_steps::with_next_steps;

use super::shape::{self, ActionShape, MetadataShape};
use super::{group, sentence, state};

/// The name of the payload's cap in `safety_limit_applied`.
const PAYLOAD_LIMIT: &str = "payload_bytes";
/// The fewest bytes of an outline's symbol.
const LEAST_SYMBOL_BYTES: usize = 48;

/// Encodes the outcome of a call as at most `cap` bytes of JSON.
pub(super) fn encode(result: Result<&Answer, &ToolError>, cap: usize) -> EncodedReply {
    let answer = match result {
        Ok(Answer::Code(CodeAnswer::Refused(refusal))) => return refused(refusal, refusal.code.tool_code(), cap),
        Ok(Answer::Code(answer)) => answer,
        // This catalog decodes no other query.
        Ok(_) => return refused(&sentence::refusal(&ToolError::internal()), ErrorCode::Internal, cap),
        Err(error) => return refused(&sentence::refusal(error), error.code, cap),
    };
    match success(answer, cap) {
        Some(bytes) => EncodedReply::Result(bytes),
        None => refused(&sentence::nothing_fits(cap), ErrorCode::CapExceeded, cap),
    }
}

fn success(answer: &CodeAnswer, cap: usize) -> Option<Vec<u8>> {
    let room = |bytes: Option<usize>| Room {
        payload: bytes.unwrap_or(MAX_CODE_PAYLOAD_BYTES).min(MAX_CODE_PAYLOAD_BYTES),
        reply: cap,
    };
    match answer {
        CodeAnswer::Rows(found) => rows(found, room(found.asked.payload_bytes)),
        CodeAnswer::Outline(found) => outline(found, room(found.asked.payload_bytes)),
        CodeAnswer::Health(found) => health(found, room(None)),
        CodeAnswer::Job(begun) => room(None).result(&state::job(begun), false),
        CodeAnswer::Status(found) => status(found, room(None)),
        CodeAnswer::Jobs(begun) => jobs(begun, room(None)),
        CodeAnswer::Statuses(found) => statuses(found, room(None)),
        // Handled by the caller.
        CodeAnswer::Refused(_) => None,
    }
}

#[derive(Serialize)]
struct RowsShape<'a> {
    results: &'a [Box<RawValue>],
    #[serde(skip_serializing_if = "Option::is_none")]
    query_intent: Option<&'static str>,
    total_candidates: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggested_next_actions: Option<Vec<ActionShape<'a>>>,
    metadata: MetadataShape<'a>,
}

fn rows(found: &ResultRows, room: Room) -> Option<Vec<u8>> {
    let shown = written(found, room.payload);
    let Some(first) = found.rows.first() else { return frame(found, &[], None, room) };
    // An answer with rows has at least one row, shortened if necessary.
    longest(1, shown.len(), |count| frame(found, &shown[..count], None, room)).or_else(|| shortened(found, first, room))
}

/// The JSON of the first rows, as many as can fit into `payload` bytes.
fn written(found: &ResultRows, payload: usize) -> Vec<Box<RawValue>> {
    let mut left = payload;
    let mut shown = Vec::new();
    for row in &found.rows {
        let Some(json) = raw(&shape::row(row, found.detail, found.compact), left) else { break };
        left = left.saturating_sub(json.get().len());
        shown.push(json);
    }
    shown
}

fn raw<T: Serialize>(value: &T, cap: usize) -> Option<Box<RawValue>> {
    let json = to_json_bounded(value, cap).ok()?;
    RawValue::from_string(String::from_utf8(json).ok()?).ok()
}

/// The answer with the rows `shown`, the first of `found`.
fn frame(found: &ResultRows, shown: &[Box<RawValue>], warning: Option<String>, room: Room) -> Option<Vec<u8>> {
    let is_search = found.intent.is_some();
    let mut metadata = found.metadata.clone();
    let mut narrower = None;
    if shown.len() < found.rows.len() {
        truncate(&mut metadata);
        narrower = sentence::narrower(found, shown.len()).filter(|_| is_search);
        if narrower.is_none() {
            metadata.warnings.push(sentence::rows_left_out(found, shown.len()));
        }
    }
    if let Some(warning) = warning {
        truncate(&mut metadata);
        metadata.warnings.push(warning);
    }
    metadata.warnings.sort_unstable();
    // A suggestion with an offset would skip the omitted rows.
    let skips = |next: &&NextAction| narrower.is_some() && next.arguments.get("offset").is_some();
    let next = found.next.iter().filter(|next| !skips(next));
    let actions = || narrower.iter().chain(next).map(shape::action).collect();
    let payload = RowsShape {
        results: shown,
        query_intent: found.intent.map(|intent| intent.as_str()),
        total_candidates: found.total,
        suggested_next_actions: is_search.then(actions),
        metadata: shape::metadata(&metadata, shown.len()),
    };
    room.result(&payload, false)
}

fn truncate(metadata: &mut AnswerMetadata) {
    metadata.completeness = Completeness::Truncated;
    metadata.safety_limit.get_or_insert(PAYLOAD_LIMIT);
}

/// The answer with a shortened first row, which doesn't fit as a whole: without context and, if it is a line, truncated.
fn shortened(found: &ResultRows, first: &ResultRow, room: Room) -> Option<Vec<u8>> {
    if first.result_type != ResultType::Line {
        let bare = raw(&shape::row(first, DetailLevel::Location, true), room.payload)?;
        let warning = "The first row is shown without its details: they don't fit into the answer.";
        return frame(found, &[bare], Some(warning.to_owned()), room);
    }
    let text = first.text.as_deref().unwrap_or_default();
    longest(0, text.len().min(room.payload), |bytes| {
        let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        let cut = &text[..end];
        let line = raw(&shape::line(first, cut, true), room.payload)?;
        let warning = format!(
            "Of the first line {} of {} bytes are shown: the rest, and the lines around it, don't fit into the answer.",
            cut.len(),
            text.len()
        );
        frame(found, &[line], Some(warning), room)
    })
}

fn outline(found: &Outline, room: Room) -> Option<Vec<u8>> {
    let is_top = found.depth == OutlineDepth::Top;
    let total = if is_top { found.symbols.len() } else { count(&found.symbols) };
    longest(0, total.min(room.payload / LEAST_SYMBOL_BYTES), |most| {
        let shown = shape::first_symbols(found, most);
        let mut metadata = found.metadata.clone();
        if shown.count < total {
            truncate(&mut metadata);
            metadata.warnings.push(sentence::symbols_left_out(shown.count, total, shown.last_line, is_top));
            metadata.warnings.sort_unstable();
        }
        let mut metadata = shape::metadata(&metadata, 0);
        metadata.symbol_count = Some(total);
        room.result(&shape::outline(found, &shown.symbols, metadata), false)
    })
}

/// The number of symbols on all levels.
fn count(symbols: &[OutlineSymbol]) -> usize {
    let mut levels = vec![symbols];
    let mut count = 0;
    while let Some(symbols) = levels.pop() {
        count += symbols.len();
        levels.extend(symbols.iter().map(|symbol| &*symbol.children));
    }
    count
}

fn health(found: &HealthReport, room: Room) -> Option<Vec<u8>> {
    let all = found.projects.len();
    longest(0, all, |shown| {
        let metadata = cut_metadata(&state::health_metadata(found), "projects", shown, all);
        room.result(&state::health(found, shown, &metadata), false)
    })
}

fn status(found: &IndexStatus, room: Room) -> Option<Vec<u8>> {
    let all = found.recent_jobs.len();
    longest(0, all, |shown| {
        let metadata = cut_metadata(&found.metadata, "recent jobs", shown, all);
        room.result(&state::status(found, shown, &metadata), false)
    })
}

fn jobs(begun: &GroupJobs, room: Room) -> Option<Vec<u8>> {
    let all = begun.jobs.len();
    longest(0, all, |shown| {
        let metadata = cut_metadata(&begun.metadata, "jobs", shown, all);
        room.result(&group::jobs(begun, shown, &metadata), false)
    })
}

fn statuses(found: &GroupStatus, room: Room) -> Option<Vec<u8>> {
    let all = found.workspaces.len();
    longest(0, all, |shown| {
        let metadata = cut_metadata(&found.metadata, "workspaces", shown, all);
        room.result(&group::statuses(found, shown, &metadata), false)
    })
}

/// The metadata of an answer that has `shown` of `all` entries.
fn cut_metadata(metadata: &AnswerMetadata, what: &str, shown: usize, all: usize) -> AnswerMetadata {
    let mut metadata = metadata.clone();
    if shown < all {
        truncate(&mut metadata);
        metadata.warnings.push(sentence::list_cut(what, shown, all));
        metadata.warnings.sort_unstable();
    }
    metadata
}

#[derive(Serialize)]
struct RefusalShape<'a> {
    error: ErrorShape<'a>,
    metadata: MetadataShape<'a>,
}

#[derive(Serialize)]
struct ErrorShape<'a> {
    code: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
}

/// Encodes an error as a tool result: without its data if they are too large, and as a JSON-RPC error if that exceeds the cap, too.
fn refused(refusal: &CodeRefusal, tool_code: ErrorCode, cap: usize) -> EncodedReply {
    let no_details = Map::new();
    let details = refusal.data.as_object().unwrap_or(&no_details);
    let message = with_next_steps(&refusal.message, details, MAX_ERROR_MESSAGE_CHARS);
    let room = Room { payload: cap, reply: cap };
    let data = Some(&refusal.data).filter(|data| !data.is_null());
    let data = data.filter(|data| to_json_bounded(data, MAX_ERROR_DATA_BYTES).is_ok());
    let bare = AnswerMetadata::default();
    let result =
        [(data, &refusal.metadata), (None, &refusal.metadata), (None, &bare)].into_iter().find_map(|(data, beside)| {
            let error = ErrorShape { code: refusal.code.as_str(), message: &message, data };
            room.result(&RefusalShape { error, metadata: shape::metadata(beside, 0) }, true)
        });
    match result {
        Some(result) => EncodedReply::Refusal { result, tool_code },
        None => error_reply(&ToolError::new(tool_code, message), cap),
    }
}
