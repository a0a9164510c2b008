//! Compares the result of a query with the code index, and marks what the result lacks.
//!
//! What the index knows of the name is read while the language servers are asked; `codeyard_complete::index_comparison` has the rule.
//! If it isn't current by then, it is read again once there is an answer: a server that starts takes longer than an index that is opened.
//! Invariants: a result waits for the index no longer than [`longest_wait`]; one that couldn't be compared because the index wasn't current is
//! asked for again once it is. A server that doesn't know all files doesn't say which of them are missing; the index does, so its answers are
//! compared as well.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::time::timeout_at;

use crate::limits::{COMPARISON_END_MS, COMPARISON_SHARE, COMPARISON_WAIT_MS};
use crate::query::provider::Provider;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_complete::identifier::name_at;
use codeyard_complete::index_comparison::{AnswerPlaces, AskedName, ComparedOperation, NameRecord, RecordFailure};
use codeyard_index::Language;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_model::answer::AnswerNotes;
use codeyard_model::coverage::Hidden;
use codeyard_model::lsp_items::LspItems;
use codeyard_model::operation::{LspQuery, Operation};
use codeyard_model::position::{Location, Position};
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::CanonicalResult;

/// Reads what the code index knows of a name.
pub trait NameIndex: Send + Sync {
    /// What it knows, if that is read before `end`. Blocks.
    ///
    /// # Errors
    /// It isn't current, can't be read, or not in time.
    fn read(&self, asked: &AskedName, end: Instant) -> Result<NameRecord, RecordFailure>;
}

/// The code index of a workspace, as a query finds it.
pub enum ComparedIndex {
    /// The query isn't compared, or there is no index and none will be built.
    None,
    /// It is being built.
    Pending,
    /// It can be read.
    Open(Arc<dyn NameIndex>),
}

/// Asks the workspace for its index as it is now.
#[derive(Message)]
#[rtype(result = "ComparedIndex")]
pub struct CurrentIndex;

/// Whether the result of a query to these providers is compared with the index, which parses some languages only.
pub(crate) fn is_compared(query: &GatedQuery, providers: &[Provider]) -> bool {
    let is_parsed = match query.uri() {
        Some(uri) => {
            let path = uri.to_path();
            let by_name = || path.to_str().and_then(|path| Language::of_file(path, b""));
            let is_script = |one: &Provider| one.servers.index.is_script(&path);
            by_name().is_some() || providers.iter().any(is_script)
        }
        None => !served_languages(providers).is_empty(),
    };
    is_parsed && operation(query).is_some()
}

/// The programming languages of the index that the main servers serve.
fn served_languages(providers: &[Provider]) -> Vec<Language> {
    languages_of(providers.iter().filter(|one| one.is_main()))
}

fn languages_of<'a>(providers: impl Iterator<Item = &'a Provider>) -> Vec<Language> {
    let served = providers.flat_map(|one| &one.spec.languages);
    served.filter_map(|id| Language::by_name(id)).filter(|language| language.is_code()).collect()
}

fn operation(query: &GatedQuery) -> Option<ComparedOperation> {
    Some(match query {
        Query::Definition { .. } => ComparedOperation::Definition,
        Query::References { .. } => ComparedOperation::References,
        Query::WorkspaceSymbols { .. } => ComparedOperation::Symbols,
        Query::Lsp(LspQuery { operation, .. }) => match operation {
            Operation::GoToDefinition => ComparedOperation::Definition,
            Operation::FindReferences => ComparedOperation::References,
            Operation::GoToImplementation => ComparedOperation::Implementation,
            Operation::IncomingCalls => ComparedOperation::Callers,
            Operation::WorkspaceSymbol => ComparedOperation::Symbols,
            Operation::Hover
            | Operation::DocumentSymbol
            | Operation::PrepareCallHierarchy
            | Operation::OutgoingCalls => return None,
        },
        _ => return None,
    })
}

/// The name that a query is about.
fn asked_name(query: &GatedQuery, document: Option<&DocumentInput>, providers: &[Provider]) -> Option<AskedName> {
    if let Some(name) = query.symbol_name() {
        let name = codeyard_canon::last_part(name).to_owned();
        let without_macros = providers.iter().filter(|one| one.spec.quirks.macros_when_opened);
        let macro_languages = languages_of(without_macros);
        let languages = served_languages(providers);
        return Some(AskedName { name, place: None, languages, macro_languages, with_plain_uses: false });
    }
    let position = query.position()?;
    let document = &document?.source;
    let mut name = name_at(&document.document, position)?;
    let path = document.uri.to_path();
    let language = path.to_str().and_then(|path| Language::of_file(path, document.document.text().as_bytes()));
    if language.is_some_and(Language::marks_variables) {
        name = name.trim_start_matches('$').to_owned();
    }
    let place = place(&document.uri, position);
    let with_plain_uses = operation(query) == Some(ComparedOperation::References);
    Some(AskedName { name, place: Some(place), languages: vec![], macro_languages: vec![], with_plain_uses })
}

/// What the index knows of a query's name, while it is read.
pub(crate) struct IndexReading {
    asked: AskedName,
    /// `None`: the index isn't current.
    begun: Option<blocking::Started<Result<NameRecord, RecordFailure>>>,
    workspace: Recipient<CurrentIndex>,
}

impl ComparedIndex {
    /// Begins to read what the index knows. `None`: the result isn't compared.
    pub(crate) fn read(
        &self,
        query: &GatedQuery,
        document: Option<&DocumentInput>,
        providers: &[Provider],
        workspace: &Recipient<CurrentIndex>,
    ) -> Option<IndexReading> {
        if matches!(self, Self::None) {
            return None;
        }
        let asked = asked_name(query, document, providers)?;
        let begun = self.begin(&asked);
        Some(IndexReading { asked, begun, workspace: workspace.clone() })
    }

    fn begin(&self, asked: &AskedName) -> Option<blocking::Started<Result<NameRecord, RecordFailure>>> {
        let Self::Open(index) = self else { return None };
        let index = index.clone();
        let asked = asked.clone();
        let end = Instant::now() + Duration::from_millis(COMPARISON_END_MS);
        Some(blocking::spawn(move || index.read(&asked, end)))
    }
}

impl IndexReading {
    async fn end(self, until: Instant) -> Result<NameRecord, RecordFailure> {
        let first = ended(self.begun, until).await;
        if !matches!(first, Err(RecordFailure::NotCurrent)) {
            return first;
        }
        match self.workspace.send(CurrentIndex).await {
            Ok(ComparedIndex::None) | Err(_) => Err(RecordFailure::Impossible),
            Ok(index) => ended(index.begin(&self.asked), until).await,
        }
    }

    /// Marks the result, which is waited for until then, with what the index has that it lacks. `declared` is where its symbol is declared, as far
    /// as that is known.
    pub(crate) async fn compare(
        self,
        query: &GatedQuery,
        result: &mut CanonicalResult,
        declared: &[Location],
        until: Instant,
    ) {
        let Some(operation) = operation(query) else { return };
        let Some(mut places) = places(result) else { return };
        if is_cut(result.notes()) {
            return;
        }
        places.lacks_packages = lacks_packages(result.notes(), places.listed.is_empty());
        let record = self.end(until).await;
        let notes = result.notes_mut();
        match record {
            Ok(record) => {
                places.declared.extend(declared.iter().map(|one| place(&one.uri, one.range.start)));
                if let (Some(uri), Some(position)) = (query.uri(), query.position()) {
                    places.declared.insert(place(uri, position));
                }
                notes.may_improve |= record.is_partial;
                notes.disagreement = record.disagreement(operation, &places);
            }
            Err(RecordFailure::NotCurrent) => notes.awaits_index = true,
            Err(RecordFailure::NotInTime) => notes.may_improve = true,
            Err(RecordFailure::Impossible) => {}
        }
    }
}

/// The record, if it is read in time.
async fn ended(
    begun: Option<blocking::Started<Result<NameRecord, RecordFailure>>>,
    until: Instant,
) -> Result<NameRecord, RecordFailure> {
    let Some(begun) = begun else { return Err(RecordFailure::NotCurrent) };
    match timeout_at(until, begun).await {
        Ok(Ok(record)) => record,
        Ok(Err(_)) => Err(RecordFailure::Impossible),
        Err(_) => Err(RecordFailure::NotInTime),
    }
}

/// How long an answer that took this long waits for the index. What takes long may wait longer, so that the first answers are compared
/// although everything is read for the first time.
pub(crate) fn longest_wait(taken: Duration) -> Duration {
    let [least, most] = [COMPARISON_WAIT_MS, COMPARISON_END_MS].map(Duration::from_millis);
    (taken / COMPARISON_SHARE).clamp(least, most)
}

/// Whether entries were found that the answer doesn't have, a server that had some isn't in it, or it is made of the index.
fn is_cut(notes: &AnswerNotes) -> bool {
    notes.is_partial
        || notes.truncated
        || notes.outside > 0
        || !notes.by_name.is_empty()
        || !notes.skipped_providers.is_empty()
}

/// Whether the answer is marked with imports that can't be resolved and that name packages, not files of the project.
fn lacks_packages(notes: &AnswerNotes, is_empty: bool) -> bool {
    let mut unresolved = notes.known_files.partial(is_empty).flat_map(|server| &server.unresolved);
    unresolved.any(|cause| cause.hides < Hidden::Uses)
}

/// The entries of a result that is compared.
fn places(result: &CanonicalResult) -> Option<AnswerPlaces> {
    let mut places = AnswerPlaces::default();
    let start = |one: &Location| place(&one.uri, one.range.start);
    match result {
        CanonicalResult::Definition(list) if list.total > list.items.len() => return None,
        CanonicalResult::Definition(list) => places.listed.extend(list.items.iter().map(start)),
        CanonicalResult::References(full) => places.listed.extend(full.items.iter().map(start)),
        CanonicalResult::WorkspaceSymbols(full) => {
            places.listed.extend(full.items.iter().map(|symbol| start(&symbol.location)));
            places.names.extend(full.items.iter().map(|symbol| simple_name(&symbol.name)));
        }
        CanonicalResult::Lsp(result) => match &result.found {
            LspItems::Locations(list) => {
                places.listed.extend(list.iter().map(|one| place(&one.uri, one.range.start)));
            }
            LspItems::Symbols(list) => {
                places.listed.extend(list.iter().map(|symbol| start(&symbol.location)));
                places.names.extend(list.iter().map(|symbol| simple_name(&symbol.name)));
            }
            LspItems::Incoming(list) => {
                places.listed.extend(list.iter().map(|call| place(&call.from.uri, call.from.selection_range.start)));
            }
            LspItems::Hover(_) | LspItems::Outline(_) | LspItems::CallItems(_) | LspItems::Outgoing(_) => return None,
        },
        _ => return None,
    }
    Some(places)
}

/// The name of a symbol without its containers and parameters.
fn simple_name(name: &str) -> String {
    codeyard_canon::last_part(name.split('(').next().unwrap_or(name)).to_owned()
}

/// A place as the index has it: lines count from 1.
fn place(uri: &CanonicalUri, start: Position) -> (PathBuf, u32) {
    (uri.to_path(), start.line.saturating_add(1))
}
