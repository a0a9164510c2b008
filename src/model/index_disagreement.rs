//! What the code index has of a name that the answer of a language server lacks (`docs/internals/decisions/index-comparison.md`).
//!
//! Catalogs show it as a sentence. Invariant: it is bounded, and the same files give the same text.

use crate::name_list::listed;
use codeyard_base::visible::make_visible_line;

/// Most files or places that a sentence names.
const MAX_NAMED: usize = 3;

/// Most characters of a name or a path in a sentence; longer ones are cut.
const MAX_TEXT_CHARS: usize = 120;

/// What the index has that an answer lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexDisagreement {
    /// Files that use the name in code and have no entry in the answer.
    UsedElsewhere(UnlistedPlaces),
    /// Definitions of the name that aren't in the answer.
    DefinedElsewhere(UnlistedPlaces),
    /// Macros whose names contain what was searched for and that aren't in the answer.
    UnlistedMacros(UnlistedPlaces),
}

/// Files or places that an answer lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlistedPlaces {
    pub name: String,
    /// Number of files or places.
    pub count: usize,
    /// The first of them, with more after them if there are.
    pub examples: String,
}

impl UnlistedPlaces {
    fn new(name: &str, mut places: Vec<String>) -> Self {
        places.sort_unstable();
        places.dedup();
        let count = places.len();
        for place in &mut places {
            shorten(place);
        }
        let mut name = name.to_owned();
        shorten(&mut name);
        Self { name, count, examples: listed(&places, MAX_NAMED) }
    }
}

fn shorten(text: &mut String) {
    make_visible_line(text);
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT_CHARS) {
        text.truncate(end);
        text.push('…');
    }
}

impl IndexDisagreement {
    /// These files use the name.
    pub fn used_elsewhere(name: &str, files: Vec<String>) -> Self {
        Self::UsedElsewhere(UnlistedPlaces::new(name, files))
    }

    /// The name is defined at these places: `path:line`.
    pub fn defined_elsewhere(name: &str, places: Vec<String>) -> Self {
        Self::DefinedElsewhere(UnlistedPlaces::new(name, places))
    }

    /// These macros have the name in theirs: `NAME at path:line`.
    pub fn unlisted_macros(name: &str, places: Vec<String>) -> Self {
        Self::UnlistedMacros(UnlistedPlaces::new(name, places))
    }

    /// The files or places.
    pub fn places(&self) -> &UnlistedPlaces {
        match self {
            Self::UsedElsewhere(places) | Self::DefinedElsewhere(places) | Self::UnlistedMacros(places) => places,
        }
    }

    /// The sentence below the answer.
    pub fn sentence(&self) -> String {
        let UnlistedPlaces { name, count, examples } = self.places();
        match (self, count) {
            (Self::UsedElsewhere(_), 1) => {
                format!("1 file uses the name `{name}` and isn't in this answer: {examples}; search the name as text.")
            }
            (Self::UsedElsewhere(_), _) => {
                format!(
                    "{count} files use the name `{name}` and aren't in this answer: {examples}; search the name as text."
                )
            }
            (Self::DefinedElsewhere(_), 1) => format!("By its name, `{name}` is defined at {examples}."),
            (Self::DefinedElsewhere(_), _) => format!("By their name, {count} symbols are `{name}`: {examples}."),
            (Self::UnlistedMacros(_), 1) => {
                format!("1 macro has `{name}` in its name and isn't in this answer: {examples}.")
            }
            (Self::UnlistedMacros(_), _) => {
                format!("{count} macros have `{name}` in their names and aren't in this answer: {examples}.")
            }
        }
    }

    /// Bytes of its texts.
    pub fn heap_bytes(&self) -> usize {
        let places = self.places();
        places.name.len() + places.examples.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_bounded_and_name_the_first_places() {
        let files = |count: usize| (0..count).rev().map(|number| format!("a{number}.py")).collect();
        assert_eq!(
            IndexDisagreement::used_elsewhere("runAll", files(1)).sentence(),
            "1 file uses the name `runAll` and isn't in this answer: a0.py; search the name as text."
        );
        assert_eq!(
            IndexDisagreement::used_elsewhere("runAll", files(5)).sentence(),
            "5 files use the name `runAll` and aren't in this answer: a0.py, a1.py, a2.py and 2 more; search the name as text."
        );
        assert_eq!(
            IndexDisagreement::defined_elsewhere("runAll", vec!["a.py:3".into()]).sentence(),
            "By its name, `runAll` is defined at a.py:3."
        );
        let macros = ["MAX_A at a.h:1", "MAX_B at a.h:2"].map(String::from);
        assert_eq!(
            IndexDisagreement::unlisted_macros("max", macros[..1].to_vec()).sentence(),
            "1 macro has `max` in its name and isn't in this answer: MAX_A at a.h:1."
        );
        assert_eq!(
            IndexDisagreement::unlisted_macros("max", macros.to_vec()).sentence(),
            "2 macros have `max` in their names and aren't in this answer: MAX_A at a.h:1, MAX_B at a.h:2."
        );
        let long = IndexDisagreement::used_elsewhere(&"n".repeat(10_000), vec!["é".repeat(10_000); 9]);
        assert!(long.sentence().chars().count() < 600, "{}", long.sentence());
    }
}
