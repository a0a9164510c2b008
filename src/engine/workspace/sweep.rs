//! The sweep: with `diagnostics.sweep = "all"` every source file is opened once in the background, so that servers which
//! only speak of open documents report on all of them. It begins with the first question about the workspace's diagnostics.
//!
//! Bounded: so many documents at a time, each for so long. A file that changes is swept again. Answers never wait for it; the
//! summary says how far it is.

use std::collections::BTreeSet;
use std::path::Path;

use actix::prelude::*;

use super::*;
use crate::execution::Provider;
use crate::known_files::Source;
use crate::provider_call::{self, Asking};
use crate::providers;
use crate::question::{DocumentInput, Question};
use codeyard_base::blocking;
use codeyard_base::digest::sha256;
use codeyard_base::ids::{LanguageId, ServerKind};
use codeyard_config::Sweep as Reach;
use codeyard_files::limits;
use codeyard_lsp::text::Document;
use codeyard_telemetry::Asker;

/// Documents swept at a time.
const AT_ONCE: usize = 4;
/// Longest time for one document.
const PER_DOCUMENT: Duration = Duration::from_secs(30);

/// What is left to be swept.
#[derive(Default)]
pub(super) struct Sweeping {
    begun: bool,
    pending: BTreeSet<(ChildKey, PathBuf)>,
    running: usize,
}

impl Workspace {
    /// Whether a sweep over all files is still under way.
    pub(super) fn is_sweeping(&self) -> bool {
        self.sweeping.running > 0 || !self.sweeping.pending.is_empty()
    }

    /// Begins the sweep if it is wanted and hasn't begun. `plan` names the servers of the workspace.
    pub(super) fn begin_sweep(&mut self, plan: &Plan, ctx: &mut Context<Self>) {
        if self.policy.sweep != Reach::All || self.sweeping.begun {
            return;
        }
        self.sweeping.begun = true;
        for choice in &plan.choices {
            self.sweep_child(&choice.key);
        }
        self.sweep_on(ctx);
    }

    /// A child that was replaced knows nothing yet: all of its files are swept again.
    pub(super) fn sweep_child(&mut self, key: &ChildKey) {
        let Some(server) = self.setup.servers.by_kind.get(&key.kind).filter(|_| self.sweeping.begun) else { return };
        let files = self.slot.get().map(|subscription| subscription.source_files()).unwrap_or_default();
        let setup = &self.setup;
        let mut folders: BTreeMap<&Path, bool> = BTreeMap::new();
        let own = files.iter().filter(|path| {
            let Some(folder) = path.parent().filter(|_| setup.servers.serves(server, path)) else { return false };
            *folders.entry(folder).or_insert_with(|| providers::is_own(setup, server, key, path))
        });
        self.sweeping.pending.extend(own.map(|path| (key.clone(), path.clone())));
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
            let server = server.filter(|server| self.setup.servers.serves(server, path));
            if server.is_some_and(|server| providers::is_own(&self.setup, server, key, path)) {
                self.sweeping.pending.insert((key.clone(), path.to_path_buf()));
            }
        }
    }

    /// Sees to it that the children know of everything that has happened on disk by now.
    fn abreast(&self, ctx: &Context<Self>) -> BoxFuture<'static, ()> {
        let (subscription, workspace) = (self.slot.get(), ctx.address());
        Box::pin(async move {
            if let Some(subscription) = subscription {
                subscription.barrier().await;
            }
            // A workspace that is gone has no children to tell.
            workspace.send(Wake).await.ok();
        })
    }

    /// Takes up as many documents as may be swept at a time.
    pub(super) fn sweep_on(&mut self, ctx: &mut Context<Self>) {
        while self.sweeping.running < AT_ONCE && !self.draining {
            let Some((key, path)) = self.sweeping.pending.pop_first() else { return };
            let Some(child) = self.children.get(&key) else { continue };
            let provider = Provider {
                kind: ServerKind::new(&key.kind),
                server: child.actor.clone(),
                state: child.state.clone(),
                is_linter: false,
                symbols_max: 0,
                stands_for: None,
            };
            self.sweeping.running += 1;
            let work = sweep_one(self.setup.clone(), provider, path, self.abreast(ctx));
            ctx.spawn(work.into_actor(self).map(|(), workspace, ctx| {
                workspace.sweeping.running -= 1;
                workspace.sweep_on(ctx);
                if !workspace.is_sweeping() {
                    // What was answered on the way said how far the sweep was; that is old now.
                    workspace.move_epochs(false, false, true);
                }
            }));
        }
    }
}

async fn sweep_one(setup: Arc<WorkspaceSetup>, provider: Provider, path: PathBuf, abreast: BoxFuture<'static, ()>) {
    let (gate, asker) = (setup.gate.clone(), Asker::Nobody(setup.shared.metrics.clone()));
    let Ok(Some(document)) = blocking::spawn(move || open(&setup, &path)).await else { return };
    // What changed before the text was read is told before it: no server is to judge a new text amid old ones.
    abreast.await;
    let question = Question::DocumentDiagnostics(document);
    let asking = Asking { gate: &gate, deadline: Deadline::after(PER_DOCUMENT), asker: &asker };
    let asked = provider_call::ask(&provider, &question, asking);
    // What is learnt is remembered by the server's actor; what fails shows in the coverage.
    drop(tokio::time::timeout(PER_DOCUMENT, asked).await);
}

fn open(setup: &WorkspaceSetup, path: &Path) -> Option<DocumentInput> {
    let language = LanguageId::new(setup.servers.index.language_of(path)?);
    let uri = setup.gate.of_path(path).ok()?;
    let (bytes, _) = setup.gate.read(&uri, codeyard_lsp::limits::MAX_DOCUMENT_BYTES).ok()?;
    let hash = sha256(&bytes);
    let document = Arc::new(Document::new(String::from_utf8(bytes).ok()?));
    Some(DocumentInput { source: Arc::new(Source { uri, document, hash, settled: None }), language })
}
