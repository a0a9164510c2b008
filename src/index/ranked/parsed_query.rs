//! What a query looks like, and what is read from it. Pure.
//!
//! - *path*: one word with `/` in it, or one that ends like a file (`jwt.rs`), and doesn't name a symbol behind a `:`.
//! - *symbol*: one word that could be a name, perhaps qualified; a kind's word and a name (`class Foo`); up to three words of which
//!   each is spelt like code (`parse_config ConfFile`).
//! - *error*: several words with what messages have: a placeholder, a quotation, a word such as `failed` or `cannot`, a colon between
//!   words, or a sentence with its full stop.
//! - *natural_language*: everything else.

use crate::limits::{MAX_RANKED_QUALIFIERS, MAX_RANKED_WORDS};
use codeyard_model::code::{QueryIntent, SymbolKind};

use super::tokenizer::{is_stop_word, normalize, words};

/// Endings by which one word is a file rather than a member of something.
const FILE_ENDINGS: &[&str] = &[
    "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "cxx", "go", "h", "hh", "hpp", "html", "ini", "java", "js",
    "json", "jsx", "kt", "kts", "lock", "md", "mjs", "php", "proto", "py", "pyi", "rb", "rs", "rst", "scala", "sh",
    "sql", "swift", "toml", "ts", "tsx", "txt", "xml", "yaml", "yml",
];

/// Words of messages.
const ERROR_WORDS: &[&str] = &[
    "abort",
    "aborted",
    "already",
    "cancelled",
    "cannot",
    "could",
    "couldn",
    "denied",
    "doesn",
    "error",
    "exceeds",
    "exception",
    "expected",
    "fail",
    "failed",
    "failure",
    "fatal",
    "illegal",
    "invalid",
    "mismatch",
    "missing",
    "must",
    "no",
    "not",
    "only",
    "panicked",
    "required",
    "requires",
    "should",
    "timeout",
    "too",
    "unable",
    "undefined",
    "unexpected",
    "unknown",
    "unrecognized",
    "unsupported",
    "warning",
    "wrong",
];

/// What a query looks like (decisions §5, `query_intent`).
pub fn classify(text: &str) -> QueryIntent {
    ParsedQuery::read(text).intent
}

/// A query, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParsedQuery {
    /// See there.
    pub intent: QueryIntent,
    /// As it was parsed, without blanks around it, a call's brackets and the word of its kind.
    pub whole: String,
    /// Its last part: what the symbol itself would be called.
    pub name: String,
    /// The parts before, normalized: what it would stand in.
    pub qualifiers: Vec<String>,
    /// The path before the name, lower case: of `a/b.rs:foo`.
    pub path: Option<String>,
    /// The words to look for, each once; those of the name first.
    pub words: Vec<String>,
    /// The kind whose word the query begins with.
    pub kind: Option<SymbolKind>,
    /// It is about tests, so that they aren't put behind.
    pub wants_tests: bool,
}

impl ParsedQuery {
    /// Reads a query.
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim();
        let (kind, rest) = kind_word(text);
        let whole = rest.strip_suffix("()").unwrap_or(rest).trim().to_owned();
        let single = !whole.contains(char::is_whitespace);
        let (path, behind) = match whole.rsplit_once(':').filter(|(path, _)| single && !path.ends_with(':')) {
            Some((path, name)) if !name.is_empty() && looks_like_path(path) => (Some(path.to_lowercase()), name),
            _ => (None, whole.as_str()),
        };
        let is_path = single && path.is_none() && looks_like_path(&whole);
        let mut parts: Vec<&str> = if is_path || !single { vec![behind] } else { qualified_parts(behind) };
        let name = parts.pop().unwrap_or(behind).to_owned();
        let skipped = parts.len().saturating_sub(MAX_RANKED_QUALIFIERS);
        let qualifiers: Vec<String> =
            parts[skipped..].iter().map(|part| normalize(part)).filter(|part| !part.is_empty()).collect();
        let intent = match () {
            () if is_path => QueryIntent::Path,
            () if single || kind.is_some() && !rest.contains(char::is_whitespace) => QueryIntent::Symbol,
            () if rest.split_whitespace().count() <= 3 && rest.split_whitespace().all(is_code) => QueryIntent::Symbol,
            () if is_message(text) => QueryIntent::Error,
            () => QueryIntent::NaturalLanguage,
        };
        let words = ordered_words(&name, behind, intent);
        let wants_tests = words.iter().any(|word| matches!(word.as_str(), "test" | "spec" | "fixture" | "mock"));
        Self { intent, name, qualifiers, path, words, kind, wants_tests, whole }
    }
}

/// The words of the name, then the others; of a sentence without those that say nothing, if others do.
fn ordered_words(name: &str, whole: &str, intent: QueryIntent) -> Vec<String> {
    let mut all = words(name);
    all.extend(words(whole));
    let telling: Vec<String> =
        all.iter().filter(|word| intent == QueryIntent::Symbol || !is_stop_word(word)).cloned().collect();
    let mut found: Vec<String> = Vec::new();
    for word in if telling.is_empty() { all } else { telling } {
        if found.len() < MAX_RANKED_WORDS && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// A kind's word at the beginning and what follows it; the word alone is a name like any other.
fn kind_word(text: &str) -> (Option<SymbolKind>, &str) {
    let Some((first, rest)) = text.split_once(char::is_whitespace) else { return (None, text) };
    let kind = match first {
        "def" | "fun" => Some(SymbolKind::Fn),
        "let" | "var" | "key" | "member" | "heading" | "object" | "record" | "alias" | "import" | "use" => None,
        word => SymbolKind::parse(word),
    };
    match kind {
        // `type of a value` is a sentence, `type Value` a name.
        Some(kind) if !rest.trim().contains(char::is_whitespace) => (Some(kind), rest.trim()),
        _ => (None, text),
    }
}

fn looks_like_path(text: &str) -> bool {
    if text.contains("::") || text.contains(['(', '<', '"']) {
        return false;
    }
    let ending = text.rsplit_once('.').map(|(stem, ending)| (stem, ending.to_lowercase()));
    let is_file =
        ending.is_some_and(|(stem, ending)| !stem.is_empty() && FILE_ENDINGS.binary_search(&ending.as_str()).is_ok());
    is_file || (text.contains('/') && text.len() > 1)
}

/// The parts of `a::b`, `a.b`, `a->b`, `a#b`; a name that is nothing but such signs stays whole.
fn qualified_parts(text: &str) -> Vec<&str> {
    let parts: Vec<&str> =
        text.split("::").flat_map(|part| part.split("->")).flat_map(|part| part.split(['.', '#'])).collect();
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { vec![text] } else { parts }
}

/// Spelt as only code is: with an underscore, a separator, or upper case behind lower case.
fn is_code(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let hump = letters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    let odd = letters.iter().any(|letter| matches!(letter, '%' | '{' | '"' | '\'' | ','));
    !odd && (hump || word.contains('_') || word.contains("::") || word.ends_with("()"))
}

fn is_message(text: &str) -> bool {
    let placeholder =
        ["%s", "%d", "%r", "%u", "%x", "%l", "{}", "{0}", "${", "%("].iter().any(|sign| text.contains(sign));
    let quotation = text.contains('"') || text.matches('`').count() > 1 || text.matches('\'').count() > 1;
    let sentence = text.ends_with(['.', '!']) && text.starts_with(char::is_uppercase);
    let mut telling = false;
    super::tokenizer::split(text, |part| telling |= ERROR_WORDS.binary_search(&part.to_lowercase().as_str()).is_ok());
    placeholder || quotation || sentence || telling || text.contains(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intents_follow_the_rules() {
        for (text, intent) in [
            ("parse_config", QueryIntent::Symbol),
            ("ConfFile", QueryIntent::Symbol),
            ("Foo::bar", QueryIntent::Symbol),
            ("a.b.name", QueryIntent::Symbol),
            ("a.b.c", QueryIntent::Path),
            ("src/a.rs:parse", QueryIntent::Symbol),
            ("class Foo", QueryIntent::Symbol),
            ("fn main", QueryIntent::Symbol),
            ("parse_config ConfFile", QueryIntent::Symbol),
            ("run()", QueryIntent::Symbol),
            ("operator==", QueryIntent::Symbol),
            ("jwt.rs", QueryIntent::Path),
            ("src/auth", QueryIntent::Path),
            ("Makefile", QueryIntent::Symbol),
            ("cannot open file", QueryIntent::Error),
            ("The value '%s' is too long.", QueryIntent::Error),
            ("TypeError: x is undefined", QueryIntent::Error),
            ("split a path into segments", QueryIntent::NaturalLanguage),
            ("type of a value", QueryIntent::NaturalLanguage),
            ("", QueryIntent::Symbol),
        ] {
            assert_eq!(classify(text), intent, "{text}");
        }
        assert!(FILE_ENDINGS.is_sorted() && ERROR_WORDS.is_sorted());
    }

    #[test]
    fn names_are_taken_apart() {
        let parsed = ParsedQuery::read("  Foo::bar_baz() ");
        assert_eq!((parsed.name.as_str(), parsed.whole.as_str()), ("bar_baz", "Foo::bar_baz"));
        assert_eq!(
            (parsed.qualifiers, parsed.words),
            (vec!["foo".to_owned()], vec!["bar".into(), "baz".into(), "foo".into()])
        );
        let parsed = ParsedQuery::read("Src/a.rs:Foo.bar");
        assert_eq!((parsed.path.as_deref(), parsed.name.as_str()), (Some("src/a.rs"), "bar"));
        assert_eq!(parsed.qualifiers, ["foo"]);
        let parsed = ParsedQuery::read("struct Foo");
        assert_eq!((parsed.kind, parsed.name.as_str()), (Some(SymbolKind::Struct), "Foo"));
        assert_eq!(ParsedQuery::read("::").name, "::");
        assert_eq!(ParsedQuery::read("split a path into segments").words, ["split", "path", "segment"]);
        assert_eq!(ParsedQuery::read("is it").words, ["is", "it"]);
        assert!(ParsedQuery::read("test_parse").wants_tests);
    }
}
