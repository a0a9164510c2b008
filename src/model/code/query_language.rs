//! The query language of `search_code`, of the command line and of web pages: filters, phrases, regular expressions, and negation
//! (`docs/internals/reference/query-language.md`).
//!
//! Pure. Text that only looks like the language is text: `std::vec`, `http://x`, `Foo: bar`, `->`, `--flag`, an unclosed quote. Invariants:
//! parsing never fails but for the errors of [`LanguageError`]; the text of a parsed query parses to the same query.

use super::kind::SymbolKind;
use super::query::CaseRule;
use crate::limits::MAX_QUERY_TERMS;
use codeyard_base::words;
use written::pattern_text;

mod written;

words! {
    /// The filters, in the order in which documents list them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FilterName {
        /// The workspace, or the folder of its root.
        Repo => "repo",
        /// The language of the file.
        Lang => "lang",
        /// The path of the file.
        Path => "path",
        /// The name of the symbol.
        Sym => "sym",
        /// The kind of the symbol.
        Kind => "kind",
        /// Whether case matters.
        Case => "case",
    }
    /// The text before the colon.
    fn as_str;
    /// The filter with this name.
    fn parse;
}

/// One term of a query. Terms that ask for the same are equal, however they are spelt.
#[derive(Debug, Clone)]
pub struct QueryTerm {
    /// Whether what matches the term is left out.
    pub is_excluded: bool,
    /// What the term asks for.
    pub subject: TermSubject,
    /// How the query spells it. A word can begin with a quote or a slash that is never closed: `"x path:"a" y"` is a word, a filter and a
    /// word, but `"x path:a y"` is one phrase. So the terms of a query can be written in another spelling only if nothing is before them.
    spelling: Option<String>,
}

impl PartialEq for QueryTerm {
    fn eq(&self, other: &Self) -> bool {
        (self.is_excluded, &self.subject) == (other.is_excluded, &other.subject)
    }
}

impl Eq for QueryTerm {}

/// What a term asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TermSubject {
    /// A word without white space, as it stands.
    Word(String),
    /// An exact text: `"two words"`.
    Phrase(String),
    /// A regular expression: `/fn \w+/`.
    Regex(String),
    /// A filter: `lang:rust`.
    Filter(FilterName, String),
}

/// A parsed query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedSearch {
    /// In the order of the text.
    pub terms: Vec<QueryTerm>,
}

/// Why a text is no query. The messages name what is valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LanguageError {
    /// There is no such filter.
    #[error(
        "There is no filter `{name}:`. The filters are {}. To search for the text, write \"{name}:{value}\" in quotes.",
        FilterName::all_text()
    )]
    UnknownFilter {
        /// The text before the colon.
        name: String,
        /// The text after it.
        value: String,
    },
    /// The value isn't one of those that the filter takes.
    #[error("`{}:{value}` is not valid: {expected}.", .filter.as_str())]
    WrongValue { filter: FilterName, value: String, expected: String },
    /// A phrase or an expression, and a condition on symbols.
    #[error(
        "A phrase or an expression finds lines, which have no name and no kind. Leave out sym:, kind: and mode symbol, or the phrase."
    )]
    LinesHaveNoKind,
    /// Only what is left out, or how text is compared.
    #[error(
        "The query says only what to leave out or how to compare. Add a word, a name, \"a phrase\", /an expression/, or a filter such as path: or kind: to list what passes it."
    )]
    NothingToFind,
    #[error("The query has more than {MAX_QUERY_TERMS} terms. Remove some.")]
    TooManyTerms,
}

/// Names that other search engines have for a filter, and misspelt ones. They are errors rather than text. Sorted.
const MISTAKEN_FILTERS: &[&str] = &[
    "archived", "branch", "ext", "extension", "f", "file", "filename", "fork", "in", "is", "kinds", "langs",
    "language", "languages", "org", "paths", "r", "repos", "repository", "rev", "select", "symbol", "symbols", "syms",
];

impl FilterName {
    fn all_text() -> String {
        Self::ALL.map(|filter| format!("{}:", filter.as_str())).join(" ")
    }
}

impl ParsedSearch {
    /// Parses a query.
    ///
    /// # Errors
    /// [`LanguageError`].
    pub fn parse(text: &str) -> Result<Self, LanguageError> {
        let mut terms = Vec::new();
        let mut unknown = None;
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (term, after) = next_term(rest, &mut unknown)?;
            let spelling = Some(rest[..rest.len() - after.len()].to_owned());
            terms.push(QueryTerm { spelling, ..term });
            if terms.len() > MAX_QUERY_TERMS {
                return Err(LanguageError::TooManyTerms);
            }
            rest = after.trim_start();
        }
        let parsed = Self { terms };
        let has_filter = parsed.terms.iter().any(|term| matches!(term.subject, TermSubject::Filter(..)));
        match unknown {
            // Beside a filter, another one was meant. Alone it is text, such as `key:value`.
            Some((name, value)) if has_filter => return Err(LanguageError::UnknownFilter { name, value }),
            _ => {}
        }
        if parsed.finds_something() {
            return Ok(parsed);
        }
        // Words that look excluded, such as `-Wall`, are what is searched if there is nothing else.
        let is_word = |term: &QueryTerm| matches!(term.subject, TermSubject::Word(_));
        if !parsed.terms.is_empty() && parsed.terms.iter().all(is_word) {
            let words = text.split_whitespace().map(|word| QueryTerm::word(word.to_owned()));
            return Ok(Self { terms: words.collect() });
        }
        if parsed.terms.is_empty() { Ok(parsed) } else { Err(LanguageError::NothingToFind) }
    }

    /// Whether there is a term that names what is searched, or a filter whose files or symbols are listed.
    fn finds_something(&self) -> bool {
        self.terms.iter().any(|term| match &term.subject {
            TermSubject::Word(_) | TermSubject::Phrase(_) | TermSubject::Regex(_) => !term.is_excluded,
            TermSubject::Filter(name, _) => *name != FilterName::Case && !term.is_excluded,
        })
    }
}

impl QueryTerm {
    /// A term that no text spells yet.
    pub(super) fn new(is_excluded: bool, subject: TermSubject) -> Self {
        Self { is_excluded, subject, spelling: None }
    }

    fn word(text: String) -> Self {
        Self::new(false, TermSubject::Word(text))
    }
}

/// The first term of `text`, which begins with no white space, and the text behind it.
fn next_term<'t>(text: &'t str, unknown: &mut Option<(String, String)>) -> Result<(QueryTerm, &'t str), LanguageError> {
    let excluded = text
        .strip_prefix('-')
        .filter(|rest| rest.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '"' | '/')));
    let body = excluded.unwrap_or(text);
    let is_excluded = excluded.is_some();
    let term = |subject| QueryTerm::new(is_excluded, subject);
    if let Some((phrase, rest)) = quoted(body).filter(|(phrase, rest)| !phrase.is_empty() && ends_term(rest)) {
        return Ok((term(TermSubject::Phrase(phrase)), rest));
    }
    if let Some((pattern, rest)) = regex(body) {
        return Ok((term(TermSubject::Regex(pattern)), rest));
    }
    if let Some((filter, value, rest)) = filter(body, unknown)? {
        return Ok((term(TermSubject::Filter(filter, value)), rest));
    }
    let (word, rest) = body.split_at(body.find(char::is_whitespace).unwrap_or(body.len()));
    // What excludes nothing that is a word, such as `-/path`, keeps its sign.
    let is_word = !is_excluded || word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    Ok(match is_word {
        true => (term(TermSubject::Word(word.to_owned())), rest),
        false => (QueryTerm::word(format!("-{word}")), rest),
    })
}

fn ends_term(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(char::is_whitespace)
}

/// The text in quotes at the beginning, with `\"` and `\\` resolved, and the text behind them.
fn quoted(text: &str) -> Option<(String, &str)> {
    delimited(text, '"', |escaped| matches!(escaped, '"' | '\\'))
}

/// The expression between slashes at the beginning, with `\/` resolved. A path, a comment and a division are none.
fn regex(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('/')?;
    if inner.starts_with(|c: char| c.is_whitespace() || matches!(c, '/' | '*')) {
        return None;
    }
    delimited(text, '/', |escaped| escaped == '/').filter(|(_, rest)| ends_term(rest))
}

/// The text between two `mark`s. A backslash before a character for which `is_escape` holds stands for that character; any other backslash
/// stays, with the character behind it.
fn delimited(text: &str, mark: char, is_escape: impl Fn(char) -> bool) -> Option<(String, &str)> {
    let inner = text.strip_prefix(mark)?;
    let mut found = String::new();
    let mut characters = inner.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == mark {
            return Some((found, &inner[at + mark.len_utf8()..]));
        }
        if character != '\\' {
            found.push(character);
            continue;
        }
        match characters.next() {
            Some((_, escaped)) if is_escape(escaped) => found.push(escaped),
            Some((_, escaped)) => found.extend(['\\', escaped]),
            None => return None,
        }
    }
    None
}

/// A filter at the beginning: its name, its value, and the text behind it.
fn filter<'t>(
    text: &'t str,
    unknown: &mut Option<(String, String)>,
) -> Result<Option<(FilterName, String, &'t str)>, LanguageError> {
    let Some((name, after)) = text.split_once(':') else { return Ok(None) };
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    // `std::vec`, `http://x`, `Foo: bar`
    if !is_name || ends_term(after) || after.starts_with([':', '=']) || after.starts_with("//") {
        return Ok(None);
    }
    let bare = || after.split_at(after.find(char::is_whitespace).unwrap_or(after.len()));
    let expression = regex(after).filter(|_| name == FilterName::Sym.as_str());
    let expression = expression.map(|(pattern, rest)| (format!("/{}/", pattern_text(&pattern)), rest));
    let in_quotes = || quoted(after).filter(|(value, rest)| !value.is_empty() && ends_term(rest));
    let (value, rest) = match expression.or_else(in_quotes) {
        Some((value, rest)) => (value, rest),
        None => {
            let (value, rest) = bare();
            (value.to_owned(), rest)
        }
    };
    match FilterName::parse(name) {
        Some(filter) => {
            check(filter, &value)?;
            Ok(Some((filter, value, rest)))
        }
        None if MISTAKEN_FILTERS.binary_search(&name).is_ok() => {
            Err(LanguageError::UnknownFilter { name: name.to_owned(), value })
        }
        None => {
            unknown.get_or_insert_with(|| (name.to_owned(), value));
            Ok(None)
        }
    }
}

/// Checks values that only this module knows. The index checks languages and names.
fn check(filter: FilterName, value: &str) -> Result<(), LanguageError> {
    let expected = match filter {
        FilterName::Kind if SymbolKind::parse(value).is_none() => {
            let kinds: Vec<&str> = SymbolKind::ALL.iter().map(|kind| kind.as_str()).collect();
            format!("the kinds are {}", kinds.join(", "))
        }
        FilterName::Repo if !value.chars().all(is_name_char) => {
            "it takes the name of a workspace, or a pattern with `*` and `?`".to_owned()
        }
        FilterName::Case if case_rule(value).is_none() => {
            "case: takes yes (it matters), no (it doesn't) or smart (it does if the text has a capital)".to_owned()
        }
        _ => return Ok(()),
    };
    Err(LanguageError::WrongValue { filter, value: value.to_owned(), expected })
}

/// Whether a name of a workspace or a pattern of names can have the character.
fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '*' | '?')
}

/// The expression that a value of `sym:` is, if it stands between slashes, with `\/` resolved.
pub fn name_expression(value: &str) -> Option<String> {
    regex(value).filter(|(_, rest)| rest.is_empty()).map(|(pattern, _)| pattern)
}

/// The rule that a value of `case:` names.
pub(super) fn case_rule(value: &str) -> Option<CaseRule> {
    match value {
        "yes" => Some(CaseRule::Sensitive),
        "no" => Some(CaseRule::Insensitive),
        value => CaseRule::parse(value),
    }
}

#[cfg(test)]
#[path = "query_language/tests.rs"]
mod tests;
