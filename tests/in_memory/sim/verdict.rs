//! Checks an answer: in time, within the byte cap, only about the workspace's files, and correct.

use std::time::Duration;

use codeyard_gateway::service::ToolReply;
use codeyard_model::error::ErrorCode;
use codeyard_model::limits;
use codeyard_model::operation::Operation;
use codeyard_test_support::page_text::page_text;
use serde_json::Value;

use crate::sim::call::{Bad, Call, Chain, Done, Page, entries, error_in, error_of, offset_of};
use crate::sim::language::{Asked, Tree, lint, project_of, said, truth, truths};
use crate::sim::profile::Diagnosing;
use crate::sim::stage::Stage;

/// Tolerance after the deadline, in ms.
const GRACE_MS: u64 = 10;

/// Events in the world that explain an error.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known {
    /// Something panicked during the call, or the workspace was removed.
    pub upset: bool,
    /// The workspace was configured when the call started.
    pub configured: bool,
    /// Hundreds of other calls were running when it started.
    pub crowded: bool,
}

/// Data of an accepted answer.
pub(crate) struct Judged {
    /// Text for the transcript.
    pub said: String,
    /// Cursor of the next page.
    pub chain: Option<Chain>,
    pub ok: bool,
}

/// Checks one answer and records failures on the stage.
pub(crate) fn judge(stage: &mut Stage, call: &Call, done: &Done, known: Known) -> Judged {
    let took = done.at.saturating_duration_since(call.began);
    if took > Duration::from_millis(call.limits.timeout_ms + GRACE_MS) {
        stage.wrong(format!("call {} took {} ms", call.number, took.as_millis()));
    }
    let bytes = match &done.reply {
        ToolReply::Result(bytes) | ToolReply::InputRequired(bytes) | ToolReply::Refusal { result: bytes, .. } => {
            bytes.clone()
        }
        ToolReply::Error { data, .. } => data.clone().unwrap_or_default(),
    };
    if bytes.len() > call.limits.response_bytes - codeyard_gateway::limits::RESPONSE_ENVELOPE_BYTES {
        stage.wrong(format!("call {} was answered with {} bytes", call.number, bytes.len()));
    }
    outside(stage, call, &String::from_utf8_lossy(&bytes));
    match &done.reply {
        ToolReply::Result(_) => {
            let whole: Value = serde_json::from_slice(&bytes).unwrap();
            if error_in(&whole).is_some() {
                stage.wrong(format!("call {} failed, and its reply doesn't say so: {whole}", call.number));
            }
            answered(stage, call, done, &whole)
        }
        ToolReply::Refusal { .. } => {
            let whole: Value = serde_json::from_slice(&bytes).unwrap();
            if whole["content"][0]["text"].as_str().is_none_or(|text| text.contains("No results")) {
                stage.wrong(format!("call {} failed but reports an empty result: {whole}", call.number));
            }
            let (code, details) = error_in(&whole).expect("a refusal names its code");
            failed(stage, call, done, known, code, details)
        }
        ToolReply::Error { .. } => {
            let (code, details) = error_of(&bytes);
            failed(stage, call, done, known, code, details)
        }
        // No call of a simulation is one of the stateless revision.
        ToolReply::InputRequired(_) => unreachable!(),
    }
}

/// The bytes contain no path outside the workspace.
fn outside(stage: &mut Stage, call: &Call, text: &str) {
    let base = stage.base().to_owned();
    let own = format!("/w{}/", call.workspace);
    let foreign = text.match_indices(&base).any(|(at, _)| !text[at + base.len()..].starts_with(&own));
    if foreign || text.contains("/etc/") || text.contains("secret") {
        stage.wrong(format!("call {} was answered with a path outside the roots: {text}", call.number));
    }
}

fn answered(stage: &mut Stage, call: &Call, done: &Done, whole: &Value) -> Judged {
    let payload = &whole["structuredContent"];
    stage.cover(format!("ok: {}", call.tool));
    if call.bad.is_some() {
        stage.wrong(format!("call {} was answered although {:?}", call.number, call.bad));
    }
    let given = match entries(&stage.sites[call.workspace], &call.asked, payload) {
        Ok(given) => given,
        Err(why) => {
            stage.wrong(format!("call {}: {why}", call.number));
            vec![]
        }
    };
    let is_lsp = matches!(call.asked, Asked::Lsp(_));
    let beside = if is_lsp { &payload["metadata"] } else { payload };
    if is_lsp {
        lsp_says(stage, call, whole, &given);
    }
    let next = beside["nextCursor"].as_str().map(str::to_owned);
    let said = format!(
        "{} entries, next {:?}: {} ({})",
        given.len(),
        next.as_deref().map(offset_of),
        given.join(", "),
        payload["summary"].as_str().unwrap_or(&beside["passedOver"].to_string())
    );
    let summary = payload["summary"].as_str().unwrap_or_default();
    let is_in_part = summary.contains("Passed over") || others_than_linters(beside).next().is_some();
    let (offset, before) = match &call.page {
        Page::First => (0, vec![]),
        Page::Next(chain) => (chain.so_far.len(), chain.so_far.clone()),
        Page::Moved(_, offset) => (*offset, vec![]),
        Page::Foreign(cursor) | Page::Forged(cursor) => {
            stage.wrong(format!("call {} was answered with cursor {cursor}", call.number));
            (0, vec![])
        }
    };
    let size = call.size.min(call.limits.page_cap);
    let fits = |stage: &Stage, version: usize| {
        let tree = stage.sites[call.workspace].tree_at(version);
        if call.asked == Asked::WorkspaceDiagnostics {
            let whole = next.is_none() && offset == 0 && !summary.contains("Passed over");
            return workspace_findings_fit(stage, call, tree, &given, summary, whole);
        }
        let all = truths(tree, &call.asked);
        if all.is_empty() {
            // Without a word at the position a server may still find something, and all of it may be outside the roots.
            return is_lsp && given.is_empty() && beside["outside"].as_u64() > Some(0);
        }
        let fits = |mut all: Vec<String>| {
            if is_in_part {
                // A partial answer is marked; its entries are correct nevertheless.
                return given.iter().all(|entry| all.contains(entry));
            }
            if !crate::sim::call::is_paged(&call.asked) {
                all.truncate(call.limits.list_cap);
                return all == given;
            }
            // A page of the tool `lsp` may be shorter because its text is limited.
            let size = if is_lsp && offset < all.len() { given.len().clamp(1, call.limits.page_cap) } else { size };
            let page: Vec<String> = all.iter().skip(offset).take(size).cloned().collect();
            let chained = before.is_empty() || all.starts_with(&before);
            page == given && chained && next.is_some() == (offset + size < all.len())
        };
        all.into_iter().any(fits)
    };
    declaration_first(stage, call, offset, &given);
    if !(call.from..=done.until).any(|version| fits(stage, version)) {
        let tree = stage.sites[call.workspace].tree();
        let present = match &call.asked {
            Asked::WorkspaceDiagnostics => {
                Some(unfit_files(stage, call, &tree, &given, is_exact(call).then_some(summary)))
            }
            asked => truth(&tree, asked),
        };
        stage.wrong(format!(
            "call {} {:?} {:?} is answered by what was never true from version {} to {}: {given:?}, but now {present:?}",
            call.number, call.asked, call.page, call.from, done.until
        ));
    }
    if next.is_none() && matches!(call.page, Page::Next(_)) {
        stage.cover("pages: to the end");
    }
    let so_far = before.into_iter().chain(given).collect();
    let is_chain = !matches!(call.page, Page::Moved(..));
    let chain = next.filter(|_| is_chain).map(|cursor| Chain {
        workspace: call.workspace,
        asked: call.asked.clone(),
        so_far,
        cursor,
    });
    Judged { said, chain, ok: true }
}

/// Notes an answer whose first entries are definitions from elsewhere.
fn declaration_first(stage: &mut Stage, call: &Call, offset: usize, given: &[String]) {
    let Asked::Lsp(lsp) = &call.asked else { return };
    let is_elsewhere = |first: &String| !first.starts_with(&format!("{}:", lsp.file));
    let has_own = given.iter().skip(1).any(|entry| entry.starts_with(&format!("{}:", lsp.file)));
    if lsp.operation == Operation::FindReferences && offset == 0 && has_own && given.first().is_some_and(is_elsewhere) {
        stage.cover("lsp: declaration first");
    }
}

/// Servers other than linters that did not contribute to an answer of the tool `lsp`.
fn others_than_linters(metadata: &Value) -> impl Iterator<Item = &str> {
    let all = metadata["passedOver"].as_array().into_iter().flatten().filter_map(Value::as_str);
    all.filter(|one| !one.starts_with("lint: "))
}

/// The text of an answer of the tool `lsp` is its result, or states that there is none, which requires that all servers answered.
fn lsp_says(stage: &mut Stage, call: &Call, whole: &Value, given: &[String]) {
    let metadata = &whole["structuredContent"]["metadata"];
    let text = whole["content"][0]["text"].as_str().unwrap_or_default();
    let is_left_behind = |one: &&str| ["starting", "indexing", "timeout"].iter().any(|reason| one.ends_with(reason));
    if let Some(who) = others_than_linters(metadata).find(is_left_behind) {
        stage.wrong(format!("call {} is answered without {who}", call.number));
    }
    let is_nothing = given.is_empty() && metadata["total"].as_u64().unwrap_or_default() == 0;
    let fits = match is_nothing {
        true => text.starts_with("No results found for "),
        // Sentences stand above and below the JSON, and in the hint.
        false => {
            let (list, sentences) = page_text(text, metadata["nextCursor"].is_string());
            let is_hint = sentences == metadata["hint"].as_str().unwrap_or_default();
            is_hint && serde_json::from_str::<Value>(list).is_ok_and(|said| said == metadata["result"])
        }
    };
    if !fits {
        stage.wrong(format!("call {} {:?} says {text}", call.number, call.asked));
    }
    if is_nothing {
        stage.cover("lsp: nothing found");
    }
    if !metadata["passedOver"].is_null() {
        stage.cover("lsp: somebody named");
    }
}

/// Workspace diagnostics contain the files that servers reported; each list was correct at some time, and if the
/// server reports on the whole project, it is correct now. `whole`: the answer is marked complete.
fn workspace_findings_fit(
    stage: &Stage,
    call: &Call,
    tree: &Tree,
    given: &[String],
    summary: &str,
    whole: bool,
) -> bool {
    let exact = is_exact(call);
    unfit_files(stage, call, tree, given, exact.then_some(summary)).is_empty()
        && !(exact && whole && some_missing(stage, call, tree, given))
}

/// Whether the primary servers support reports on their whole projects.
fn is_exact(call: &Call) -> bool {
    call.limits.diagnosing == Diagnosing::Pulled && call.limits.reports_workspace
}

/// Whether a summary lists the server of a file as unanswered.
fn is_passed_over(summary: &str, name: &str) -> bool {
    let (_, passed) = summary.split_once("Passed over ").unwrap_or_default();
    kinds_of(name).iter().any(|kind| passed.contains(&format!("{kind}: ")))
}

/// Whether a server of a file that ran after the call began answered that project reports aren't implemented.
fn is_unable(stage: &Stage, call: &Call, name: &str) -> bool {
    let labels = kinds_of(name).map(|kind| format!("w{}/{kind}", call.workspace));
    let ran = stage.lives.iter().filter(|life| life.ended.is_none_or(|ended| ended >= call.began));
    let mut own = ran.filter(|life| labels.contains(&life.label));
    own.any(|life| {
        ["workspace/diagnostic", "textDocument/diagnostic"].iter().any(|method| life.unable.contains(*method))
    })
}

/// The primary servers of a file.
fn kinds_of(name: &str) -> [&'static str; 2] {
    if name.ends_with(".other") { ["second", "second"] } else { ["first", "spare"] }
}

/// Whether the answer lacks a file with diagnostics although its server reports on the whole project.
fn some_missing(stage: &Stage, call: &Call, tree: &Tree, given: &[String]) -> bool {
    let is_there = |name: &str| given.iter().any(|entry| entry.split('|').next() == Some(name));
    let has_findings = |name: &str| !project_of(tree, name).findings(tree, name).is_empty();
    tree.keys().any(|name| has_findings(name) && !is_there(name) && !is_unable(stage, call, name))
}

/// Files with wrong lists. `exact`: the lists must be those of `tree`, except of servers that this summary names
/// as skipped.
fn unfit_files(stage: &Stage, call: &Call, tree: &Tree, given: &[String], exact: Option<&str>) -> Vec<String> {
    let profile = &call.limits;
    let unfit = given.iter().filter(|entry| {
        let mut parts = entry.split('|');
        let name = parts.next().unwrap_or_default();
        let reported: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        let of = |tree: &Tree| -> Vec<String> {
            let all = project_of(tree, name).findings(tree, name);
            all.iter().map(said).collect()
        };
        let linted = |tree: &Tree| -> Vec<String> { lint(tree, name).iter().map(said).collect() };
        let checks: Vec<&str> = reported.iter().copied().filter(|one| one.contains(" check ")).collect();
        let lints: Vec<&str> = reported.iter().copied().filter(|one| one.contains(" lint ")).collect();
        let site = &stage.sites[call.workspace];
        // A list is truncated to the cap: then it is the beginning of the correct list.
        let is_cut = reported.len() >= profile.list_cap;
        let fits =
            |all: &[String], found: &[&str]| all == found || is_cut && all.iter().zip(found).all(|(a, b)| a == b);
        let ever = |want: &dyn Fn(&Tree) -> Vec<String>, found: &[&str]| {
            found.is_empty() || (0..=site.version()).any(|version| fits(&want(site.tree_at(version)), found))
        };
        let checked = match exact.filter(|_| !is_unable(stage, call, name)) {
            Some(summary) => fits(&of(tree), &checks) || checks.is_empty() && is_passed_over(summary, name),
            None => ever(&of, &checks),
        };
        !(checked && ever(&linted, &lints) && checks.len() + lints.len() == reported.len())
    });
    unfit.cloned().collect()
}

fn failed(stage: &mut Stage, call: &Call, done: &Done, known: Known, code: ErrorCode, details: Value) -> Judged {
    let reason = details["reason"].as_str().unwrap_or_default().to_owned();
    stage.cover(format!("code: {}", code.as_str()));
    stage.cover(format!("error: {} {reason}", code.as_str()));
    let took = done.at.saturating_duration_since(call.began).as_millis() as u64;
    let has_cursor = !matches!(call.page, Page::First);
    let versions = call.from..=done.until;
    let trees = || versions.clone().map(|version| stage.sites[call.workspace].tree_at(version));
    let allowed = match code {
        ErrorCode::InvalidParams => call.bad == Some(Bad::Arguments),
        ErrorCode::WorkspaceDenied => matches!(call.bad, Some(Bad::Outside | Bad::Link)) || !known.configured,
        ErrorCode::UriInvalid => call.bad == Some(Bad::Uri),
        ErrorCode::NotFound => call.bad == Some(Bad::Beyond) || trees().any(|tree| truth(tree, &call.asked).is_none()),
        ErrorCode::CursorInvalid => matches!(call.page, Page::Foreign(_) | Page::Forged(_)),
        ErrorCode::CursorStale | ErrorCode::CursorExpired => has_cursor,
        ErrorCode::SnapshotTooLarge => {
            call.limits.snapshot_bytes < limits::MAX_SNAPSHOT_BYTES
                || call.limits.snapshots_bytes < limits::MAX_SNAPSHOTS_TOTAL_BYTES
        }
        ErrorCode::CapExceeded => match reason.as_str() {
            "timeout" => took + 1 >= call.limits.timeout_ms,
            "overloaded" => known.crowded || known.upset,
            "response_too_large" => call.limits.response_bytes < limits::MAX_RESPONSE_BYTES,
            _ => false,
        },
        ErrorCode::ProviderUnavailable => call.bad.is_none() || call.bad == Some(Bad::Beyond),
        ErrorCode::Internal => known.upset,
    };
    if !allowed {
        let page = format!("{:?}", call.page);
        stage.wrong(format!(
            "call {} {:?} {page} bad {:?} must not fail with {} {details} after {took} ms",
            call.number,
            call.asked,
            call.bad,
            code.as_str()
        ));
    }
    Judged { said: format!("{} {details}", code.as_str()), chain: None, ok: false }
}
