//! Encodes answers and errors of launch runs as tool results.
//!
//! Invariants: a reply never exceeds its cap; a part of an artifact in UTF-8 ends at a character; a list that was cut says how long it is.

use serde_json::{Map, Value, json};

use crate::EncodedReply;
use crate::dialect::error_reply;
use crate::fit::{Room, longest};
use crate::limits::{MAX_ERROR_DATA_BYTES, MAX_ERROR_MESSAGE_CHARS};
use codeyard_base::base64_text::encode as base64;
use codeyard_base::budget::to_json_bounded;
use codeyard_model::answer::Answer;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::launch::{ArtifactPart, LaunchAnswer, LaunchRefusal};
use codeyard_model::next_steps::with_next_steps;

/// Encodes the outcome of a call as at most `cap` bytes of JSON.
pub(super) fn encode(result: Result<&Answer, &ToolError>, cap: usize) -> EncodedReply {
    let room = Room { payload: cap, reply: cap };
    let answer = match result {
        Ok(Answer::Launch(answer)) => answer,
        // This catalog decodes no other query.
        Ok(_) => return refused(&refusal_of(&ToolError::internal()), room),
        Err(error) => return refused_as(&refusal_of(error), error.code, room),
    };
    let encoded = match answer {
        LaunchAnswer::Object(object) => room.result(&ok(object.clone()), false),
        LaunchAnswer::WithList { object, list, total } => with_list(object, list, total, room),
        LaunchAnswer::Artifact(part) => artifact(part, room),
        LaunchAnswer::Refused(refusal) => return refused(refusal, room),
    };
    match encoded {
        Some(bytes) => EncodedReply::Result(bytes),
        None => {
            let message =
                "the answer is larger than the server's limit (limits.max_response_bytes); raise it, or ask for less";
            refused(&LaunchRefusal::new("INTERNAL", message).with("cause_class", "response_too_large"), room)
        }
    }
}

/// `object` with `ok: true`.
fn ok(object: Map<String, Value>) -> Map<String, Value> {
    std::iter::once(("ok".to_owned(), Value::Bool(true))).chain(object).collect()
}

fn with_list(object: &Map<String, Value>, list: &[&str], total: &str, room: Room) -> Option<Vec<u8>> {
    let whole = Value::Object(ok(object.clone()));
    let length = list.iter().fold(&whole, |value, member| &value[*member]).as_array().map_or(0, Vec::len);
    longest(0, length, |count| {
        let mut cut = whole.clone();
        if count < length {
            let (last, above) = list.split_last()?;
            let around = above.iter().fold(&mut cut, |value, member| &mut value[*member]);
            around[*last].as_array_mut()?.truncate(count);
            around[total] = length.into();
            // The next page of runs begins after the last one that is shown.
            if let ("runs", Some(run_id)) = (*last, count.checked_sub(1).map(|at| around[*last][at]["run_id"].clone()))
            {
                around["next_cursor"] = run_id;
            }
        }
        room.result(&cut, false)
    })
}

/// The longest part from the offset that fits.
fn artifact(part: &ArtifactPart, room: Room) -> Option<Vec<u8>> {
    let from = usize::try_from(part.offset).unwrap_or(usize::MAX).min(part.content.len());
    let rest = &part.content[from..];
    let asked = part.length.map_or(rest.len(), |length| usize::try_from(length).unwrap_or(usize::MAX).min(rest.len()));
    let text = std::str::from_utf8(&part.content).ok().filter(|text| text.is_char_boundary(from));
    let shape = |count: usize| {
        let (content, content_type) = match text {
            Some(text) => (text[from..from + count].to_owned(), part.content_type.to_owned()),
            None => (base64(&rest[..count]), format!("{};base64", part.content_type)),
        };
        let mut artifact = json!({
            "name": part.name, "content_type": content_type, "sha256": part.sha256, "content": content,
        });
        if from > 0 || count < rest.len() {
            (artifact["offset"], artifact["bytes_total"]) = (from.into(), part.content.len().into());
        }
        if count < rest.len() {
            artifact["next_offset"] = (from + count).into();
        }
        json!({"ok": true, "run_id": part.run_id, "artifact": artifact})
    };
    let end_of = |count: usize| match text {
        Some(text) => (0..=count).rev().find(|count| text.is_char_boundary(from + count)).unwrap_or_default(),
        None => count,
    };
    let made = longest(1.min(asked), asked, |count| {
        let count = end_of(count);
        room.result(&shape(count), false).map(|bytes| (count, bytes))
    });
    // A part without a byte would be asked for again and again.
    made.filter(|(count, _)| *count > 0 || rest.is_empty() || asked == 0).map(|(_, bytes)| bytes)
}

/// The error of a call that the gateway refuses, in this catalog's shape.
fn refusal_of(error: &ToolError) -> LaunchRefusal {
    let reason = error.details.get("reason").and_then(Value::as_str);
    let (code, cause) = match error.code {
        ErrorCode::InvalidParams => ("INVALID_INPUT", None),
        ErrorCode::WorkspaceDenied => ("INVALID_INPUT", Some("denied")),
        ErrorCode::CapExceeded if reason == Some("request_too_large") => ("INVALID_INPUT", None),
        ErrorCode::CapExceeded => ("INTERNAL", Some(reason.unwrap_or("limit"))),
        ErrorCode::ProviderUnavailable => ("INTERNAL", Some(reason.unwrap_or("unavailable"))),
        _ => ("INTERNAL", Some("defect")),
    };
    let mut refusal = LaunchRefusal::new(code, error.message.clone());
    refusal.retryable = error.details.contains_key("retryAfterMs");
    refusal.details = error.details.clone();
    if let Some(cause) = cause {
        let key = if code == "INTERNAL" { "cause_class" } else { "reason" };
        refusal.details.entry(key).or_insert_with(|| cause.into());
    }
    refusal
}

fn refused(refusal: &LaunchRefusal, room: Room) -> EncodedReply {
    let code = match refusal.code {
        "RUN_NOT_FOUND" | "REPO_NOT_FOUND" => ErrorCode::NotFound,
        "TOOLCHAIN_MISSING" | "COMMIT_SERVICE_ERROR" => ErrorCode::ProviderUnavailable,
        "FIX_EXHAUSTED" => ErrorCode::CapExceeded,
        "INTERNAL" | "CANCELLED" => ErrorCode::Internal,
        _ => ErrorCode::InvalidParams,
    };
    refused_as(refusal, code, room)
}

fn refused_as(refusal: &LaunchRefusal, tool_code: ErrorCode, room: Room) -> EncodedReply {
    let message = with_next_steps(&refusal.message, &refusal.details, MAX_ERROR_MESSAGE_CHARS);
    let result = [fitting_details(&refusal.details), Map::new()].into_iter().find_map(|details| {
        let mut shape = Map::from_iter([("ok".to_owned(), Value::Bool(false))]);
        shape.extend(refusal.run_id.iter().map(|run_id| ("run_id".to_owned(), run_id.as_str().into())));
        let error =
            json!({"code": refusal.code, "message": message, "retryable": refusal.retryable, "details": details});
        shape.insert("error".to_owned(), error);
        room.result(&shape, true)
    });
    match result {
        Some(result) => EncodedReply::Refusal { result, tool_code },
        None => error_reply(&ToolError::new(tool_code, message), room.reply),
    }
}

/// The details within their limit. What is long is cut: first the failure of the run, which its status has too, then lists, with their lengths as
/// `NAME_total`.
fn fitting_details(details: &Map<String, Value>) -> Map<String, Value> {
    let fits = |details: &Map<String, Value>| to_json_bounded(details, MAX_ERROR_DATA_BYTES).is_ok();
    let mut kept = details.clone();
    if !fits(&kept) {
        kept.remove("failure");
    }
    let lists: Vec<String> = kept.iter().filter(|(_, value)| value.is_array()).map(|(key, _)| key.clone()).collect();
    for key in lists {
        let length = kept[&key].as_array().map_or(0, Vec::len);
        if fits(&kept) {
            break;
        }
        kept.insert(format!("{key}_total"), length.into());
        let cut = longest(0, length, |count| {
            let mut cut = kept.clone();
            cut[&key].as_array_mut()?.truncate(count);
            fits(&cut).then_some(cut)
        });
        kept = cut.unwrap_or_else(|| {
            kept[&key] = Value::Array(Vec::new());
            kept
        });
    }
    if !fits(&kept) {
        kept.retain(|key, value| matches!(key.as_str(), "reason" | "cause_class" | "state") || value.is_number());
    }
    kept
}
