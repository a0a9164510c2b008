//! A fake server's model of its files: reading them, indexing progress, and pushed diagnostics.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::sim::answers;
use crate::sim::language::Tree;
use crate::sim::profile::Diagnosing;
use crate::sim::server::Server;
use crate::sim::stage::Sabotage;

/// State of a fake server.
#[derive(Default)]
pub(crate) struct ServerModel {
    pub index: Tree,
    /// Open documents: version and text.
    pub open: BTreeMap<String, (i64, Arc<str>)>,
    pub indexing: bool,
    /// Number of indexing runs so far.
    pub bouts: u64,
    pub asked: BTreeMap<i64, &'static str>,
    pub held: Vec<Value>,
    pub cancels: BTreeMap<u64, CancellationToken>,
}

impl Server {
    pub(crate) fn reread(&self, name: &str) {
        let found = self.stage.lock().site(self.workspace).read_one(name).filter(|_| self.project.holds(name));
        let mut model = self.model.lock();
        match found {
            Some(text) => drop(model.index.insert(name.to_owned(), text)),
            None => drop(model.index.remove(name)),
        }
    }

    /// Reads all files after its watches were registered.
    pub(crate) fn read_all(self: &Arc<Self>) {
        let mut tree = self.stage.lock().site(self.workspace).read(&self.project.folder);
        tree.retain(|path, _| self.project.holds(path));
        self.note(format!("reads {} files", tree.len()));
        self.model.lock().index = tree;
        self.end_indexing_later();
    }

    /// Reports indexing. At a start it registers its watches and reads the disk after the answer.
    pub(crate) fn begin_indexing(self: &Arc<Self>, at_start: bool) {
        {
            let mut model = self.model.lock();
            model.indexing = true;
            model.bouts += 1;
        }
        if !at_start && self.is_sabotaged(Sabotage::QuietIndexing) {
            return self.end_indexing_later();
        }
        let value = json!({"kind": "begin", "title": "Indexing", "percentage": 0});
        self.send(&json!({"method": "$/progress", "params": {"token": "index", "value": value}}));
        if at_start {
            self.stage.lock().lives[self.number].up = true;
            let watchers = json!([{"globPattern": "**/*.fake"}, {"globPattern": "**/*.other"}]);
            let item = json!({"id": "watch", "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": watchers}});
            self.ask("client/registerCapability", json!({"registrations": [item]}));
        } else {
            self.end_indexing_later();
        }
    }

    fn end_indexing_later(self: &Arc<Self>) {
        let server = self.clone();
        let bout = self.model.lock().bouts;
        let wait = {
            let mut stage = self.stage.lock();
            let longest = stage.profile.indexing_ms;
            stage.dice.range(0, longest)
        };
        self.later(wait, async move {
            let mut model = server.model.lock();
            if model.bouts == bout {
                model.indexing = false;
                drop(model);
                server.stage.lock().lives[server.number].has_read = true;
                server.note("has indexed");
                server.send(&json!({"method": "$/progress", "params": {"token": "index", "value": {"kind": "end"}}}));
                server.push_all();
            }
        });
    }

    pub(crate) fn index_again(self: &Arc<Self>) {
        self.note("indexes again");
        self.begin_indexing(false);
    }

    /// Computes the answer from the known files; from half of the open ones while it indexes.
    pub(crate) fn compute(&self, method: &str, params: &Value) -> Value {
        let tree = self.known();
        let mut stage = self.stage.lock();
        answers::answer(self, &mut stage, &tree, method, params)
    }

    fn known(&self) -> Tree {
        let model = self.model.lock();
        let mut tree = model.index.clone();
        tree.extend(model.open.iter().map(|(name, (_, text))| (name.clone(), text.clone())));
        if model.indexing {
            let mut kept = false;
            tree.retain(|name, _| {
                kept = !kept;
                kept && model.open.contains_key(name)
            });
        }
        tree
    }

    /// Pushes the diagnostics of all open documents after a short delay.
    pub(crate) fn push_all(self: &Arc<Self>) {
        let (style, wait, stale) = {
            let mut stage = self.stage.lock();
            let profile = stage.profile.clone();
            let style = if self.kind == "lint" { profile.linter } else { profile.diagnosing };
            let longest = if style == Diagnosing::Versioned { 400 } else { 15 };
            let stale = !stage.healthy && stage.dice.chance(profile.faults / 2);
            (style, stage.dice.range(0, longest), stale)
        };
        if style == Diagnosing::Pulled {
            return;
        }
        let open: Vec<String> = self.model.lock().open.keys().cloned().collect();
        for name in open {
            let server = self.clone();
            self.later(wait, async move { server.push(&name, style, stale) });
        }
    }

    fn push(&self, name: &str, style: Diagnosing, stale: bool) {
        let tree = self.known();
        let model = self.model.lock();
        let Some((version, _)) = model.open.get(name).filter(|_| !model.indexing) else { return };
        let version = *version;
        drop(model);
        let mut stage = self.stage.lock();
        let items = answers::findings(self, &mut stage, &tree, name);
        let uri = stage.site(self.workspace).uri(name);
        let mut messages = vec![];
        let mut params = json!({"uri": uri, "diagnostics": items});
        if style == Diagnosing::Versioned {
            params["version"] = version.into();
            if stale && version > 1 {
                stage.cover("push: of an older version");
                let old = json!({"uri": uri, "version": version - 1, "diagnostics": [answers::stale_finding()]});
                messages.push(json!({"method": "textDocument/publishDiagnostics", "params": old}));
            }
        }
        messages.push(json!({"method": "textDocument/publishDiagnostics", "params": params}));
        stage.cover("push: sent");
        let digest = stage.digest(&params);
        stage.note(format!("{} pushes {name} version {version} {digest}", self.name()));
        drop(stage);
        messages.iter().for_each(|message| self.send(message));
    }
}
