//! A finished call as one line of the log, JSON or text.
//!
//! Invariant: a line contains the call's record and nothing else.

use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::record::{CallRecord, Outcome};
use codeyard_base::clock::utc;
use codeyard_model::error::ErrorCode;

/// The target under which calls are logged, for filters.
pub const CALL_TARGET: &str = "codeyard::call";

/// The format of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFormat {
    /// Text for people.
    Text,
    /// One JSON object.
    Json,
}

#[derive(Serialize)]
struct CallLine<'a> {
    timestamp: &'a str,
    level: &'static str,
    target: &'static str,
    message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span_id: Option<String>,
    principal: String,
    workspace: Option<&'a str>,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a str>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    queue_ms: f64,
    wait_ms: f64,
    server_ms: f64,
    total_ms: f64,
    bytes: usize,
    items: Option<usize>,
    cache_hit: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    freshness: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completeness: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_ms: Option<f64>,
}

/// Whether a call is logged as a warning: codeyard or a language server caused its failure.
pub(super) fn is_warning(record: &CallRecord) -> bool {
    record.outcome == Outcome::Failed(ErrorCode::Internal)
}

/// Writes the line of a call that ended at `at`.
pub(super) fn write(record: &CallRecord, at: SystemTime, format: LineFormat, into: &mut Vec<u8>) {
    let timestamp = timestamp(at);
    let (outcome, code) = match record.outcome {
        Outcome::Ok => ("ok", None),
        Outcome::Failed(code) => ("error", Some(code.as_str())),
        Outcome::Cancelled => ("cancelled", None),
    };
    let workspace = record.workspace_name();
    let line = CallLine {
        timestamp: &timestamp,
        level: if is_warning(record) { "WARN" } else { "INFO" },
        target: CALL_TARGET,
        message: "call",
        trace_id: record.trace_id.map(|id| id.to_string()),
        span_id: record.span_id.map(|id| id.to_string()),
        principal: record.principal.to_string(),
        workspace: workspace.as_deref(),
        tool: &record.tool,
        operation: record.operation,
        run_id: record.run.as_deref(),
        outcome,
        code,
        reason: record.reason,
        queue_ms: ms(record.queue),
        wait_ms: ms(record.wait),
        server_ms: ms(record.server),
        total_ms: ms(record.total),
        bytes: record.bytes,
        items: record.items,
        cache_hit: record.is_cache_hit(),
        cache: record.cache.map(|cache| cache.as_str()),
        freshness: record.freshness,
        completeness: record.completeness,
        index_ms: (!record.index.is_zero()).then(|| ms(record.index)),
        permission: record.permission.map(|outcome| outcome.as_str()),
        asked_ms: (!record.asked.is_zero()).then(|| ms(record.asked)),
    };
    match format {
        // Writing into memory doesn't fail.
        LineFormat::Json => drop(serde_json::to_writer(&mut *into, &line)),
        LineFormat::Text => drop(text(&line, into)),
    }
    into.push(b'\n');
}

fn text(line: &CallLine<'_>, into: &mut Vec<u8>) -> std::io::Result<()> {
    write!(into, "{} {:>5} {}: {} {}", line.timestamp, line.level, line.target, line.tool, line.outcome)?;
    for word in [line.code, line.reason].into_iter().flatten() {
        write!(into, " {word}")?;
    }
    let workspace = line.workspace.unwrap_or("-");
    write!(into, " workspace={workspace} principal={} total_ms={}", line.principal, line.total_ms)?;
    write!(into, " queue_ms={} wait_ms={} server_ms={}", line.queue_ms, line.wait_ms, line.server_ms)?;
    write!(into, " bytes={}", line.bytes)?;
    if let Some(items) = line.items {
        write!(into, " items={items}")?;
    }
    if let Some(cache) = line.cache {
        write!(into, " cache={cache}")?;
    }
    for (name, word) in [("freshness", line.freshness), ("completeness", line.completeness)] {
        if let Some(word) = word {
            write!(into, " {name}={word}")?;
        }
    }
    if let Some(index) = line.index_ms {
        write!(into, " index_ms={index}")?;
    }
    if let Some(permission) = line.permission {
        write!(into, " permission={permission}")?;
    }
    if let Some(asked) = line.asked_ms {
        write!(into, " asked_ms={asked}")?;
    }
    if let Some(trace) = &line.trace_id {
        write!(into, " trace_id={trace}")?;
    }
    Ok(())
}

/// Milliseconds with three decimals.
fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// UTC, `2026-11-21T19:33:29.123456Z`.
fn timestamp(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut text = utc(since.as_secs());
    text.truncate(text.len() - 1);
    // Writing into memory doesn't fail.
    _ = write!(text, ".{:06}Z", since.subsec_micros());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        let at = |seconds: u64, micros: u64| {
            timestamp(UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_micros(micros))
        };
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(at(951_782_399, 999_999), "2000-02-28T23:59:59.999999Z");
        assert_eq!(at(951_782_400, 0), "2000-02-29T00:00:00.000000Z");
        assert_eq!(at(1_709_164_800, 1), "2024-02-29T00:00:00.000001Z");
        assert_eq!(at(1_795_289_609, 5), "2026-11-21T19:33:29.000005Z");
        assert_eq!(at(4_107_542_399, 0), "2100-02-28T23:59:59.000000Z");
        assert_eq!(at(4_107_542_400, 0), "2100-03-01T00:00:00.000000Z");
    }

    #[test]
    fn milliseconds_have_three_decimals() {
        assert_eq!(ms(Duration::from_nanos(1_234_567)), 1.235);
        assert_eq!(ms(Duration::ZERO), 0.0);
    }
}
