//! Epochs: counters that say whether a retained result still holds (contract §3.6.2).
//!
//! Invariant: an epoch never decreases, not even over a restart: `roots` starts at a persisted floor.

use std::fmt::Write;

/// The four epochs of one workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Epochs {
    /// Changes of the root set.
    pub roots: u64,
    /// Changes of documents' texts.
    pub text: u64,
    /// Files made, deleted, renamed.
    pub fs: u64,
    /// Changes of diagnostics.
    pub diagnostics: u64,
}

/// Which epochs a tool's result hangs on; `roots` always counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochMask {
    /// Whether texts count.
    pub text: bool,
    /// Whether files count.
    pub fs: bool,
    /// Whether diagnostics count.
    pub diagnostics: bool,
}

impl EpochMask {
    /// Navigation and symbols: text and files.
    pub const NAVIGATION: Self = Self { text: true, fs: true, diagnostics: false };
    /// Diagnostics of a document: everything (decisions §3).
    pub const DOCUMENT_DIAGNOSTICS: Self = Self { text: true, fs: true, diagnostics: true };
    /// Diagnostics of the workspace: diagnostics and files (contract §3.6.2).
    pub const WORKSPACE_DIAGNOSTICS: Self = Self { text: false, fs: true, diagnostics: true };
}

impl Epochs {
    /// The epochs that `mask` names, comma-separated in the contract's order: roots, text, fs, diagnostics.
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

    /// Whether the epochs that `mask` names are those of `other`.
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
    fn tuples_name_what_counts_in_order() {
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
