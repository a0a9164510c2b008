//! A server's capabilities: what `initialize` returned, what the server registered and unregistered later, and which
//! methods it turned out not to implement.
//!
//! [`Capabilities`] is a cheap shared handle. The connection updates it before it answers the server's registration.
//! Invariants: registrations are bounded in number and bytes; a method that was answered with -32601 stays
//! unsupported until the server registers it again; every change raises [`Capabilities::revision`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::limits;
use crate::methods;

/// How diagnostics are pulled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullDiagnostics {
    /// To be sent with each request.
    pub identifier: Option<String>,
    /// A change in one file can change diagnostics in other files.
    pub inter_file: bool,
    /// The server answers `workspace/diagnostic`.
    pub workspace: bool,
}

/// A glob of files whose changes a server wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchPattern {
    /// The folder URI of a relative pattern.
    pub base: Option<String>,
    /// The glob. Without a base it may be absolute.
    pub pattern: String,
    /// A sum of 1 (created), 2 (changed) and 4 (deleted).
    pub kind: u8,
}

impl WatchPattern {
    /// Matches every change of every file.
    pub fn all_files() -> Self {
        Self { base: None, pattern: "**/*".to_owned(), kind: 7 }
    }
}

/// One `client/registerCapability` item.
#[derive(Debug, Deserialize)]
pub(super) struct Registration<'a> {
    id: String,
    method: String,
    #[serde(borrow, default, rename = "registerOptions")]
    options: Option<&'a RawValue>,
}

impl Registration<'_> {
    fn bytes(&self) -> usize {
        self.id.len() + self.method.len() + self.options.map_or(0, |raw| raw.get().len())
    }
}

/// One `client/unregisterCapability` item.
#[derive(Debug, Deserialize)]
pub(super) struct Unregistration {
    id: String,
    method: String,
}

/// The limit on registrations is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyRegistrations;

/// A shared, live view of a server's capabilities.
#[derive(Debug, Clone, Default)]
pub struct Capabilities(Arc<RwLock<CapabilityState>>);

#[derive(Debug, Default)]
struct CapabilityState {
    static_capabilities: Value,
    registered: BTreeMap<String, DynamicRegistration>,
    registered_bytes: usize,
    unsupported: BTreeSet<String>,
    revision: u64,
}

#[derive(Debug)]
struct DynamicRegistration {
    method: String,
    options: Value,
    bytes: usize,
}

impl Capabilities {
    /// Sets the `capabilities` object that `initialize` returned.
    pub fn set_static(&self, static_capabilities: Value) {
        let mut state = self.0.write();
        state.static_capabilities = static_capabilities;
        state.revision += 1;
    }

    /// The raw `capabilities` object that `initialize` returned.
    pub fn static_capabilities(&self) -> Value {
        self.0.read().static_capabilities.clone()
    }

    /// Rises with every change.
    pub fn revision(&self) -> u64 {
        self.0.read().revision
    }

    /// Whether `method` may be requested. A method that no capability describes counts as supported.
    pub fn supports(&self, method: &str) -> bool {
        let state = self.0.read();
        if state.unsupported.contains(method) {
            return false;
        }
        let Some((path, registered_as)) = capability_location(method) else { return true };
        let dynamic = state.registrations_of(registered_as).any(|registration| {
            let option = path
                .split_once('.')
                .map_or(Some(&registration.options), |(_, rest)| value_at(&registration.options, rest));
            // A registration without options covers the feature, but not its optional part.
            path == registered_path(path) || option.is_some_and(is_on)
        });
        dynamic || value_at(&state.static_capabilities, path).is_some_and(is_on)
    }

    /// Whether a method that isn't supported may be registered yet: the server hasn't refused it.
    pub fn may_register(&self, method: &str) -> bool {
        !self.supports(method) && !self.0.read().unsupported.contains(method)
    }

    /// Whether `initialize` announced no operation at all, so that the server must register what it has.
    pub fn announce_nothing(&self) -> bool {
        let state = self.0.read();
        let announced = state.static_capabilities.as_object();
        !announced.is_some_and(|all| all.iter().any(|(name, value)| name.ends_with("Provider") && is_on(value)))
    }

    /// Records that the server doesn't implement `method`, whatever it advertises.
    pub fn mark_unsupported(&self, method: &str) {
        let mut state = self.0.write();
        if state.unsupported.len() < limits::MAX_REGISTRATIONS && state.unsupported.insert(method.to_owned()) {
            state.revision += 1;
        }
    }

    /// How diagnostics are pulled, one entry per provider: the one from `initialize` and each registered one. Empty:
    /// the server only pushes diagnostics, or has none.
    pub fn pull_diagnostics(&self) -> Vec<PullDiagnostics> {
        let state = self.0.read();
        if state.unsupported.contains("textDocument/diagnostic") {
            return Vec::new();
        }
        let static_capabilities = state.static_capabilities.get("diagnosticProvider").filter(|value| is_on(value));
        static_capabilities
            .into_iter()
            .chain(state.registrations_of("textDocument/diagnostic").map(|registration| &registration.options))
            .map(pull_diagnostics_of)
            .collect()
    }

    /// Whether the server answers `workspace/diagnostic`.
    pub fn workspace_diagnostics(&self) -> bool {
        self.supports("workspace/diagnostic")
    }

    /// Whether the server accepts `workspace/didChangeWorkspaceFolders`.
    pub fn accepts_folder_changes(&self) -> bool {
        let state = self.0.read();
        let folders = value_at(&state.static_capabilities, "workspace.workspaceFolders");
        let is_supported = folders.and_then(|value| value.get("supported")).is_some_and(is_on);
        // Instead of `true` it may be the id of a registration.
        let are_changes_wanted = match folders.and_then(|value| value.get("changeNotifications")) {
            Some(Value::String(id)) => !id.is_empty(),
            value => value.is_some_and(is_on),
        };
        let mut registered = state.registrations_of("workspace/didChangeWorkspaceFolders");
        is_supported && are_changes_wanted || registered.next().is_some()
    }

    /// All globs of files whose changes the server wants to know. If they are more than `MAX_WATCH_PATTERNS` or longer than
    /// `MAX_WATCH_PATTERN_BYTES` together, one glob for all files takes their place.
    pub fn watch_patterns(&self) -> Vec<WatchPattern> {
        let state = self.0.read();
        let watchers = state
            .registrations_of("workspace/didChangeWatchedFiles")
            .filter_map(|registration| registration.options.get("watchers").and_then(Value::as_array))
            .flatten();
        let mut patterns = Vec::new();
        let mut bytes = 0;
        for pattern in watchers.filter_map(watch_pattern) {
            bytes += pattern.pattern.len() + pattern.base.as_ref().map_or(0, String::len);
            if patterns.len() >= limits::MAX_WATCH_PATTERNS || bytes > limits::MAX_WATCH_PATTERN_BYTES {
                return vec![WatchPattern::all_files()];
            }
            patterns.push(pattern);
        }
        patterns
    }

    /// Adds dynamic registrations and returns their methods. One with a known id replaces the earlier one, but for watched files: a server that
    /// registers for more of them under the same id (pyrefly) expects to be notified of all.
    pub(super) fn register(&self, items: &[Registration<'_>]) -> Result<Vec<String>, TooManyRegistrations> {
        let mut state = self.0.write();
        let incoming: usize = items.iter().map(Registration::bytes).sum();
        if state.registered.len() + items.len() > limits::MAX_REGISTRATIONS
            || state.registered_bytes + incoming > limits::MAX_REGISTRATION_BYTES
        {
            return Err(TooManyRegistrations);
        }
        for item in items {
            let bytes = item.bytes();
            let mut options = item.options.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null);
            if let Some(before) = state.registered.get(&item.id)
                && before.method == item.method
                && item.method == methods::DID_CHANGE_WATCHED_FILES
            {
                add_watchers(&mut options, &before.options);
            }
            let bytes = bytes.max(options.to_string().len());
            state.unsupported.remove(&item.method);
            state.registered_bytes += bytes;
            let dynamic = DynamicRegistration { method: item.method.clone(), options, bytes };
            if let Some(old) = state.registered.insert(item.id.clone(), dynamic) {
                state.registered_bytes -= old.bytes;
            }
        }
        state.revision += 1;
        Ok(items.iter().map(|item| item.method.clone()).collect())
    }

    /// Removes registrations and returns their methods. Unknown ids are ignored.
    pub(super) fn unregister(&self, items: &[Unregistration]) -> Vec<String> {
        let mut state = self.0.write();
        let mut methods = Vec::new();
        for item in items {
            if state.registered.get(&item.id).is_some_and(|registration| registration.method == item.method)
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

impl CapabilityState {
    fn registrations_of<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a DynamicRegistration> {
        self.registered.values().filter(move |registration| registration.method == method)
    }
}

/// Where `initialize` advertises `method` (a dotted path), and the method under which it is registered dynamically.
fn capability_location(method: &str) -> Option<(&'static str, &'static str)> {
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

/// Adds the watchers of an earlier registration that `options` doesn't have.
fn add_watchers(options: &mut Value, before: &Value) {
    let earlier = before["watchers"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(watchers) = options.get_mut("watchers").and_then(Value::as_array_mut) {
        for watcher in earlier {
            if !watchers.contains(watcher) {
                watchers.push(watcher.clone());
            }
        }
    }
}

fn registered_path(path: &str) -> &str {
    path.split_once('.').map_or(path, |(provider, _)| provider)
}

fn value_at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

/// A capability is on when it is `true` or has options.
fn is_on(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

fn pull_diagnostics_of(options: &Value) -> PullDiagnostics {
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
