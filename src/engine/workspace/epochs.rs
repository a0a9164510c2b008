//! The epochs of a workspace: changes of files, which concern every answer, and changes of its language servers, which concern the answers that
//! the server may have a part in.
//!
//! A server that starts, ends or asks for a refresh makes only such answers and their cursors outdated. Invariants: the epochs of a scope never
//! decrease; a change of a server counts in every scope whose answers may come from it, and for the whole workspace.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::limits::MAX_SERVER_EPOCHS;
use crate::query::plan::Choice;
use crate::server::child_key::ChildKey;
use codeyard_lsp::registry::{ManifestKind, MultiRoot, ServerSpec};
use codeyard_model::epoch::{EpochMask, EpochScope, Epochs, ResultEpochs};

/// The documents that a language server may have a part in answers about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnsweredDocuments {
    /// Ids of the languages that it serves.
    languages: Vec<String>,
    /// Ids of the languages whose uses it is asked for.
    used: Vec<String>,
    /// Where its documents are; `None`: anywhere in the workspace.
    root: Option<PathBuf>,
}

/// The changes of one language server.
#[derive(Debug)]
struct ServerEpochs {
    documents: AnsweredDocuments,
    text: u64,
    diagnostics: u64,
}

/// The epochs of a workspace, by cause.
#[derive(Debug)]
pub(super) struct WorkspaceEpochs {
    /// All changes but those of `servers`. Without a watcher, every query raises them.
    of_files: Epochs,
    /// The same, without what queries raise.
    seen: Epochs,
    servers: BTreeMap<ChildKey, ServerEpochs>,
}

impl AnsweredDocuments {
    /// Those of a selected server.
    pub(super) fn of(choice: &Choice) -> Self {
        let ServerSpec { languages, uses, root: rule, .. } = &*choice.server;
        // Every other manifest is in a folder around the files.
        let is_around_files = choice.multi_root == MultiRoot::No && !rule.manifests.contains(&ManifestKind::Cargo);
        Self {
            languages: languages.clone(),
            used: uses.iter().flat_map(|used| used.languages.clone()).collect(),
            root: is_around_files.then(|| choice.key.root.clone()),
        }
    }

    fn include(&self, scope: &EpochScope) -> bool {
        let EpochScope::Document { language, path } = scope else { return true };
        // It may be asked for the uses of a name wherever the document is.
        self.used.contains(language)
            || self.languages.contains(language) && self.root.as_ref().is_none_or(|root| path.starts_with(root))
    }
}

impl WorkspaceEpochs {
    /// Those of a workspace that begins with this epoch of its roots.
    pub(super) fn beginning_at(roots: u64) -> Self {
        Self { of_files: Epochs { roots, ..Epochs::default() }, seen: Epochs::default(), servers: BTreeMap::new() }
    }

    /// Counts a change that concerns every answer.
    pub(super) fn advance(&mut self, text: bool, fs: bool, diagnostics: bool) {
        bump(&mut self.of_files, text, fs, diagnostics);
        bump(&mut self.seen, text, fs, diagnostics);
    }

    /// Counts what may have changed since the last query because nothing watches the files. Executions in progress stay valid.
    pub(super) fn advance_unseen(&mut self) {
        bump(&mut self.of_files, true, true, true);
    }

    /// A server is started whose changes are to be counted for these documents.
    pub(super) fn add_server(&mut self, key: &ChildKey, documents: AnsweredDocuments) {
        if self.servers.get(key).is_some_and(|server| server.documents == documents) {
            return;
        }
        if self.servers.len() >= MAX_SERVER_EPOCHS {
            std::mem::take(&mut self.servers).into_values().for_each(|server| self.count_everywhere(&server));
        }
        let new = ServerEpochs { documents, text: 0, diagnostics: 0 };
        if let Some(before) = self.servers.insert(key.clone(), new) {
            self.count_everywhere(&before);
        }
    }

    /// Counts a change of the answers of one server.
    pub(super) fn advance_server(&mut self, key: &ChildKey, text: bool, diagnostics: bool) {
        match self.servers.get_mut(key) {
            Some(server) => {
                server.text += u64::from(text);
                server.diagnostics += u64::from(diagnostics);
            }
            None => self.advance(text, false, diagnostics),
        }
    }

    /// The present epochs of a scope.
    pub(super) fn of(&self, scope: &EpochScope) -> Epochs {
        self.with_servers(self.of_files, scope)
    }

    /// The same, without what queries raise because nothing watches the files.
    pub(super) fn seen_of(&self, scope: &EpochScope) -> Epochs {
        self.with_servers(self.seen, scope)
    }

    /// What an execution begins with: the epochs that its result depends on, and what was seen of them.
    pub(super) fn at_start(&self, scope: EpochScope, mask: EpochMask) -> (ResultEpochs, ResultEpochs) {
        let seen = ResultEpochs { epochs: self.seen_of(&scope), mask, scope: scope.clone() };
        (ResultEpochs { epochs: self.of(&scope), mask, scope }, seen)
    }

    /// The epochs without the changes of servers.
    pub(super) fn of_files(&self) -> Epochs {
        self.of_files
    }

    fn with_servers(&self, mut epochs: Epochs, scope: &EpochScope) -> Epochs {
        for server in self.servers.values().filter(|server| server.documents.include(scope)) {
            epochs.text += server.text;
            epochs.diagnostics += server.diagnostics;
        }
        epochs
    }

    /// Keeps the changes of a server whose documents are no longer known.
    fn count_everywhere(&mut self, server: &ServerEpochs) {
        for epochs in [&mut self.of_files, &mut self.seen] {
            epochs.text += server.text;
            epochs.diagnostics += server.diagnostics;
        }
    }
}

fn bump(epochs: &mut Epochs, text: bool, fs: bool, diagnostics: bool) {
    epochs.text += u64::from(text);
    epochs.fs += u64::from(fs);
    epochs.diagnostics += u64::from(diagnostics);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn documents(languages: &[&str], used: &[&str], root: Option<&str>) -> AnsweredDocuments {
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        AnsweredDocuments { languages: owned(languages), used: owned(used), root: root.map(PathBuf::from) }
    }

    fn key(kind: &str, root: &str) -> ChildKey {
        ChildKey { kind: kind.into(), root: root.into() }
    }

    fn document(language: &str, path: &str) -> EpochScope {
        EpochScope::Document { language: language.into(), path: path.into() }
    }

    #[test]
    fn a_change_of_a_server_counts_only_where_it_may_answer() {
        let mut epochs = WorkspaceEpochs::beginning_at(7);
        epochs.add_server(&key("ty", "/w"), documents(&["python"], &[], None));
        epochs.add_server(&key("clangd", "/w/a"), documents(&["c"], &[], Some("/w/a")));
        epochs.add_server(&key("vue", "/w/web"), documents(&["vue"], &["typescript"], Some("/w/web")));
        let scopes = [
            EpochScope::Workspace,
            document("python", "/w/x.py"),
            document("c", "/w/a/x.c"),
            document("c", "/w/ab/x.c"),
            document("vue", "/w/web/x.vue"),
            document("vue", "/w/other/x.vue"),
            document("typescript", "/w/other/x.ts"),
        ];
        let changed_by = |epochs: &mut WorkspaceEpochs, kind: &str, root: &str| {
            let before = scopes.each_ref().map(|scope| epochs.of(scope));
            epochs.advance_server(&key(kind, root), true, true);
            let after = scopes.each_ref().map(|scope| epochs.of(scope));
            before.iter().zip(after).map(|(before, after)| u8::from(*before != after)).collect::<Vec<_>>()
        };
        assert_eq!(changed_by(&mut epochs, "ty", "/w"), [1, 1, 0, 0, 0, 0, 0]);
        assert_eq!(changed_by(&mut epochs, "clangd", "/w/a"), [1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(changed_by(&mut epochs, "vue", "/w/web"), [1, 0, 0, 0, 1, 0, 1]);
        assert_eq!(changed_by(&mut epochs, "unknown", "/w"), [1; 7]);
        assert_eq!(epochs.of(&EpochScope::Workspace), Epochs { roots: 7, text: 4, fs: 0, diagnostics: 4 });
    }

    /// What may happen to the epochs.
    #[derive(Debug, Clone)]
    enum Event {
        File(bool, bool),
        Unseen,
        Started(usize, usize),
        Changed(usize, bool, bool),
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let event = prop_oneof![
            (any::<bool>(), any::<bool>()).prop_map(|(text, fs)| Event::File(text, fs)),
            Just(Event::Unseen),
            (0..3_usize, 0..4_usize).prop_map(|(server, documents)| Event::Started(server, documents)),
            (0..3_usize, any::<bool>(), any::<bool>())
                .prop_map(|(server, text, diag)| Event::Changed(server, text, diag)),
        ];
        proptest::collection::vec(event, 0..40)
    }

    proptest! {
        #[test]
        fn no_epoch_of_a_scope_ever_decreases(events in events()) {
            let kinds = [
                documents(&["python"], &[], None),
                documents(&["python", "c"], &[], Some("/w/a")),
                documents(&["vue"], &["python"], Some("/w/b")),
                documents(&["c"], &[], None),
            ];
            let scopes = [EpochScope::Workspace, document("python", "/w/a/x"), document("c", "/w/a/x"), document("c", "/w/x")];
            let mut epochs = WorkspaceEpochs::beginning_at(1);
            let keys = ["a", "b", "c"].map(|kind| key(kind, "/w"));
            for event in events {
                let before = scopes.each_ref().map(|scope| (epochs.of(scope), epochs.seen_of(scope)));
                match event {
                    Event::File(text, fs) => epochs.advance(text, fs, true),
                    Event::Unseen => epochs.advance_unseen(),
                    Event::Started(server, documents) => epochs.add_server(&keys[server], kinds[documents].clone()),
                    Event::Changed(server, text, diag) => epochs.advance_server(&keys[server], text, diag),
                }
                let after = scopes.each_ref().map(|scope| (epochs.of(scope), epochs.seen_of(scope)));
                for ((was, was_seen), (is, is_seen)) in before.into_iter().zip(after) {
                    for (was, is) in [(was, is), (was_seen, is_seen)] {
                        prop_assert!(was.text <= is.text && was.fs <= is.fs && was.diagnostics <= is.diagnostics);
                    }
                }
            }
        }
    }
}
