//! What a server can do: what it said at `initialize`, what it registered later and took back, and what it turned out not
//! to implement.
//!
//! A cheap shared handle; the connection updates it before it answers the server's registration. It asks nobody and
//! decides nothing. Invariants: registrations are bounded in number and bytes; a method that was answered with -32601 is
//! unsupported until it is registered anew; every change raises [`Capabilities::revision`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::limits;

/// How a server wants to hear of changed documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SyncKind {
    /// Not at all.
    #[default]
    None,
    /// The whole text each time.
    Full,
    /// Changed ranges.
    Incremental,
}

/// How documents are synchronised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextSync {
    /// `didOpen` and `didClose` are wanted.
    pub open_close: bool,
    /// How `didChange` is wanted.
    pub change: SyncKind,
    /// `didSave` is wanted.
    pub save: bool,
}

/// How diagnostics are pulled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullDiagnostics {
    /// Sent back with each request.
    pub identifier: Option<String>,
    /// A change in one file changes diagnostics in others.
    pub inter_file: bool,
    /// `workspace/diagnostic` is answered.
    pub workspace: bool,
}

/// Files a server wants to hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchPattern {
    /// The folder URI of a relative pattern.
    pub base: Option<String>,
    /// The glob; without a base it may be absolute.
    pub pattern: String,
    /// 1 created, 2 changed, 4 deleted, added up.
    pub kind: u8,
}

/// One `client/registerCapability` item.
#[derive(Debug, Deserialize)]
pub(super) struct Registration<'a> {
    id: String,
    method: String,
    #[serde(borrow, default, rename = "registerOptions")]
    options: Option<&'a RawValue>,
}

/// One `client/unregisterCapability` item.
#[derive(Debug, Deserialize)]
pub(super) struct Unregistration {
    id: String,
    method: String,
}

/// There is no room for more registrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyRegistrations;

/// A shared, living view of a server's capabilities.
#[derive(Debug, Clone, Default)]
pub struct Capabilities(Arc<RwLock<State>>);

#[derive(Debug, Default)]
struct State {
    fixed: Value,
    registered: BTreeMap<String, Late>,
    registered_bytes: usize,
    unsupported: BTreeSet<String>,
    revision: u64,
}

#[derive(Debug)]
struct Late {
    method: String,
    options: Value,
    bytes: usize,
}

impl Capabilities {
    /// Sets what `initialize` answered (the `capabilities` object).
    pub fn set_fixed(&self, fixed: Value) {
        let mut state = self.0.write();
        state.fixed = fixed;
        state.revision += 1;
    }

    /// The raw `capabilities` object of `initialize`.
    pub fn fixed(&self) -> Value {
        self.0.read().fixed.clone()
    }

    /// Rises with every change.
    pub fn revision(&self) -> u64 {
        self.0.read().revision
    }

    /// Whether `method` may be asked. Methods no capability stands for count as supported.
    pub fn supports(&self, method: &str) -> bool {
        let state = self.0.read();
        if state.unsupported.contains(method) {
            return false;
        }
        let Some((path, registered_as)) = provider(method) else { return true };
        let late = state.late(registered_as).any(|late| {
            let part = path.split_once('.').map_or(Some(&late.options), |(_, rest)| part(&late.options, rest));
            // A registration without options stands for the whole feature, not for its optional part.
            path == registered_path(path) || part.is_some_and(is_on)
        });
        late || part(&state.fixed, path).is_some_and(is_on)
    }

    /// Remembers that the server doesn't implement `method`, whatever it advertises.
    pub fn mark_unsupported(&self, method: &str) {
        let mut state = self.0.write();
        if state.unsupported.len() < limits::MAX_REGISTRATIONS && state.unsupported.insert(method.to_owned()) {
            state.revision += 1;
        }
    }

    /// How documents are synchronised.
    pub fn text_sync(&self) -> TextSync {
        let state = self.0.read();
        let mut sync = match state.fixed.get("textDocumentSync") {
            Some(Value::Number(kind)) => TextSync { open_close: true, change: sync_kind(kind.as_u64()), save: true },
            Some(Value::Object(options)) => TextSync {
                open_close: options.get("openClose").is_some_and(is_on),
                change: sync_kind(options.get("change").and_then(Value::as_u64)),
                save: options.get("save").is_some_and(is_on),
            },
            _ => TextSync::default(),
        };
        sync.open_close |= state.late("textDocument/didOpen").next().is_some();
        sync.save |= state.late("textDocument/didSave").next().is_some();
        if let Some(late) = state.late("textDocument/didChange").last() {
            sync.change = sync_kind(late.options.get("syncKind").and_then(Value::as_u64));
        }
        sync
    }

    /// How diagnostics are pulled, one entry per provider: the one of `initialize` and each registered one.
    /// Empty: they can't be pulled, or only pushed ones exist.
    pub fn pull_diagnostics(&self) -> Vec<PullDiagnostics> {
        let state = self.0.read();
        if state.unsupported.contains("textDocument/diagnostic") {
            return Vec::new();
        }
        let fixed = state.fixed.get("diagnosticProvider").filter(|value| is_on(value));
        fixed.into_iter().chain(state.late("textDocument/diagnostic").map(|late| &late.options)).map(pull).collect()
    }

    /// Whether `workspace/diagnostic` is answered.
    pub fn workspace_diagnostics(&self) -> bool {
        self.supports("workspace/diagnostic")
    }

    /// All globs of files the server wants to hear of, at most `MAX_WATCH_PATTERNS`.
    pub fn watched(&self) -> Vec<WatchPattern> {
        let state = self.0.read();
        let watchers = state
            .late("workspace/didChangeWatchedFiles")
            .filter_map(|late| late.options.get("watchers").and_then(Value::as_array))
            .flatten();
        watchers.filter_map(watch_pattern).take(limits::MAX_WATCH_PATTERNS).collect()
    }

    /// Takes late registrations; the methods they are for. One with a known id replaces the earlier one.
    pub(super) fn register(&self, items: &[Registration<'_>]) -> Result<Vec<String>, TooManyRegistrations> {
        let mut state = self.0.write();
        let incoming: usize = items.iter().map(|item| item.options.map_or(0, |raw| raw.get().len())).sum();
        if state.registered.len() + items.len() > limits::MAX_REGISTRATIONS
            || state.registered_bytes + incoming > limits::MAX_REGISTRATION_BYTES
        {
            return Err(TooManyRegistrations);
        }
        for item in items {
            let bytes = item.options.map_or(0, |raw| raw.get().len());
            let options = item.options.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null);
            state.unsupported.remove(&item.method);
            state.registered_bytes += bytes;
            let late = Late { method: item.method.clone(), options, bytes };
            if let Some(old) = state.registered.insert(item.id.clone(), late) {
                state.registered_bytes -= old.bytes;
            }
        }
        state.revision += 1;
        Ok(items.iter().map(|item| item.method.clone()).collect())
    }

    /// Takes registrations back; the methods they were for. Unknown ids are ignored.
    pub(super) fn unregister(&self, items: &[Unregistration]) -> Vec<String> {
        let mut state = self.0.write();
        let mut methods = Vec::new();
        for item in items {
            if state.registered.get(&item.id).is_some_and(|late| late.method == item.method)
                && let Some(old) = state.registered.remove(&item.id)
            {
                state.registered_bytes -= old.bytes;
                methods.push(old.method);
            }
        }
        state.revision += 1;
        methods
    }
}

impl State {
    fn late<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Late> {
        self.registered.values().filter(move |late| late.method == method)
    }
}

/// Where `initialize` advertises `method` (a dotted path), and the method under which it is registered late.
fn provider(method: &str) -> Option<(&'static str, &'static str)> {
    Some(match method {
        "textDocument/definition" => ("definitionProvider", "textDocument/definition"),
        "textDocument/declaration" => ("declarationProvider", "textDocument/declaration"),
        "textDocument/typeDefinition" => ("typeDefinitionProvider", "textDocument/typeDefinition"),
        "textDocument/implementation" => ("implementationProvider", "textDocument/implementation"),
        "textDocument/references" => ("referencesProvider", "textDocument/references"),
        "textDocument/hover" => ("hoverProvider", "textDocument/hover"),
        "textDocument/signatureHelp" => ("signatureHelpProvider", "textDocument/signatureHelp"),
        "textDocument/completion" => ("completionProvider", "textDocument/completion"),
        "textDocument/documentSymbol" => ("documentSymbolProvider", "textDocument/documentSymbol"),
        "textDocument/documentHighlight" => ("documentHighlightProvider", "textDocument/documentHighlight"),
        "textDocument/codeAction" => ("codeActionProvider", "textDocument/codeAction"),
        "codeAction/resolve" => ("codeActionProvider.resolveProvider", "textDocument/codeAction"),
        "textDocument/formatting" => ("documentFormattingProvider", "textDocument/formatting"),
        "textDocument/rename" => ("renameProvider", "textDocument/rename"),
        "textDocument/prepareRename" => ("renameProvider.prepareProvider", "textDocument/rename"),
        "textDocument/foldingRange" => ("foldingRangeProvider", "textDocument/foldingRange"),
        "textDocument/inlayHint" => ("inlayHintProvider", "textDocument/inlayHint"),
        "textDocument/diagnostic" => ("diagnosticProvider", "textDocument/diagnostic"),
        "workspace/diagnostic" => ("diagnosticProvider.workspaceDiagnostics", "textDocument/diagnostic"),
        "textDocument/semanticTokens/full" => ("semanticTokensProvider.full", "textDocument/semanticTokens"),
        "textDocument/prepareCallHierarchy" | "callHierarchy/incomingCalls" | "callHierarchy/outgoingCalls" => {
            ("callHierarchyProvider", "textDocument/prepareCallHierarchy")
        }
        "textDocument/prepareTypeHierarchy" | "typeHierarchy/supertypes" | "typeHierarchy/subtypes" => {
            ("typeHierarchyProvider", "textDocument/prepareTypeHierarchy")
        }
        "workspace/symbol" => ("workspaceSymbolProvider", "workspace/symbol"),
        "workspaceSymbol/resolve" => ("workspaceSymbolProvider.resolveProvider", "workspace/symbol"),
        "workspace/executeCommand" => ("executeCommandProvider", "workspace/executeCommand"),
        _ => return None,
    })
}

fn registered_path(path: &str) -> &str {
    path.split_once('.').map_or(path, |(provider, _)| provider)
}

fn part<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

/// A capability is on when it is `true` or has options.
fn is_on(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

fn sync_kind(number: Option<u64>) -> SyncKind {
    match number {
        Some(1) => SyncKind::Full,
        Some(2) => SyncKind::Incremental,
        _ => SyncKind::None,
    }
}

fn pull(options: &Value) -> PullDiagnostics {
    PullDiagnostics {
        identifier: options.get("identifier").and_then(Value::as_str).map(str::to_owned),
        inter_file: options.get("interFileDependencies").is_some_and(is_on),
        workspace: options.get("workspaceDiagnostics").is_some_and(is_on),
    }
}

fn watch_pattern(watcher: &Value) -> Option<WatchPattern> {
    let kind = watcher.get("kind").and_then(Value::as_u64).unwrap_or(7);
    let kind = u8::try_from(kind & 7).unwrap_or(7);
    let glob = watcher.get("globPattern")?;
    let (base, pattern) = match glob {
        Value::String(pattern) => (None, pattern.clone()),
        Value::Object(relative) => {
            let base = relative.get("baseUri")?;
            // The base is a URI or a workspace folder.
            let uri = base.as_str().or_else(|| base.get("uri").and_then(Value::as_str))?;
            (Some(uri.to_owned()), relative.get("pattern")?.as_str()?.to_owned())
        }
        _ => return None,
    };
    Some(WatchPattern { base, pattern, kind })
}
