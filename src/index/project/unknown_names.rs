//! Says that a name doesn't exist, and which ones are nearly the same.
//!
//! Invariant: what several roots say merges into one sentence, which doesn't depend on their order unless one of them has the name with
//! another kind.

use std::fmt;

use super::manifest_view::ManifestView;
use super::source_reader::SourceReader;
use super::symbol_search::{refuse_store_error, refuse_symbol_index_error};
use super::{Project, QueryContext};
use crate::classify::Provenance;
use crate::language::Language;
use crate::manifest::ManifestEntry;
use crate::ranked::{RankedQuery, normalize};
use crate::text::{Pattern, TextQuery};
use codeyard_model::code::{CaseRule, CodeRefusal, DetailLevel, LocateBy, LocateQuery, ResultRow, RowOptions};

/// Names that a sentence lists.
const MAX_LISTED_NAMES: usize = 5;
/// Characters of the query that a sentence repeats.
const MAX_REPEATED_CHARS: usize = 80;

/// Files that may contain the name and that are looked at, for each name that no symbol has.
const MAX_CHECKED_FILES: usize = 500;

/// How these warnings begin.
const BEGINNING: &str = "No symbol is named '";

/// Whether a warning says that a name doesn't exist. Where several roots answer, it is true only if all say so.
pub fn is_unknown_name_warning(warning: &str) -> bool {
    warning.starts_with(BEGINNING)
}

/// How the warning about a phrase begins that no line contains.
const PHRASE_BEGINNING: &str = "No line contains \"";

/// The warning that no line contains a phrase.
pub(super) fn absent_phrase(phrase: &str) -> String {
    format!("{PHRASE_BEGINNING}{}\".", phrase.chars().take(MAX_REPEATED_CHARS).collect::<String>())
}

/// Whether a warning says that no line contains a phrase. Where several roots answer, it is true only if all say so.
pub fn is_absent_phrase_warning(warning: &str) -> bool {
    warning.starts_with(PHRASE_BEGINNING)
}

/// A name that no symbol has, or none of the requested kind and language. Its text is a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsentName {
    name: String,
    /// The sentence that symbols of another kind or language have the name.
    elsewhere: Option<String>,
    /// The nearest names as they are spelt, sorted: the number of different letters, the name without case and separators, its spelling.
    nearest: Vec<(u8, String, String)>,
    /// Files that contain the name and that the parser couldn't read whole, sorted: one of them may declare it.
    unread: Vec<String>,
}

impl AbsentName {
    /// `nearest` are names without case and separators; `rows` has their spellings.
    fn new(name: &str, nearest: &[(u8, String)], rows: &[ResultRow]) -> Self {
        let mut spelt: Vec<(u8, String, String)> = Vec::new();
        for (distance, near) in nearest {
            for row in rows.iter().filter(|row| normalize(&row.name) == *near) {
                spelt.push((*distance, near.clone(), row.name.clone()));
            }
        }
        spelt.sort();
        spelt.dedup();
        Self {
            name: name.chars().take(MAX_REPEATED_CHARS).collect(),
            elsewhere: None,
            nearest: spelt,
            unread: Vec::new(),
        }
    }

    /// What this and another root say of the same name.
    #[must_use]
    pub fn merged(mut self, other: Self) -> Self {
        self.elsewhere = self.elsewhere.or(other.elsewhere);
        self.nearest.extend(other.nearest);
        self.nearest.sort();
        self.nearest.dedup();
        self.unread.extend(other.unread);
        self.unread.sort();
        self.unread.dedup();
        self
    }
}

impl fmt::Display for AbsentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(elsewhere) = &self.elsewhere {
            return f.write_str(elsewhere);
        }
        let name = &self.name;
        let mut listed: Vec<&str> = Vec::new();
        for (_, _, spelling) in &self.nearest {
            if listed.len() < MAX_LISTED_NAMES && !listed.contains(&spelling.as_str()) {
                listed.push(spelling);
            }
        }
        match self.unread.as_slice() {
            [] => write!(f, "{BEGINNING}{name}'.")?,
            [first, more @ ..] => {
                let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
                write!(
                    f,
                    "'{name}' may be the name of a symbol that isn't known: it is in {first}{more}, which could not be parsed whole. \
                     search_code with mode text shows its lines."
                )?;
            }
        }
        match listed.as_slice() {
            [] => Ok(()),
            [one] => write!(f, " The nearest name is {one}."),
            several => write!(f, " The nearest names are {}.", several.join(", ")),
        }
    }
}

impl Project {
    /// That no symbol has this name. `nearest` are names without case and separators, nearest first; `rows` has their spellings.
    pub(super) fn unknown_name(
        &self,
        name: &str,
        nearest: &[(u8, String)],
        rows: &[ResultRow],
        context: &QueryContext,
        view: &ManifestView,
    ) -> Result<AbsentName, Box<CodeRefusal>> {
        let unread = self.unread_files(name, context, view)?;
        Ok(AbsentName { unread, ..AbsentName::new(name, nearest, rows) })
    }

    /// The files that contain the last part of a name and that the parser couldn't read whole. Of many, only some are looked at.
    fn unread_files(
        &self,
        name: &str,
        context: &QueryContext,
        view: &ManifestView,
    ) -> Result<Vec<String>, Box<CodeRefusal>> {
        let last = name.trim().rsplit([':', '.', '#', '>', '\\']).next().unwrap_or_default();
        let query = TextQuery { pattern: last.to_owned(), is_regex: false, case: CaseRule::Sensitive, word: true };
        let Some(pattern) = Some(query).filter(|_| !last.is_empty()).and_then(|query| Pattern::new(&query).ok()) else {
            return Ok(Vec::new());
        };
        let candidates = view.candidates(&pattern).map_err(|error| refuse_store_error(&error, context))?;
        let is_candidate = |entry: &&ManifestEntry| {
            entry.language.is_some_and(Language::is_code) && candidates.may_match(entry.content)
        };
        let mut sources = SourceReader::new(self);
        let mut unread = Vec::new();
        for entry in view.manifest.entries().iter().filter(is_candidate).take(MAX_CHECKED_FILES) {
            let facts =
                context.facts(&self.facts, view, entry.content).map_err(|error| refuse_store_error(&error, context))?;
            let is_unparsed = entry.class.provenance == Provenance::Minified
                || entry.size > self.settings().sizes.parsed
                || entry.language.is_some_and(|language| !language.has_grammar());
            if (facts.has_errors || is_unparsed) && sources.contains(view, entry, &pattern) {
                unread.push(entry.path.to_string());
            }
        }
        Ok(unread)
    }

    /// Says that no symbol has this name with the kind and language of the query, and which names are nearly the same.
    pub(super) fn absent_name(
        &self,
        name: &str,
        query: &LocateQuery,
        context: &QueryContext,
        view: &ManifestView,
    ) -> Result<AbsentName, Box<CodeRefusal>> {
        let refuse = |error| refuse_symbol_index_error(&error, context);
        let limit = MAX_LISTED_NAMES;
        let anywhere = RankedQuery { text: name, kind: None, language: None, filter: None, files: false, limit };
        let others = view.ranked.locate(&anywhere, &self.settings().weights).map_err(refuse)?;
        if others.hits.is_empty() {
            return self.nearest_names(query, context, view);
        }
        let rows = self.ranked(others, &suggested(&query.shape), context, view)?.rows;
        let elsewhere = Some(not_of_kind(name, query, &rows));
        Ok(AbsentName { elsewhere, ..AbsentName::new(name, &[], &[]) })
    }

    /// The names that are nearly the name of the query.
    pub(super) fn nearest_names(
        &self,
        query: &LocateQuery,
        context: &QueryContext,
        view: &ManifestView,
    ) -> Result<AbsentName, Box<CodeRefusal>> {
        let name = match &query.by {
            LocateBy::Name(name) => name.as_str(),
            LocateBy::SymbolId(_) | LocateBy::StableId(_) | LocateBy::ResultId(_) => "",
        };
        let limit = MAX_LISTED_NAMES;
        let anywhere = RankedQuery { text: name, kind: None, language: None, filter: None, files: false, limit };
        let weights = self.settings().weights;
        let near =
            view.ranked.nearest(&anywhere, &weights).map_err(|error| refuse_symbol_index_error(&error, context))?;
        let nearest = near.nearest.clone();
        let rows = self.ranked(near, &suggested(&query.shape), context, view)?.rows;
        self.unknown_name(name, &nearest, &rows, context, view)
    }
}

/// The options for rows whose names are suggested.
fn suggested(shape: &RowOptions) -> RowOptions {
    RowOptions { limit: MAX_LISTED_NAMES, detail: DetailLevel::Location, ..shape.clone() }
}

/// The warning that symbols of this name have another kind or language than the query asks for.
fn not_of_kind(name: &str, query: &LocateQuery, rows: &[ResultRow]) -> String {
    let mut kinds: Vec<&str> = rows.iter().filter_map(|row| row.kind).map(|kind| kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kind = query.kind.map_or("symbol", |kind| kind.as_str());
    let language = query.shape.language.as_ref().map(|language| format!(" in {language}")).unwrap_or_default();
    let paths: Vec<&str> = rows.first().map(|row| row.path.as_str()).into_iter().collect();
    format!(
        "No {kind}{language} is named '{}', but another symbol is: {} in {}. Repeat the call without kind and language.",
        name.chars().take(MAX_REPEATED_CHARS).collect::<String>(),
        kinds.join(", "),
        paths.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str) -> ResultRow {
        ResultRow { name: name.into(), ..ResultRow::default() }
    }

    #[test]
    fn nearest_names_are_listed_as_they_are_spelt() {
        let rows = [row("getArguments"), row("get_argument"), row("other"), row("getArgument")];
        let nearest = [(1, "getargument".to_owned()), (2, "getarguments".to_owned()), (2, "gone".to_owned())];
        let unknown_name =
            |name: &str, nearest: &[(u8, String)], rows: &[ResultRow]| AbsentName::new(name, nearest, rows).to_string();
        assert_eq!(
            unknown_name("get_argumnet", &nearest, &rows),
            "No symbol is named 'get_argumnet'. The nearest names are getArgument, get_argument, getArguments."
        );
        assert_eq!(unknown_name("x", &nearest[2..], &rows), "No symbol is named 'x'.");
        assert_eq!(
            unknown_name("x", &nearest[1..], &rows),
            "No symbol is named 'x'. The nearest name is getArguments."
        );
        assert!(unknown_name(&"é".repeat(500), &[], &[]).chars().count() < 120);
    }

    #[test]
    fn what_several_roots_say_is_one_sentence_in_any_order() {
        let one = AbsentName::new("opne", &[(1, "open".to_owned())], &[row("open"), row("Open")]);
        let other =
            AbsentName::new("opne", &[(1, "open".to_owned()), (2, "one".to_owned())], &[row("one"), row("open")]);
        let text = "No symbol is named 'opne'. The nearest names are Open, open, one.";
        assert_eq!(one.clone().merged(other.clone()).to_string(), text);
        assert_eq!(other.clone().merged(one.clone()).to_string(), text);
        let elsewhere = AbsentName { elsewhere: Some("It is a class.".into()), ..one };
        assert_eq!(other.merged(elsewhere).to_string(), "It is a class.");
    }
}
