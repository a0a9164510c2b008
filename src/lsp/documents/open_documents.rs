//! The table of documents that are open at one language server.
//!
//! It is pure: it returns notifications and assumes that they are sent, in order. It reads no file. Invariants: the
//! table never exceeds its limits of documents and bytes, except for one document that is too large alone; a version
//! number is never used twice at one server, so a late push of diagnostics can't be taken for a newer text's;
//! [`OpenDocuments::document`] returns exactly the text that the server got last.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::notifications::{
    ContentChange, DidChange, DidClose, DidOpen, DidSave, DocumentIdentifier, DocumentNotification, TextDocumentItem,
    VersionedDocumentIdentifier,
};
use super::range_change::range_change;
use super::sync_options::{ChangeForm, SyncOptions};
use crate::limits::MAX_DOCUMENT_TEXTS_BYTES;
use crate::text::Document;

/// A document as the server has it.
#[derive(Debug, Clone)]
pub struct DocumentState {
    /// Its URI, as it was opened.
    pub uri: Arc<str>,
    pub language: Arc<str>,
    /// The last version that was sent to the server.
    pub version: i32,
    /// SHA-256 of the text.
    pub hash: [u8; 32],
    pub document: Arc<Document>,
    /// An anchor document is closed only when no other document is left to close.
    pub pinned: bool,
    last_use: u64,
}

/// The table of one server.
#[derive(Debug)]
pub struct OpenDocuments {
    documents: BTreeMap<Arc<str>, DocumentState>,
    options: SyncOptions,
    limit: usize,
    limit_bytes: usize,
    bytes: usize,
    uses: u64,
    last_version: i32,
}

impl OpenDocuments {
    /// An empty table of at most `limit` documents (at least one) and `MAX_DOCUMENT_TEXTS_BYTES` of text. Until
    /// `set_options` is called, it assumes the default options.
    pub fn new(limit: usize) -> Self {
        Self {
            documents: BTreeMap::new(),
            options: SyncOptions::default(),
            limit: limit.max(1),
            limit_bytes: MAX_DOCUMENT_TEXTS_BYTES,
            bytes: 0,
            uses: 0,
            last_version: 0,
        }
    }

    /// Sets how the server wants to be notified, as its answer to `initialize` says.
    pub fn set_options(&mut self, options: SyncOptions) {
        self.options = options;
    }

    /// Makes `document` the text that the server has for `uri`: opens it, changes it, or does nothing if the server
    /// already has it. First closes what must be closed to make room. A server that wants saves gets one after a
    /// change.
    pub fn sync(
        &mut self,
        uri: &str,
        language: &str,
        document: &Arc<Document>,
        hash: [u8; 32],
    ) -> Vec<DocumentNotification> {
        self.uses += 1;
        let Some(state) = self.documents.get_mut(uri) else {
            return self.open(uri.into(), language.into(), document, hash, false);
        };
        state.last_use = self.uses;
        if &*state.language == language && state.hash == hash {
            return Vec::new();
        }
        if &*state.language == language && self.options.change != ChangeForm::None {
            return self.change(uri, document, hash);
        }
        let uri = state.uri.clone();
        let pinned = state.pinned;
        let mut notifications = Vec::from_iter(self.close(&uri));
        notifications.extend(self.open(uri, language.into(), document, hash, pinned));
        notifications
    }

    /// Sets or clears the anchor mark of an open document; false if it isn't open.
    pub fn pin(&mut self, uri: &str, pinned: bool) -> bool {
        self.documents.get_mut(uri).map(|state| state.pinned = pinned).is_some()
    }

    /// The save notification of a document, if it is open and the server wants saves.
    pub fn save(&self, uri: &str) -> Option<DocumentNotification> {
        let state = self.documents.get(uri).filter(|_| self.options.open_close)?;
        let include_text = self.options.save?.include_text;
        let text = include_text.then(|| self.options.text_of(&state.document));
        Some(DocumentNotification::DidSave(DidSave {
            text_document: DocumentIdentifier { uri: state.uri.clone() },
            text,
        }))
    }

    /// Closes a document; `None` if it isn't open, or if the server gets no notifications.
    pub fn close(&mut self, uri: &str) -> Option<DocumentNotification> {
        let state = self.documents.remove(uri)?;
        self.bytes -= state.document.text().len();
        let close = DidClose { text_document: DocumentIdentifier { uri: state.uri } };
        self.options.open_close.then_some(DocumentNotification::DidClose(close))
    }

    /// All open documents, ordered by URI.
    pub fn all(&self) -> impl Iterator<Item = &DocumentState> {
        self.documents.values()
    }

    /// The state of an open document.
    pub fn get(&self, uri: &str) -> Option<&DocumentState> {
        self.documents.get(uri)
    }

    /// The text that the server has. Answers are converted with it.
    pub fn document(&self, uri: &str) -> Option<&Arc<Document>> {
        self.documents.get(uri).map(|state| &state.document)
    }

    /// The last version that was sent to the server.
    pub fn version(&self, uri: &str) -> Option<i32> {
        self.documents.get(uri).map(|state| state.version)
    }

    /// Whether a document is open.
    pub fn is_open(&self, uri: &str) -> bool {
        self.documents.contains_key(uri)
    }

    /// The number of open documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether no document is open.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    fn open(
        &mut self,
        uri: Arc<str>,
        language: Arc<str>,
        document: &Arc<Document>,
        hash: [u8; 32],
        pinned: bool,
    ) -> Vec<DocumentNotification> {
        let mut notifications = self.make_room(&uri, 1, document.text().len());
        let version = self.next_version();
        self.bytes += document.text().len();
        let state = DocumentState {
            uri: uri.clone(),
            language,
            version,
            hash,
            document: document.clone(),
            pinned,
            last_use: self.uses,
        };
        notifications.extend(self.options.open_close.then(|| did_open(&state, self.options.text_of(document))));
        self.documents.insert(uri, state);
        notifications
    }

    fn change(&mut self, uri: &str, document: &Arc<Document>, hash: [u8; 32]) -> Vec<DocumentNotification> {
        let version = self.next_version();
        let incremental = self.options.change == ChangeForm::Incremental;
        let Some(state) = self.documents.get_mut(uri) else { return Vec::new() };
        let old = std::mem::replace(&mut state.document, document.clone());
        (state.hash, state.version) = (hash, version);
        let change = if incremental { range_change(&old, document, self.options.encoding) } else { None };
        let change = change.unwrap_or_else(|| ContentChange { range: None, text: self.options.text_of(document) });
        let text_document = VersionedDocumentIdentifier { uri: state.uri.clone(), version };
        self.bytes = self.bytes - old.text().len() + document.text().len();
        let mut notifications = self.make_room(uri, 0, 0);
        if self.options.open_close {
            notifications.push(DocumentNotification::DidChange(DidChange { text_document, content_changes: [change] }));
            notifications.extend(self.save(uri));
        }
        notifications
    }

    /// Closes the least recently used documents, anchors last, until `more` documents and `bytes` fit. `uri` stays.
    fn make_room(&mut self, uri: &str, more: usize, bytes: usize) -> Vec<DocumentNotification> {
        let mut notifications = Vec::new();
        while self.documents.len() + more > self.limit || self.bytes + bytes > self.limit_bytes {
            let others = self.documents.values().filter(|state| &*state.uri != uri);
            let Some(victim) = others.min_by_key(|state| (state.pinned, state.last_use)) else { break };
            let victim = victim.uri.clone();
            notifications.extend(self.close(&victim));
        }
        notifications
    }

    /// No server lives long enough for two thousand million changes.
    fn next_version(&mut self) -> i32 {
        self.last_version = self.last_version.saturating_add(1);
        self.last_version
    }
}

fn did_open(state: &DocumentState, text: Arc<str>) -> DocumentNotification {
    DocumentNotification::DidOpen(DidOpen {
        text_document: TextDocumentItem {
            uri: state.uri.clone(),
            language_id: state.language.clone(),
            version: state.version,
            text,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::sync_options::SaveOptions;
    use super::*;
    use crate::text::encoding::PositionEncoding;
    use codeyard_base::digest::sha256;

    const FULL: SyncOptions = SyncOptions {
        open_close: true,
        change: ChangeForm::Full,
        save: None,
        encoding: PositionEncoding::Utf16,
        strips_mark: false,
    };

    fn table(limit: usize, options: SyncOptions) -> OpenDocuments {
        let mut table = OpenDocuments::new(limit);
        table.set_options(options);
        table
    }

    fn sync(table: &mut OpenDocuments, uri: &str, text: &str) -> Vec<String> {
        let sent = table.sync(uri, "rust", &Arc::new(Document::new(text)), sha256(text));
        let total: usize = table.all().map(|state| state.document.text().len()).sum();
        assert_eq!(table.bytes, total);
        shown(sent)
    }

    /// `open a 1`, `change a 2`, `save a`, `close a`: the method's last word, the URI, the version.
    fn shown(sent: impl IntoIterator<Item = DocumentNotification>) -> Vec<String> {
        let line = |notifications: DocumentNotification| match &notifications {
            DocumentNotification::DidOpen(open) => {
                format!("open {} {}", notifications.uri(), open.text_document.version)
            }
            DocumentNotification::DidChange(change) => {
                format!("change {} {}", notifications.uri(), change.text_document.version)
            }
            DocumentNotification::DidSave(_) => format!("save {}", notifications.uri()),
            DocumentNotification::DidClose(_) => format!("close {}", notifications.uri()),
        };
        sent.into_iter().map(line).collect()
    }

    fn json(notifications: &DocumentNotification) -> (&'static str, String) {
        (notifications.method(), serde_json::to_string(notifications).unwrap())
    }

    #[test]
    fn a_server_that_strips_byte_order_marks_gets_no_mark() {
        let marked = Arc::new(Document::new("\u{feff}x"));
        for (strips_mark, sent) in [(true, "x"), (false, "\u{feff}x")] {
            let mut table = table(9, SyncOptions { strips_mark, ..FULL });
            let notifications = table.sync("a", "l", &marked, sha256(b"x"));
            let DocumentNotification::DidOpen(open) = &notifications[0] else { panic!("{notifications:?}") };
            assert_eq!(&*open.text_document.text, sent);
        }
    }

    #[test]
    fn opened_once_changed_when_different_closed_once() {
        let mut table = table(9, FULL);
        assert_eq!(sync(&mut table, "a", "1"), ["open a 1"]);
        assert_eq!(sync(&mut table, "a", "1"), Vec::<String>::new());
        assert_eq!(sync(&mut table, "a", "2"), ["change a 2"]);
        assert_eq!((table.version("a"), table.document("a").unwrap().text()), (Some(2), "2"));
        assert_eq!(sync(&mut table, "b", "1"), ["open b 3"]);
        assert!(table.is_open("a") && !table.is_open("c"));
        assert_eq!(shown(table.close("a")), ["close a"]);
        assert_eq!(table.close("a"), None);
        assert_eq!(sync(&mut table, "a", "2"), ["open a 4"], "a version is never used twice");
    }

    #[test]
    fn notifications_follow_the_protocol() {
        let save = Some(SaveOptions { include_text: true });
        let mut table = table(9, SyncOptions { save, ..FULL });
        let text = |text: &str| (Arc::new(Document::new(text)), sha256(text));
        let (one, hash) = text("a\n");
        let opened = table.sync("u", "rust", &one, hash);
        let open = r#"{"textDocument":{"uri":"u","languageId":"rust","version":1,"text":"a\n"}}"#;
        assert_eq!(json(&opened[0]), ("textDocument/didOpen", open.into()));
        let (two, hash) = text("b");
        let changed = table.sync("u", "rust", &two, hash);
        let change = r#"{"textDocument":{"uri":"u","version":2},"contentChanges":[{"text":"b"}]}"#;
        assert_eq!(json(&changed[0]), ("textDocument/didChange", change.into()));
        assert_eq!(json(&changed[1]), ("textDocument/didSave", r#"{"textDocument":{"uri":"u"},"text":"b"}"#.into()));
        let close = table.close("u").unwrap();
        assert_eq!(json(&close), ("textDocument/didClose", r#"{"textDocument":{"uri":"u"}}"#.into()));
    }

    #[test]
    fn large_texts_are_sent_as_a_range_change_where_supported() {
        let body = "line é\n".repeat(4_000);
        let mut table = table(9, SyncOptions { change: ChangeForm::Incremental, ..FULL });
        sync(&mut table, "u", &body);
        let changed = body.replacen("line", "lines", 2);
        let sent = table.sync("u", "rust", &Arc::new(Document::new(changed.as_str())), sha256(&changed));
        let range = r#"{"start":{"line":0,"character":4},"end":{"line":1,"character":4}}"#;
        let change = format!(
            r#"{{"textDocument":{{"uri":"u","version":2}},"contentChanges":[{{"range":{range},"text":"s é\nlines"}}]}}"#
        );
        assert_eq!(json(&sent[0]).1, change);
        table.set_options(FULL);
        let sent = table.sync("u", "rust", &Arc::new(Document::new(body.as_str())), sha256(&body));
        let DocumentNotification::DidChange(whole) = &sent[0] else { panic!("a change") };
        assert_eq!((whole.content_changes[0].range, &*whole.content_changes[0].text), (None, body.as_str()));
    }

    #[test]
    fn saves_are_sent_where_wanted() {
        let mut without = table(9, FULL);
        sync(&mut without, "a", "1");
        assert_eq!(without.save("a"), None);
        let mut with = table(9, SyncOptions { save: Some(SaveOptions { include_text: false }), ..FULL });
        assert_eq!(sync(&mut with, "a", "1"), ["open a 1"]);
        assert_eq!(sync(&mut with, "a", "2"), ["change a 2", "save a"]);
        assert_eq!(json(&with.save("a").unwrap()).1, r#"{"textDocument":{"uri":"a"}}"#);
        assert_eq!(with.save("b"), None);
    }

    #[test]
    fn without_change_support_or_with_another_language_a_document_is_reopened() {
        let mut table = table(9, SyncOptions { change: ChangeForm::None, ..FULL });
        sync(&mut table, "a", "1");
        table.pin("a", true);
        assert_eq!(sync(&mut table, "a", "2"), ["close a", "open a 2"]);
        assert!(table.get("a").unwrap().pinned, "an anchor stays one");
        table.set_options(FULL);
        let document = table.document("a").unwrap().clone();
        let hash = table.get("a").unwrap().hash;
        assert_eq!(shown(table.sync("a", "python", &document, hash)), ["close a", "open a 3"]);
    }

    #[test]
    fn a_server_without_open_close_gets_nothing() {
        let mut table =
            table(1, SyncOptions { open_close: false, save: Some(SaveOptions { include_text: true }), ..FULL });
        for (uri, text) in [("a", "1"), ("a", "2"), ("b", "1")] {
            assert_eq!(sync(&mut table, uri, text), Vec::<String>::new());
        }
        assert_eq!((table.len(), table.save("b"), table.close("b")), (1, None, None));
    }

    #[test]
    fn the_least_recently_used_is_closed_and_anchors_last() {
        let mut table = table(3, FULL);
        for uri in ["anchor", "a", "b"] {
            sync(&mut table, uri, "1");
        }
        assert!(table.pin("anchor", true) && !table.pin("gone", true));
        sync(&mut table, "a", "1");
        assert_eq!(sync(&mut table, "c", "1"), ["close b", "open c 4"]);
        assert_eq!(sync(&mut table, "d", "1"), ["close a", "open d 5"]);
        table.pin("c", true);
        table.pin("d", true);
        assert_eq!(sync(&mut table, "e", "1"), ["close anchor", "open e 6"], "only anchors are left to close");
        assert_eq!(table.len(), 3);
        table.pin("c", false);
        assert_eq!(sync(&mut table, "f", "1"), ["close c", "open f 7"], "no anchor any more, and the oldest");
    }

    #[test]
    fn bytes_are_bounded_too() {
        let mut table = table(9, FULL);
        table.limit_bytes = 10;
        assert_eq!(sync(&mut table, "a", "1234"), ["open a 1"]);
        assert_eq!(sync(&mut table, "b", "1234"), ["open b 2"]);
        assert_eq!(sync(&mut table, "a", "123456"), ["change a 3"]);
        assert_eq!(sync(&mut table, "a", "1234567"), ["close b", "change a 4"]);
        assert_eq!(sync(&mut table, "c", "12345678901"), ["close a", "open c 5"], "alone too large, and still opened");
        assert_eq!(sync(&mut table, "d", ""), ["close c", "open d 6"]);
    }
}
