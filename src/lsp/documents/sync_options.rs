//! How a server wants document notifications: its `textDocumentSync` capability.
//!
//! Invariant: whatever a server sends, the options are usable; an unreadable capability counts as a missing one.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::text::Document;
use crate::text::encoding::PositionEncoding;

/// The notifications that a server wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncOptions {
    /// Opening and closing. Without it nothing is sent.
    pub open_close: bool,
    /// Changes, and their form. `None`: a changed document is closed and opened again.
    pub change: ChangeForm,
    pub save: Option<SaveOptions>,
    /// The encoding of the ranges in changes.
    pub encoding: PositionEncoding,
    /// Texts are sent without a byte order mark.
    pub strips_mark: bool,
}

/// The form of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeForm {
    /// No changes.
    None,
    Full,
    /// Ranges with their new text, or whole texts.
    Incremental,
}

/// The form of saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaveOptions {
    pub include_text: bool,
}

impl Default for SyncOptions {
    /// The options of a server without the capability: documents are opened, and changed as whole texts. A server
    /// that doesn't want them ignores the notifications.
    fn default() -> Self {
        let encoding = PositionEncoding::Utf16;
        Self { open_close: true, change: ChangeForm::Full, save: None, encoding, strips_mark: false }
    }
}

impl SyncOptions {
    /// The text of a document as it is sent.
    pub(super) fn text_of(&self, document: &Document) -> Arc<str> {
        if self.strips_mark { document.unmarked_text() } else { document.shared_text() }
    }

    /// Reads `capabilities.textDocumentSync`, which is a number or an object.
    pub fn from_capability(capability: Option<&RawValue>, encoding: PositionEncoding) -> Self {
        let read = capability.and_then(|raw| serde_json::from_str::<Capability>(raw.get()).ok());
        match read {
            Some(Capability::Kind(kind)) => Self { change: change_kind(Some(kind)), encoding, ..Self::default() },
            Some(Capability::Options(options)) => Self {
                open_close: options.open_close.unwrap_or(false),
                change: change_kind(options.change),
                save: options.save.and_then(Save::options),
                encoding,
                strips_mark: false,
            },
            None => Self { encoding, ..Self::default() },
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Capability {
    Kind(u64),
    Options(Options),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    open_close: Option<bool>,
    change: Option<u64>,
    save: Option<Save>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Save {
    Enabled(bool),
    #[serde(rename_all = "camelCase")]
    Options {
        include_text: Option<bool>,
    },
}

impl Save {
    fn options(self) -> Option<SaveOptions> {
        match self {
            Self::Enabled(enabled) => enabled.then_some(SaveOptions { include_text: false }),
            Self::Options { include_text } => Some(SaveOptions { include_text: include_text.unwrap_or(false) }),
        }
    }
}

fn change_kind(kind: Option<u64>) -> ChangeForm {
    match kind {
        Some(1) => ChangeForm::Full,
        Some(2) => ChangeForm::Incremental,
        _ => ChangeForm::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> SyncOptions {
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        SyncOptions::from_capability(Some(raw), PositionEncoding::Utf8)
    }

    #[test]
    fn numbers_and_objects() {
        let utf8 = SyncOptions { encoding: PositionEncoding::Utf8, ..SyncOptions::default() };
        assert_eq!(read("1"), utf8);
        assert_eq!(read("2"), SyncOptions { change: ChangeForm::Incremental, ..utf8 });
        assert_eq!(read("0"), SyncOptions { change: ChangeForm::None, ..utf8 });
        let incremental =
            SyncOptions { change: ChangeForm::Incremental, save: Some(SaveOptions { include_text: false }), ..utf8 };
        assert_eq!(read(r#"{"openClose":true,"change":2,"save":{}}"#), incremental);
        assert_eq!(read(r#"{"openClose":true,"change":2,"save":true,"willSave":true}"#), incremental);
        assert_eq!(read(r#"{"openClose":true,"change":2,"save":false}"#), SyncOptions { save: None, ..incremental });
        let with_text = SyncOptions { save: Some(SaveOptions { include_text: true }), ..incremental };
        assert_eq!(read(r#"{"openClose":true,"change":2,"save":{"includeText":true}}"#), with_text);
        assert_eq!(read(r#"{"change":1}"#), SyncOptions { open_close: false, ..utf8 });
    }

    #[test]
    fn an_unreadable_capability_counts_as_missing() {
        let utf8 = SyncOptions { encoding: PositionEncoding::Utf8, ..SyncOptions::default() };
        for json in ["null", "\"full\"", "-1", "1.5", r#"{"openClose":1}"#, "[1]"] {
            assert_eq!(read(json), utf8, "{json}");
        }
        assert_eq!(SyncOptions::from_capability(None, PositionEncoding::Utf8), utf8);
    }
}
