//! Lets a language model word the prose of a page that templates have written.
//!
//! The template's page is the skeleton: front matter, headings, tables, code and links stay, and so does each block for which the model has nothing
//! that is proven. Invariants: a model that fails costs its wording and never the run; equal answers give equal bytes; no key, prompt or text of the
//! service is in an event. Source: `docs/internals/reference/contract-launch.md#writers`.

mod candidates;
mod endpoint;

use std::collections::{BTreeMap, BTreeSet};

use codeyard_runs::event::EventType;
use codeyard_runs::stage::{StageError, StopFlag};
use serde_json::{Value, json};

use crate::artifacts::facts::Claim;
use crate::artifacts::page_draft::PageDraft;
use crate::artifacts::page_plan::PlannedPage;
use crate::http_client::Waits;
use crate::markdown::front_matter;
use crate::markdown::page_blocks::blocks;
use crate::publication::PublicationSettings;
use crate::request::run_config::Writer;
use crate::writing::section_writer::WriterInput;
use candidates::{Candidate, Proofs, Reworded, candidates, reworded};
use endpoint::{Answer, Endpoint, ask};

/// Blocks and claims of a page that a language model is shown, in bytes; further blocks stay as they are.
const MAX_PROMPT_BYTES: usize = 64 * 1024;

/// Begins the text of a block in an answer, before its number.
const BLOCK_MARK: &str = "[[block:";
/// What the model is told to do.
const INSTRUCTIONS: &str = include_str!("../../../config/templates/launch/writer_instructions.txt");
/// The number that models with a seed begin with.
const SEED: u32 = 1;

/// Makes a call's events durable.
pub type Emit<'e> = &'e dyn Fn(EventType, Value) -> Result<(), StageError>;

struct Call<'c> {
    page: &'c PlannedPage,
    input: &'c WriterInput<'c>,
    model: &'c str,
    emit: Emit<'c>,
}

/// What became of the blocks of an answer.
#[derive(Default)]
struct Outcome {
    kept: BTreeMap<usize, Reworded>,
    refused: BTreeMap<&'static str, usize>,
}

/// The page `draft` with the prose of the model that the run's configuration names; as it is if templates write, if nothing can be reworded, or
/// if the call fails.
///
/// # Errors
/// `INVALID_INPUT` if the operator doesn't list the service or its key isn't set; `CANCELLED`; what `emit` fails with.
pub fn rewrite(
    page: &PlannedPage,
    input: &WriterInput<'_>,
    draft: PageDraft,
    settings: &PublicationSettings,
    emit: Emit<'_>,
    stop: &StopFlag,
) -> Result<PageDraft, StageError> {
    rewrite_with(page, input, draft, settings, emit, stop, Waits::default())
}

fn rewrite_with(
    page: &PlannedPage,
    input: &WriterInput<'_>,
    draft: PageDraft,
    settings: &PublicationSettings,
    emit: Emit<'_>,
    stop: &StopFlag,
    waits: Waits,
) -> Result<PageDraft, StageError> {
    let Writer::Openai { base_url, model, api_key_env } = &input.config.writer else { return Ok(draft) };
    let key = settings.token(base_url, api_key_env.as_deref(), "INVALID_INPUT")?;
    let Ok(split) = front_matter::split(&draft.text) else { return Ok(draft) };
    let body = split.body;
    let found = candidates(body, &draft.claims.blocks, input.evidence, input.config.allow_inference);
    let offered = fitting(found, input);
    if offered.is_empty() {
        return Ok(draft);
    }
    let call = Call { page, input, model, emit };
    let endpoint = Endpoint { base_url, key: key.as_deref(), request_limit: settings.request_limit, waits };
    let Some(answer) = call.answer(&endpoint, &offered, stop)? else { return Ok(draft) };
    let outcome = call.outcome(&offered, &answer.text, answer.is_cut);
    let head = draft.text.len() - body.len();
    let new = assembled(&draft, head, &offered, &outcome.kept);
    let kept = if new.is_some() { outcome.kept.len() } else { 0 };
    emit(
        EventType::LlmCallFinished,
        json!({
            "page": page.id, "model": model, "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.completion_tokens, "blocks_offered": offered.len(), "blocks_kept": kept,
            "blocks_refused": outcome.refused, "outcome": if kept > 0 { "rewritten" } else { "unchanged" },
        }),
    )?;
    Ok(new.unwrap_or(draft))
}

/// The candidates that a prompt has room for, with their claims. The first ones go first.
fn fitting(found: Vec<Candidate>, input: &WriterInput<'_>) -> Vec<Candidate> {
    let mut shown: BTreeSet<String> = BTreeSet::new();
    let mut room = MAX_PROMPT_BYTES;
    let mut fits = |candidate: &Candidate| {
        let new: Vec<&String> = candidate.claims.difference(&shown).collect();
        let claims = new.iter().filter_map(|id| input.evidence.claims.get(*id));
        let claims: usize =
            claims.map(|claim| claim.text.len() + places(claim).iter().map(String::len).sum::<usize>()).sum();
        let needed = candidate.text.len() + candidate.heading.len() + claims;
        let new: Vec<String> = new.into_iter().cloned().collect();
        let rest = room.checked_sub(needed);
        if let Some(rest) = rest {
            room = rest;
            shown.extend(new);
        }
        rest.is_some()
    };
    found.into_iter().filter(|candidate| fits(candidate)).collect()
}

/// The lines that prove a claim.
fn places(claim: &Claim) -> Vec<String> {
    let place = |place: &crate::artifacts::facts::Evidence| {
        format!("{}, lines {} to {}", place.path, place.line_start, place.line_end)
    };
    claim.evidence.iter().map(place).collect()
}

/// The claims of blocks.
fn shown(offered: &[Candidate]) -> BTreeSet<String> {
    offered.iter().flat_map(|candidate| candidate.claims.iter().cloned()).collect()
}

impl Call<'_> {
    /// The model's answer; `None` if there is none that can be used.
    fn answer(
        &self,
        endpoint: &Endpoint<'_>,
        offered: &[Candidate],
        stop: &StopFlag,
    ) -> Result<Option<Answer>, StageError> {
        let started = json!({"page": self.page.id, "model": self.model, "blocks_offered": offered.len()});
        (self.emit)(EventType::LlmCallStarted, started)?;
        let (answer, requests) = ask(endpoint, &self.request(offered), stop);
        let failure = match answer {
            // A service that repeats its key would have it published.
            Ok(answer) if endpoint.key.is_some_and(|key| answer.text.contains(key)) => ("holds_key", None),
            Ok(answer) if !answer.text.contains(BLOCK_MARK) => ("unusable_answer", None),
            Ok(answer) => return Ok(Some(answer)),
            Err(failure) => (failure.reason, failure.status),
        };
        let (reason, status) = failure;
        let failed = json!({
            "page": self.page.id, "model": self.model, "outcome": "failed", "reason": reason, "http_status": status,
            "requests": requests,
        });
        let emitted = (self.emit)(EventType::LlmCallFailed, failed);
        // A run that ends may take no events any more.
        if reason == "cancelled" { Err(StageError::cancelled()) } else { emitted.map(|()| None) }
    }

    fn request(&self, offered: &[Candidate]) -> Value {
        let claims: BTreeMap<String, Value> = shown(offered)
            .into_iter()
            .filter_map(|id| {
                let claim = self.input.evidence.claims.get(&id)?;
                let shown = json!({"text": claim.text, "source": places(claim)});
                Some((id, shown))
            })
            .collect();
        let block = |(number, candidate): (usize, &Candidate)| {
            json!({
                "block": number, "kind": if candidate.marker.is_empty() { "paragraph" } else { "list item" },
                "heading": candidate.heading, "text": candidate.text, "claims": candidate.claims,
            })
        };
        let task = json!({
            "language": self.page.locale, "product": self.input.facts.product_name, "platform": self.input.facts.target_platform,
            "page": self.page.title, "section": self.page.section, "claims": claims,
            "blocks": (1..).zip(offered).map(block).collect::<Vec<_>>(),
        });
        json!({
            "model": self.model, "temperature": 0, "seed": SEED, "stream": false,
            "messages": [
                {"role": "system", "content": INSTRUCTIONS.trim()},
                {"role": "user", "content": task.to_string()},
            ],
        })
    }

    /// Which blocks of an answer are kept.
    fn outcome(&self, offered: &[Candidate], answer: &str, is_cut: bool) -> Outcome {
        let shown = shown(offered);
        let facts = self.input.facts;
        let proofs = Proofs {
            evidence: self.input.evidence,
            known_names: [&facts.product_name, &facts.target_platform],
            locale: &self.page.locale,
            shown: &shown,
        };
        let mut outcome = Outcome::default();
        for (number, texts) in written_blocks(answer, is_cut) {
            let candidate = number.checked_sub(1).and_then(|place| offered.get(place));
            let checked = match (candidate, texts.as_slice()) {
                (None, _) => Err("unknown_block"),
                (Some(candidate), [text]) => reworded(candidate, text, &proofs).map(|block| (candidate.block, block)),
                (Some(_), _) => Err("repeated"),
            };
            match checked {
                Ok((place, block)) => drop(outcome.kept.insert(place, block)),
                Err(reason) => *outcome.refused.entry(reason).or_default() += 1,
            }
        }
        outcome
    }
}

/// The texts of an answer by the number of their block. What stands before the first mark, or can be cut off, isn't among them.
fn written_blocks(answer: &str, is_cut: bool) -> BTreeMap<usize, Vec<&str>> {
    // Some models think aloud first.
    let answer = answer.rsplit_once("</think>").map_or(answer, |(_, said)| said);
    let mut parts: Vec<&str> = answer.split(BLOCK_MARK).skip(1).collect();
    if is_cut {
        parts.pop();
    }
    let mut written: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (number, text) in parts.into_iter().filter_map(|part| part.split_once("]]")) {
        written.entry(number.trim().parse().unwrap_or_default()).or_default().push(text.trim());
    }
    written
}

/// The page with the blocks that are kept; `None` if it would have other blocks than these and the template's.
fn assembled(
    draft: &PageDraft,
    head: usize,
    offered: &[Candidate],
    kept: &BTreeMap<usize, Reworded>,
) -> Option<PageDraft> {
    let mut new = draft.clone();
    for candidate in offered.iter().rev() {
        if let Some(block) = kept.get(&candidate.block) {
            let range = head + candidate.range.start..head + candidate.range.end;
            new.text.replace_range(range, &block.source);
            *new.claims.blocks.get_mut(candidate.block)? = block.claimed.clone();
        }
    }
    let found = blocks(&new.text[head..], 1).into_iter().map(|block| block.sha256);
    let is_whole = found.eq(new.claims.blocks.iter().map(|block| block.sha256.clone()));
    is_whole.then_some(new)
}

#[cfg(test)]
mod tests;
