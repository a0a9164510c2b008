//! Epochs: counters that show whether a retained result is still valid.
//!
//! Invariant: an epoch never decreases, in any scope. After a restart `roots` starts at a persisted floor.

use std::fmt::Write;
use std::path::PathBuf;

/// The four epochs of one workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Epochs {
    /// Number of changes of the root set.
    pub roots: u64,
    /// Number of changes of file contents.
    pub text: u64,
    /// Number of created, deleted and renamed files.
    pub fs: u64,
    /// Number of changes of diagnostics.
    pub diagnostics: u64,
}

/// The epochs that a tool's result depends on. `roots` always counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochMask {
    /// Whether `text` counts.
    pub text: bool,
    /// Whether `fs` counts.
    pub fs: bool,
    /// Whether `diagnostics` counts.
    pub diagnostics: bool,
}

/// Whose changes count for a result. Changes of files and of the root set count in every scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EpochScope {
    /// Those of all language servers.
    Workspace,
    /// Those of the language servers that may have a part in answers about this document.
    Document {
        /// The id of its language.
        language: String,
        path: PathBuf,
    },
}

/// The epochs that a result was computed at, and which of them it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultEpochs {
    /// The epochs of the scope.
    pub epochs: Epochs,
    /// Which of them count.
    pub mask: EpochMask,
    /// Whose changes they count.
    pub scope: EpochScope,
}

impl EpochScope {
    /// Bytes of its texts.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Workspace => 0,
            Self::Document { language, path } => language.len() + path.as_os_str().len(),
        }
    }
}

impl ResultEpochs {
    /// Whether they are still the `present` ones of their scope.
    pub fn are_current(&self, present: impl FnOnce(&EpochScope) -> Epochs) -> bool {
        self.epochs.agree(&present(&self.scope), self.mask)
    }
}

impl EpochMask {
    /// Navigation and symbols: `text` and `fs`.
    pub const NAVIGATION: Self = Self { text: true, fs: true, diagnostics: false };
    /// Diagnostics of a document: all epochs.
    pub const DOCUMENT_DIAGNOSTICS: Self = Self { text: true, fs: true, diagnostics: true };
    /// Diagnostics of the workspace: `diagnostics` and `fs`.
    pub const WORKSPACE_DIAGNOSTICS: Self = Self { text: false, fs: true, diagnostics: true };
}

impl Epochs {
    /// The epochs selected by `mask`, comma-separated in the contract's order: roots, text, fs, diagnostics.
    pub fn tuple(&self, mask: EpochMask) -> String {
        let mut text = String::with_capacity(32);
        // Writing to a string doesn't fail.
        let _ = write!(text, "{}", self.roots);
        let rest = [(mask.text, self.text), (mask.fs, self.fs), (mask.diagnostics, self.diagnostics)];
        for (_, epoch) in rest.into_iter().filter(|(counts, _)| *counts) {
            let _ = write!(text, ",{epoch}");
        }
        text
    }

    /// Whether the epochs selected by `mask` equal those of `other`.
    pub fn agree(&self, other: &Self, mask: EpochMask) -> bool {
        self.roots == other.roots
            && (!mask.text || self.text == other.text)
            && (!mask.fs || self.fs == other.fs)
            && (!mask.diagnostics || self.diagnostics == other.diagnostics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuple_has_the_selected_epochs_in_order() {
        let epochs = Epochs { roots: 1, text: 2, fs: 3, diagnostics: 4 };
        assert_eq!(epochs.tuple(EpochMask::NAVIGATION), "1,2,3");
        assert_eq!(epochs.tuple(EpochMask::WORKSPACE_DIAGNOSTICS), "1,3,4");
        assert_eq!(epochs.tuple(EpochMask::DOCUMENT_DIAGNOSTICS), "1,2,3,4");
        let later = Epochs { text: 9, ..epochs };
        for mask in [EpochMask::NAVIGATION, EpochMask::WORKSPACE_DIAGNOSTICS, EpochMask::DOCUMENT_DIAGNOSTICS] {
            assert_eq!(epochs.agree(&later, mask), epochs.tuple(mask) == later.tuple(mask));
        }
    }
}
