//! All diagnostics that language servers have reported for a workspace, with fresh pulls of the open documents.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::query::canonicalise::context::CanonicalContext;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::{Attempt, ProviderCall, RequestContext, internal};
use crate::query::query_operation::QueryOperation;
use crate::server::messages::{PendingAnswer, ProjectReport};
use crate::server::registry::IndexedRegistry;
use crate::server::requests::request::{Exchange, LspRequest, SessionView};
use codeyard_base::ids::ServerKind;
use codeyard_files::gate::spelt_path;
use codeyard_lsp::convert::{self, ConvertError, DocumentDiagnosticReport, FileDiagnosticReport, ReplyEntries};
use codeyard_lsp::methods::{self, WorkspaceDiagnosticParams};
use codeyard_lsp::registry::ServerSpec;
use codeyard_model::answer::DiagnosticsCoverage;
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::error::ToolError;
use codeyard_paging::CanonicalResult;

/// All diagnostics of a server's project.
#[derive(Debug, Clone)]
pub(crate) struct WorkspaceDiagnosticsRequest;

impl LspRequest for WorkspaceDiagnosticsRequest {
    const METHOD: &'static str = methods::WORKSPACE_DIAGNOSTIC;
    const EXCHANGE: Exchange = Exchange::ProjectDiagnostics;
    type Params<'a> = WorkspaceDiagnosticParams<'a>;
    type Reply = Vec<RawFileDiagnostics>;

    fn params<'a>(&'a self, session: &'a SessionView<'_>) -> Option<WorkspaceDiagnosticParams<'a>> {
        Some(methods::workspace_diagnostic(session.diagnostics_identifier, &[]))
    }

    fn decode(&self, reply: &RawValue) -> Result<Self::Reply, ConvertError> {
        let reports = convert::workspace_diagnostic_report(reply)?.into_iter();
        let full = reports.filter_map(|entry| match entry.report {
            FileDiagnosticReport::Full { items, .. } => Some(RawFileDiagnostics { uri: entry.uri, diagnostics: items }),
            FileDiagnosticReport::Unchanged { .. } => None,
        });
        Ok(full.collect())
    }
}

/// The tool `vscode.lsp.diagnostics.workspace`.
pub(super) struct WorkspaceDiagnostics {
    request: WorkspaceDiagnosticsRequest,
}

impl WorkspaceDiagnostics {
    pub(super) fn new() -> Self {
        Self { request: WorkspaceDiagnosticsRequest }
    }
}

impl QueryOperation for WorkspaceDiagnostics {
    type Request = WorkspaceDiagnosticsRequest;
    type Answer = ReportedFiles;

    fn request(&self) -> &Self::Request {
        &self.request
    }

    async fn ask(&self, provider: &Provider, context: RequestContext<'_>) -> Result<Self::Answer, ProviderFailure> {
        let files = reported(provider, &self.request, context).await?;
        let has_diagnostics = !provider.spec.quirks.no_diagnostics && provider.fallback_for.is_none();
        let reporter = has_diagnostics.then(|| Reporter {
            kind: provider.kind.clone(),
            spec: provider.spec.clone(),
            servers: provider.servers.clone(),
            roots: provider.projects.roots.clone(),
        });
        Ok(ReportedFiles { reporter, files })
    }

    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        context.notes.coverage = Some(coverage(&answers, context.source_files));
        let files = answers.into_iter().flat_map(|answer| answer.files);
        let files: Vec<_> = files.map(|file| context.cleaned(file)).collect();
        let cap = context.limits.max_workspace_diagnostics_items_total;
        let per_file = context.limits.max_items_nonpaged;
        let (listed, cut) = codeyard_canon::workspace_diagnostics(files, &mut context.recorder, cap, per_file)?;
        Ok(CanonicalResult::workspace_diagnostics(listed, cut, context.take_notes()))
    }
}

/// What one server has reported.
pub(super) struct ReportedFiles {
    /// The server; `None` if it has no diagnostics.
    reporter: Option<Reporter>,
    files: Vec<RawFileDiagnostics>,
}

/// Which files a server reports.
struct Reporter {
    kind: ServerKind,
    spec: Arc<ServerSpec>,
    servers: Arc<IndexedRegistry>,
    /// Its project roots.
    roots: Arc<BTreeSet<PathBuf>>,
}

impl ReplyEntries for ReportedFiles {
    fn entries(&self) -> usize {
        self.files.len()
    }
}

impl Reporter {
    fn serves(&self, file: &Path) -> bool {
        self.servers.serves(&self.spec, file) && file.ancestors().any(|folder| self.roots.contains(folder))
    }
}

/// The files that every kind of server reports which serves them. The servers of a kind count as one, because each has projects of its own.
fn coverage(answers: &[ReportedFiles], total: usize) -> DiagnosticsCoverage {
    let mut by_kind: BTreeMap<&ServerKind, (Vec<&Reporter>, BTreeSet<PathBuf>)> = BTreeMap::new();
    for ReportedFiles { reporter, files } in answers {
        let Some(reporter) = reporter else { continue };
        let (reporters, reported) = by_kind.entry(&reporter.kind).or_default();
        reporters.push(reporter);
        reported.extend(files.iter().filter_map(|file| spelt_path(&file.uri)));
    }
    let all: BTreeSet<&PathBuf> = by_kind.values().flat_map(|(_, reported)| reported).collect();
    let is_due = |(reporters, reported): &(Vec<&Reporter>, BTreeSet<PathBuf>), file: &Path| {
        !reported.contains(file) && reporters.iter().any(|reporter| reporter.serves(file))
    };
    let covered = all.iter().filter(|file| !by_kind.values().any(|kind| is_due(kind, file))).count();
    let count = |(kind, (_, reported)): (&&ServerKind, &(Vec<&Reporter>, BTreeSet<PathBuf>))| {
        ((*kind).clone(), reported.len().min(total))
    };
    let by_server = if covered < all.len() { by_kind.iter().map(count).collect() } else { vec![] };
    DiagnosticsCoverage { covered: covered.min(total), total, by_server }
}

/// Everything that `provider` has reported, with fresh pulls of its open documents. A file without findings is in it too.
async fn reported(
    provider: &Provider,
    request: &WorkspaceDiagnosticsRequest,
    context: RequestContext<'_>,
) -> Result<Vec<RawFileDiagnostics>, ProviderFailure> {
    let mut call = ProviderCall::new(provider, request, context);
    loop {
        let Attempt::Report(report) = call.settle().await? else { return Err(internal()) };
        if let Some(files) = merged(&call, request, report).await? {
            return Ok(files);
        }
        call.pause().await;
    }
}

type Call<'a> = ProviderCall<'a, WorkspaceDiagnosticsRequest>;

/// The report merged with the pulled diagnostics, sorted by URI. `None`: a pull has to be repeated.
///
/// If the server calls a pull outdated, the reported diagnostics of its document are used. They are still valid: a change of the document
/// itself moves an epoch.
async fn merged(
    call: &Call<'_>,
    request: &WorkspaceDiagnosticsRequest,
    report: ProjectReport,
) -> Result<Option<Vec<RawFileDiagnostics>>, ProviderFailure> {
    let known = call.to_utf16(report.files, report.encoding).await?.into_iter();
    let mut files: HashMap<String, RawFileDiagnostics> = known.map(|file| (file.uri.to_string(), file)).collect();
    let pulls = report.pulls.into_iter().map(|(uri, pending)| async move {
        let attempt = call.await_reply(pending, methods::DOCUMENT_DIAGNOSTIC).await;
        (uri, attempt)
    });
    let mut pulled = Vec::new();
    let mut session = None;
    for (uri, attempt) in futures::future::join_all(pulls).await {
        let (reply, encoding, incarnation) = match attempt? {
            Attempt::Reply(reply, encoding, incarnation) => (reply, encoding, incarnation),
            Attempt::Outdated if files.contains_key(&*uri) => continue,
            Attempt::Outdated | Attempt::Unimplemented | Attempt::ServerExited => return Ok(None),
            Attempt::Refused(refusal) => {
                return Err(call.refused(&refusal, "a document's diagnostics could not be pulled"));
            }
            Attempt::Pushed(..) | Attempt::Report(_) | Attempt::Waited => return Err(internal()),
        };
        pulled.extend(pulled_file(&uri, &reply).map_err(|_| call.malformed())?);
        session = Some((encoding, incarnation));
    }
    if let Some((encoding, incarnation)) = session {
        let pulled = call.to_utf16(pulled, encoding).await?;
        call.report(&pulled, incarnation).await;
        files.extend(pulled.into_iter().map(|file| (file.uri.to_string(), file)));
    }
    if let Some(pending) = report.workspace {
        let Some(whole) = workspace_report(call, request, pending).await? else { return Ok(None) };
        files.extend(whole.into_iter().map(|file| (file.uri.to_string(), file)));
    }
    let dropped = report.dropped.iter().filter(|uri| !files.contains_key(&***uri)).count();
    if dropped > 0 || report.has_unknown_files {
        return Err(call.not_kept(dropped.max(1)));
    }
    let mut all: Vec<RawFileDiagnostics> = files.into_values().collect();
    all.sort_by(|a, b| a.uri.cmp(&b.uri));
    Ok(Some(all))
}

/// The reply to `workspace/diagnostic`; `None`: it has to be repeated.
async fn workspace_report(
    call: &Call<'_>,
    request: &WorkspaceDiagnosticsRequest,
    pending: PendingAnswer,
) -> Result<Option<Vec<RawFileDiagnostics>>, ProviderFailure> {
    let (reply, encoding) = match call.await_reply(pending, methods::WORKSPACE_DIAGNOSTIC).await? {
        Attempt::Reply(reply, encoding, _) => (reply, encoding),
        Attempt::Outdated | Attempt::Unimplemented | Attempt::ServerExited => return Ok(None),
        Attempt::Refused(refusal) => {
            return Err(call.refused(&refusal, "the project's diagnostics could not be pulled"));
        }
        Attempt::Pushed(..) | Attempt::Report(_) | Attempt::Waited => return Err(internal()),
    };
    let files = request.decode(&reply).map_err(|_| call.malformed())?;
    call.to_utf16(files, encoding).await.map(Some)
}

/// The diagnostics that a pull of one document brought; `None` if the known ones still hold.
fn pulled_file(uri: &Arc<str>, reply: &RawValue) -> Result<Option<RawFileDiagnostics>, ConvertError> {
    Ok(match convert::document_diagnostic_report(reply)? {
        DocumentDiagnosticReport::Full { items, .. } => {
            Some(RawFileDiagnostics { uri: uri.clone(), diagnostics: items })
        }
        DocumentDiagnosticReport::Unchanged { .. } => None,
    })
}
