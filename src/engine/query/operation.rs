//! An operation of the tool `lsp`, put to all servers of a file or of the workspace at once (decisions §4).
//!
//! Callers and callees take two steps: the functions at the position, then the calls of each. Invariants: the answers keep the
//! servers' order; a server that gives none is named; a linter that lets everybody wait is left behind shortly before the deadline if
//! another server has answered, and the answer says so and isn't kept as a whole one. A language's main server is never left behind:
//! without it the list would be one of which nobody knows what is missing. Where it has failed, that there is nothing isn't for
//! linters to say.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use crate::limits::{LATE_SERVER_MS, MAX_CALL_ITEMS};
use crate::query::collected::Collected;
use crate::query::identifiers::CursorTarget;
use crate::query::provider::Provider;
use crate::query::provider_call::{ProviderFailure, RequestContext};
use crate::query::{identifiers, provider_call};
use crate::server::document::DocumentInput;
use crate::server::request::{CallItem, ServerRequest};
use crate::status::server_state::{ServerState, UNSUPPORTED, Unavailable};
use codeyard_base::clock::{Deadline, Instant};
use codeyard_files::gate::Gate;
use codeyard_lsp::convert::RawAnswer;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::operation::{LspQuery, Operation, QuerySubject};
use codeyard_model::position::Position;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;

/// What all servers said.
pub enum OperationOutcome {
    /// At least one answered.
    Answers(Collected),
    /// None did, for these reasons.
    None(Vec<Unavailable>),
    /// A server was stopped on purpose meanwhile: begin again.
    BeginAgain,
    /// The call as a whole fails.
    Failed(ToolError),
}

/// What came of asking one provider.
enum ProviderOutcome {
    /// Nothing yet.
    Open,
    Answer(RawAnswer),
    Nothing(Unavailable),
    /// It only adds to others, and adds nothing here.
    Unasked,
}

/// Puts `operation` to all `providers`; `unavailable` are known to give no answer.
pub async fn gather(
    providers: &[Provider],
    unavailable: &[Unavailable],
    operation: Operation,
    request: &ServerRequest,
    context: RequestContext<'_>,
) -> OperationOutcome {
    let mut running: FuturesUnordered<_> = providers
        .iter()
        .enumerate()
        .map(|(at, provider)| async move { (at, ask(provider, operation, request, context).await) })
        .collect();
    let mut outcomes: Vec<ProviderOutcome> = providers.iter().map(|_| ProviderOutcome::Open).collect();
    let late = tokio::time::sleep_until(linter_cutoff(context.deadline));
    tokio::pin!(late);
    let mut is_late = false;
    while !(running.is_empty() || is_late && is_enough(providers, &outcomes)) {
        tokio::select! {
            biased;
            Some((at, outcome)) = running.next() => {
                let provider = &providers[at];
                outcomes[at] = match outcome {
                    Ok(answer) => ProviderOutcome::Answer(answer),
                    Err(ProviderFailure::Unsupported) if provider.is_linter => ProviderOutcome::Unasked,
                    Err(ProviderFailure::Unsupported) => ProviderOutcome::Nothing(Unavailable::unsupported(provider.kind.as_str())),
                    Err(ProviderFailure::Unavailable(why)) => ProviderOutcome::Nothing(why),
                    Err(ProviderFailure::Stopped) => return OperationOutcome::BeginAgain,
                    Err(ProviderFailure::Failed(error)) => return OperationOutcome::Failed(error),
                };
            }
            () = &mut late, if !is_late => is_late = true,
        }
    }
    collected(providers, unavailable, operation, outcomes)
}

/// Whether what there is may be served without those who haven't answered: they are linters, and somebody has.
fn is_enough(providers: &[Provider], outcomes: &[ProviderOutcome]) -> bool {
    let mut mains = providers.iter().zip(outcomes).filter(|(provider, _)| !provider.is_linter);
    outcomes.iter().any(|outcome| matches!(outcome, ProviderOutcome::Answer(_)))
        && mains.all(|(_, outcome)| !matches!(outcome, ProviderOutcome::Open))
}

/// What was said, in the providers' order. Those who haven't answered are left behind.
fn collected(
    providers: &[Provider],
    unavailable: &[Unavailable],
    operation: Operation,
    outcomes: Vec<ProviderOutcome>,
) -> OperationOutcome {
    let failed = |why: &Unavailable| why.to_error().with("operation", operation.as_str());
    let mut answers = Vec::new();
    let mut passed_over = unavailable.to_vec();
    let mut is_partial = false;
    let mut is_answered = false;
    let mut failure = None;
    let mut is_cut = false;
    let mut by_name = BTreeSet::new();
    let missing = unavailable.iter().find(|why| !why.kind.is_empty()).map(failed);
    for (provider, outcome) in providers.iter().zip(outcomes) {
        match outcome {
            ProviderOutcome::Answer(answer) => {
                is_answered |= !provider.is_linter;
                is_cut |= is_full(provider, &answer);
                by_name.extend(provider.by_name());
                answers.push(answer);
            }
            ProviderOutcome::Nothing(why) => {
                if !provider.is_linter && why.reason != UNSUPPORTED {
                    failure = failure.or_else(|| Some(failed(&why)));
                }
                passed_over.push(why);
            }
            ProviderOutcome::Unasked => {}
            ProviderOutcome::Open => {
                is_partial = true;
                passed_over.push(not_in_time(provider));
            }
        }
    }
    if answers.is_empty() {
        return OperationOutcome::None(passed_over);
    }
    // That a language has no server at all is nobody's failure.
    passed_over.retain(|why| !why.kind.is_empty());
    // In the whole workspace each language counts: where the server of one has fallen, nobody knows that there is nothing.
    let if_nothing = match operation {
        Operation::WorkspaceSymbol if failure.is_some() => failure,
        _ => missing.or(failure).filter(|_| !is_answered),
    };
    OperationOutcome::Answers(Collected { answers, by: None, passed_over, is_partial, is_cut, by_name, if_nothing })
}

/// Whether `provider` named as many symbols of the workspace as it ever does.
fn is_full(provider: &Provider, answer: &RawAnswer) -> bool {
    match answer {
        RawAnswer::WorkspaceSymbols(list) => provider.symbols_max > 0 && list.len() >= provider.symbols_max,
        _ => false,
    }
}

/// Whether symbols of the workspace are asked for: all languages have a part in the answer.
pub fn asks_for_name(query: &GatedQuery) -> bool {
    matches!(query, Query::Lsp(LspQuery { subject: QuerySubject::Name(_), .. }))
}

/// When whoever has answered is enough, for who must be answered by `deadline`.
pub fn linter_cutoff(deadline: Deadline) -> Instant {
    deadline.earlier(Duration::from_millis(LATE_SERVER_MS)).instant()
}

async fn ask(
    provider: &Provider,
    operation: Operation,
    request: &ServerRequest,
    context: RequestContext<'_>,
) -> Result<RawAnswer, ProviderFailure> {
    let (answer, incarnation) = provider_call::ask_one(provider, request, context).await?;
    let calls_of: fn(DocumentInput, CallItem) -> ServerRequest = match operation {
        Operation::IncomingCalls => ServerRequest::IncomingCalls,
        Operation::OutgoingCalls => ServerRequest::OutgoingCalls,
        _ => return Ok(answer),
    };
    let (RawAnswer::CallItems(items), Some(document)) = (answer, request.document()) else {
        return Err(ProviderFailure::Failed(ToolError::internal()));
    };
    if items.is_empty() {
        // No function, which isn't the same as one without calls.
        return Ok(RawAnswer::CallItems(items));
    }
    if items.len() > MAX_CALL_ITEMS {
        return Err(ProviderFailure::Failed(ToolError::too_many("too_many_functions", MAX_CALL_ITEMS)));
    }
    let requests: Vec<ServerRequest> = items
        .into_iter()
        .map(|item| calls_of(document.clone(), CallItem { json: item.json, uri: item.uri, incarnation }))
        .collect();
    let asked = requests.iter().map(|request| provider_call::ask(provider, request, context));
    let mut calls = Vec::new();
    for answer in futures::future::try_join_all(asked).await? {
        if let RawAnswer::Calls(some) = answer {
            calls.extend(some);
        }
    }
    Ok(RawAnswer::Calls(calls))
}

fn not_in_time(provider: &Provider) -> Unavailable {
    let (reason, message) = match &*provider.state.borrow() {
        ServerState::Restarting(down) => return Unavailable::down(provider.kind.as_str(), down),
        ServerState::Starting => ("starting", "the language server is still starting"),
        ServerState::Indexing { .. } => ("indexing", "the language server is still indexing"),
        _ => ("timeout", "the language server did not answer in time"),
    };
    Unavailable::new(provider.kind.as_str(), reason, message, "codeyard doctor")
}

/// Refuses a position that points at no word but lies right behind one: a server would answer for that word, which isn't what was
/// pointed at. Also one that lies beyond the text.
///
/// # Errors
/// NOT_FOUND with the words of the line.
pub fn check_position(asked: &LspQuery<CanonicalUri>, document: &DocumentInput) -> Result<(), ToolError> {
    let Some(position) = asked.subject.position() else { return Ok(()) };
    let text = &document.source.document;
    let beyond = || about_line(BEYOND, document, position).with("lines", text.line_count());
    match text.line(position.line).map(|_| text.utf16_len(position.line)) {
        None => return Err(beyond()),
        Some(length) if position.character > length => return Err(beyond().with("length", length)),
        // In the middle of a letter that takes two columns.
        Some(_) if text.check(position).is_none() => return Err(about_line(NO_WORD, document, position)),
        Some(_) => {}
    }
    match identifiers::cursor_target(text, position) {
        CursorTarget::BehindWord => Err(about_line(NO_WORD, document, position)),
        CursorTarget::Word | CursorTarget::Elsewhere => Ok(()),
    }
}

/// The error of a call that found nothing at a place where there is no word; `None` if it points at one.
pub fn nothing_there(asked: &LspQuery<CanonicalUri>, document: &DocumentInput) -> Option<ToolError> {
    let position = asked.subject.position()?;
    let points_at_word = identifiers::cursor_target(&document.source.document, position) == CursorTarget::Word;
    (!points_at_word).then(|| about_line(NO_WORD, document, position))
}

/// Letters of a name in a title.
const MAX_TITLE_NAME_CHARS: usize = 200;
/// `details.reason` of a position beyond the document or its line.
const BEYOND: (&str, &str) = ("position_beyond", "the position lies beyond the document");
/// `details.reason` of a position without a word.
const NO_WORD: (&str, &str) =
    ("no_identifier", "there is no identifier at the position; details.identifiers lists those of the line");

/// Line and columns in the details count from 1, as the tool's callers do.
fn about_line((reason, message): (&str, &str), document: &DocumentInput, position: Position) -> ToolError {
    let words = identifiers::words(&document.source.document, position.line);
    let words: Vec<serde_json::Value> =
        words.into_iter().map(|word| serde_json::json!({ "name": word.text, "character": word.column + 1 })).collect();
    ToolError::new(ErrorCode::NotFound, message)
        .with("reason", reason)
        .with("line", u64::from(position.line) + 1)
        .with("character", u64::from(position.character) + 1)
        .with("identifiers", words)
}

/// The title of all pages (decisions §4): the operation, the path relative to its root, and the position, counted from 1.
pub fn title(asked: &LspQuery<CanonicalUri>, gate: &Gate) -> String {
    let operation = asked.operation.as_str();
    let relative = |uri: &CanonicalUri| {
        let path = uri.to_path();
        let roots = gate.root_set().allowed().filter_map(|root| path.strip_prefix(root).ok());
        roots.min_by_key(|rest| rest.as_os_str().len()).unwrap_or(&path).display().to_string()
    };
    match &asked.subject {
        QuerySubject::At(uri, at) => {
            format!("{operation} {}:{}:{}", relative(uri), u64::from(at.line) + 1, u64::from(at.character) + 1)
        }
        QuerySubject::File(uri) => format!("{operation} {}", relative(uri)),
        QuerySubject::Name(name) => {
            format!("{operation} {}", name.chars().take(MAX_TITLE_NAME_CHARS).collect::<String>())
        }
    }
}
