//! The uses of a name in code that the facts don't hold: plain uses, names in templates, and local names.
//!
//! Invariant: only a bounded amount of text is read for one request, the file of the question first.

use super::cursor_context::CursorContext;
use super::fact_source::FactSource;
use codeyard_index::extract::{CodeName, NamePlaces, names_in_code};
use codeyard_index::project::navigator::FileFacts;

/// Bytes of source that are read for the uses of one name.
const MAX_SCANNED_BYTES: usize = 4 * 1024 * 1024;

/// Finds the places of one name, within a budget of bytes.
pub(crate) struct UsageScan<'s> {
    source: &'s dyn FactSource,
    word: &'s str,
    left: usize,
}

impl<'s> UsageScan<'s> {
    pub(crate) fn new(source: &'s dyn FactSource, word: &'s str) -> Self {
        Self { source, word, left: MAX_SCANNED_BYTES }
    }

    /// The places of the name in a file. None if too much was read before.
    pub(crate) fn read(&mut self, file: &FileFacts) -> NamePlaces {
        NamePlaces::of(&file.facts, self.places(file))
    }

    fn places(&mut self, file: &FileFacts) -> Vec<CodeName> {
        if self.left == 0 {
            return Vec::new();
        }
        let Some(language) = file.language.filter(|language| language.is_code()) else { return Vec::new() };
        let Some(document) = self.source.text(&file.path) else { return Vec::new() };
        let text = document.text();
        if text.len() > self.left {
            self.left = 0;
            return Vec::new();
        }
        self.left -= text.len();
        names_in_code(language, text, self.word)
    }
}

/// The places of the local name at the cursor, as [`NamePlaces::local`].
pub(crate) fn local_places(
    source: &dyn FactSource,
    current: &FileFacts,
    cursor: &CursorContext,
) -> Option<Vec<CodeName>> {
    // Nothing is read for a name that can't be local.
    may_be_local(cursor)
        .then(|| UsageScan::new(source, &cursor.word).read(current))
        .and_then(|places| local(&places, current, cursor))
}

/// The places of the local name at the cursor among all places of the name in its file, as [`NamePlaces::local`].
pub(crate) fn local(places: &NamePlaces, current: &FileFacts, cursor: &CursorContext) -> Option<Vec<CodeName>> {
    if !may_be_local(cursor) {
        return None;
    }
    places.local(&current.facts, &cursor.word, cursor.line + 1, cursor.column)
}

fn may_be_local(cursor: &CursorContext) -> bool {
    cursor.declared.is_none() && !cursor.is_member
}
