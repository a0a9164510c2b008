//! The sweep: with `diagnostics.sweep = "all"` every source file is opened once in the background, so that servers that report only on
//! open documents report on all of them. It begins with the first query for the workspace's diagnostics.
//!
//! The number of documents at a time and the time of each are bounded. A file that changes is swept again. Answers never wait for the
//! sweep; the summary states its progress.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::future::BoxFuture;

use crate::query::callers::Callers;
use crate::query::operations::document_diagnostics::DocumentDiagnosticsRequest;
use crate::query::plan::Plan;
use crate::query::provider::{Provider, ProviderProjects};
use crate::query::provider_call::RequestContext;
use crate::query::{plan, provider_call};
use crate::server::child_key::ChildKey;
use crate::workspace::actor::Workspace;
use crate::workspace::messages::Wake;
use crate::workspace::setup::WorkspaceSetup;
use codeyard_base::clock::Deadline;
use codeyard_base::digest::sha256;
use codeyard_base::ids::{LanguageId, ServerKind};
use codeyard_config::Sweep as SweepMode;
use codeyard_files::limits;
use codeyard_lsp::documents::document_input::{DocumentInput, DocumentSource};
use codeyard_lsp::text::Document;
use codeyard_telemetry::RequestOrigin;

/// Largest number of documents swept at a time.
const AT_ONCE: usize = 4;
/// Longest time for one document.
const PER_DOCUMENT: Duration = Duration::from_secs(30);

impl Workspace {
    /// Whether the sweep is in progress.
    pub(super) fn is_sweeping(&self) -> bool {
        self.sweeping.running > 0 || !self.sweeping.pending.is_empty()
    }

    /// Begins the sweep if it is configured and hasn't begun. `plan` holds the servers of the workspace.
    pub(super) fn begin_sweep(&mut self, plan: &Plan, ctx: &mut Context<Self>) {
        if self.policy.sweep != SweepMode::All || self.sweeping.begun {
            return;
        }
        self.sweeping.begun = true;
        for choice in &plan.choices {
            self.sweep_child(&choice.key);
        }
        self.continue_sweep(ctx);
    }

    /// A restarted server has no diagnostics yet: all of its files are swept again.
    pub(super) fn sweep_child(&mut self, key: &ChildKey) {
        let Some(server) = self.setup.servers.by_kind.get(&key.kind).filter(|_| self.sweeping.begun) else { return };
        let files = self.slot.get().map(|subscription| subscription.source_files()).unwrap_or_default();
        let served = files.iter().filter(|path| self.setup.servers.serves(server, path));
        self.sweeping.pending.extend(served.map(|path| (key.clone(), path.clone())));
    }

    /// A changed file is swept again by the servers that swept it before.
    pub(super) fn sweep_again(&mut self, path: &Path) {
        if !self.sweeping.begun || self.sweeping.pending.len() >= limits::MAX_WATCHED_FILES {
            return;
        }
        let listed = self.slot.get().map(|subscription| subscription.source_files()).unwrap_or_default();
        if listed.binary_search_by(|file| file.as_os_str().cmp(path.as_os_str())).is_err() {
            return;
        }
        for key in self.children.keys() {
            let server = self.setup.servers.by_kind.get(&key.kind);
            if server.is_some_and(|server| self.setup.servers.serves(server, path)) {
                self.sweeping.pending.insert((key.clone(), path.to_path_buf()));
            }
        }
    }

    /// Resolves when the servers have been notified of all changes on disk so far.
    fn children_in_sync(&self, ctx: &Context<Self>) -> BoxFuture<'static, ()> {
        let subscription = self.slot.get();
        let workspace = ctx.address();
        Box::pin(async move {
            if let Some(subscription) = subscription {
                subscription.barrier().await;
            }
            // A workspace actor that ended has no servers.
            workspace.send(Wake).await.ok();
        })
    }

    /// Starts as many documents as may be swept at a time.
    pub(super) fn continue_sweep(&mut self, ctx: &mut Context<Self>) {
        while self.sweeping.running < AT_ONCE && !self.draining {
            let Some((key, path)) = self.sweeping.pending.pop_first() else { return };
            let Some(child) = self.children.get(&key) else { continue };
            let Some(spec) = self.setup.servers.by_kind.get(&key.kind) else { continue };
            let provider = Provider {
                is_companion: false,
                kind: ServerKind::new(&key.kind),
                spec: spec.clone(),
                servers: self.setup.servers.clone(),
                server: child.actor.clone(),
                state: child.state.clone(),
                turns: child.turns.clone(),
                refused: child.refused.clone(),
                begun: Arc::new(true.into()),
                metrics: self.setup.shared.metrics.clone(),
                is_linter: false,
                fallback_for: None,
                projects: ProviderProjects::default(),
            };
            self.sweeping.running += 1;
            let document = SweptDocument { key, path, separated: self.separated.clone() };
            let work = sweep_one(self.setup.clone(), provider, document, self.children_in_sync(ctx));
            ctx.spawn(work.into_actor(self).map(|(), workspace, ctx| {
                workspace.sweeping.running -= 1;
                workspace.continue_sweep(ctx);
                if !workspace.is_sweeping() {
                    // Answers during the sweep stated its progress and are outdated now.
                    workspace.move_epochs(false, false, true);
                }
            }));
        }
    }
}

async fn sweep_one(
    setup: Arc<WorkspaceSetup>,
    provider: Provider,
    document: SweptDocument,
    children_in_sync: BoxFuture<'static, ()>,
) {
    let gate = setup.gate.clone();
    let origin = RequestOrigin::Background(setup.shared.metrics.clone());
    let Ok(Some(document)) = gate.run(move |_| document.open(&setup)).await else { return };
    // Changes before this read are sent first, so that no server checks a new text against old ones.
    children_in_sync.await;
    let request = DocumentDiagnosticsRequest(document);
    let callers = Callers::one(Deadline::after(PER_DOCUMENT));
    let context = RequestContext { gate: &gate, callers: &callers, origin: &origin, files: None };
    let answer = provider_call::ask(&provider, &request, context);
    // The server's actor records the diagnostics; a failure shows in the coverage.
    drop(tokio::time::timeout(PER_DOCUMENT, answer).await);
}

/// A document that a server sweeps, unless it belongs to the project of another one.
struct SweptDocument {
    key: ChildKey,
    path: PathBuf,
    separated: BTreeSet<String>,
}

impl SweptDocument {
    /// Reads the document; `None` if it can't be read, or another server has it. Blocks.
    fn open(&self, setup: &WorkspaceSetup) -> Option<DocumentInput> {
        let server = setup.servers.by_kind.get(&self.key.kind)?;
        if !plan::is_own(setup.plan_context(&self.separated), server, &self.key, &self.path) {
            return None;
        }
        let language = LanguageId::new(setup.servers.index.language_of(&self.path)?);
        let uri = setup.gate.path(&self.path).ok()?;
        let (bytes, _) = setup.gate.read(&uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES).ok()?;
        let hash = sha256(&bytes);
        let document = Arc::new(Document::new(String::from_utf8(bytes).ok()?));
        Some(DocumentInput { source: Arc::new(DocumentSource { uri, document, hash, settled: None }), language })
    }
}
