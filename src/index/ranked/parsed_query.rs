//! Parses the text of a ranked query and classifies its intent. Pure.
//!
//! - *path*: one word that contains `/`, or that has a file extension (`jwt.rs`), and has no symbol name after a `:`.
//! - *symbol*: one word that can be a name, with or without qualifiers; a kind and a name (`class Foo`); up to three
//!   words that are all spelt like code (`parse_config ConfFile`).
//! - *error*: several words with a mark of messages: a placeholder, a quotation, a word such as `failed` or `cannot`,
//!   a colon between words, or a sentence that ends with a full stop.
//! - *natural_language*: everything else.

use crate::limits::MAX_RANKED_WORDS;
use codeyard_model::code::{QueryIntent, SymbolKind};

use super::tokenizer::{content_words, is_stop_word, normalize, split, stem, words};
use super::vocabulary::is_verb;

/// Qualifiers before the name in a ranked query that are used.
const MAX_RANKED_QUALIFIERS: usize = 4;

/// Extensions that make one word a file name instead of a member access.
const FILE_EXTENSIONS: &[&str] = &[
    "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "cxx", "go", "h", "hh", "hpp", "html", "ini", "java", "js",
    "json", "jsx", "kt", "kts", "lock", "md", "mjs", "php", "proto", "py", "pyi", "rb", "rs", "rst", "scala", "sh",
    "sql", "swift", "toml", "ts", "tsx", "txt", "xml", "yaml", "yml",
];

/// Words that a question for a place has, whatever it asks for.
const PLACE_WORDS: &[&str] =
    &["code", "declared", "defined", "handled", "happen", "happens", "implemented", "located", "place"];

/// Words that begin such a question.
const QUESTION_WORDS: &[&str] = &["how", "what", "when", "where", "which", "who", "why"];

/// Names in a sentence that are looked up as a whole.
const MAX_MENTIONED_NAMES: usize = 3;

/// Words that are typical of messages.
const ERROR_WORDS: &[&str] = &[
    "abort", "aborted", "already", "cancelled", "cannot", "could", "couldn", "denied", "doesn", "error", "exceeds",
    "exception", "expected", "fail", "failed", "failure", "fatal", "illegal", "invalid", "mismatch", "missing", "must",
    "no", "not", "only", "panicked", "required", "requires", "should", "timeout", "too", "unable", "undefined",
    "unexpected", "unknown", "unrecognized", "unsupported", "warning", "wrong",
];

/// The intent of a query, the `query_intent` of `docs/internals/reference/contract-code.md`.
pub fn classify(text: &str) -> QueryIntent {
    ParsedQuery::parse(text).intent
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParsedQuery {
    pub intent: QueryIntent,
    /// The query without surrounding blanks, the brackets of a call, and the word of a kind.
    pub whole: String,
    /// The last part: the name of the symbol.
    pub name: String,
    /// The parts before the name, normalized: the names of enclosing symbols.
    pub qualifiers: Vec<String>,
    /// The path in front of the name, in lower case: `a/b.rs` in `a/b.rs:foo`.
    pub path: Option<String>,
    /// The words to look up, each once; those of the name first.
    pub words: Vec<String>,
    /// The kind that the query begins with.
    pub kind: Option<SymbolKind>,
    /// Whether the query is about tests. If so, tests aren't ranked lower.
    pub wants_tests: bool,
    /// Whether it is a sentence about something that acts: a function rather than a field.
    pub wants_action: bool,
    /// Words of a sentence that are spelt like names, normalized.
    pub mentioned: Vec<String>,
    /// The share of the words of a sentence that these names have.
    pub mentioned_share: f64,
    /// Consecutive words of a sentence.
    pub pairs: Vec<(String, String)>,
    /// Whether it is a sentence that asks for tests, so that other code ranks lower.
    pub asks_for_tests: bool,
}

impl ParsedQuery {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        let (kind, rest) = kind_word(text);
        let whole = rest.strip_suffix("()").unwrap_or(rest).trim().to_owned();
        let single = !whole.contains(char::is_whitespace);
        let (path, rest_name) = match whole.rsplit_once(':').filter(|(path, _)| single && !path.ends_with(':')) {
            Some((path, name)) if !name.is_empty() && is_path_like(path) => (Some(path.to_lowercase()), name),
            _ => (None, whole.as_str()),
        };
        let is_path = single && path.is_none() && is_path_like(&whole);
        let mut parts: Vec<&str> = if is_path || !single { vec![rest_name] } else { qualified_parts(rest_name) };
        let name = parts.pop().unwrap_or(rest_name).to_owned();
        let skipped = parts.len().saturating_sub(MAX_RANKED_QUALIFIERS);
        let qualifiers: Vec<String> =
            parts[skipped..].iter().map(|part| normalize(part)).filter(|part| !part.is_empty()).collect();
        let intent = match () {
            () if is_path => QueryIntent::Path,
            () if single || kind.is_some() && !rest.contains(char::is_whitespace) => QueryIntent::Symbol,
            () if rest.split_whitespace().count() <= 3 && rest.split_whitespace().all(is_code_like) => {
                QueryIntent::Symbol
            }
            () if is_message(text) => QueryIntent::Error,
            () => QueryIntent::NaturalLanguage,
        };
        let words = ordered_words(&name, rest_name, intent);
        let wants_tests =
            words.iter().any(|word| matches!(word.as_str(), "test" | "unittest" | "spec" | "fixtur" | "mock"));
        let is_sentence = matches!(intent, QueryIntent::NaturalLanguage | QueryIntent::Error);
        let wants_action = is_sentence && is_about_action(rest);
        let mentioned = if is_sentence { mentioned_names(rest) } else { Vec::new() };
        let of_names: usize = if mentioned.is_empty() {
            0
        } else {
            words_of_names(rest).iter().filter(|word| words.contains(word)).count()
        };
        let mentioned_share = of_names as f64 / words.len().max(1) as f64;
        let pairs = pairs(rest_name, &words, intent);
        let asks_for_tests = is_sentence && asks_for_tests(rest);
        Self {
            intent,
            name,
            qualifiers,
            path,
            words,
            kind,
            wants_tests,
            wants_action,
            mentioned,
            mentioned_share,
            pairs,
            asks_for_tests,
            whole,
        }
    }
}

impl ParsedQuery {
    /// The query for the symbols whose name is exactly this text.
    pub(super) fn verbatim(text: &str) -> Self {
        let name = text.trim().to_owned();
        Self { intent: QueryIntent::Symbol, whole: name.clone(), name, ..Self::parse("") }
    }

    /// Whether the query is one name.
    pub(super) fn is_one_name(&self) -> bool {
        self.intent == QueryIntent::Symbol && !self.name.contains(char::is_whitespace)
    }
}

/// Whether the first word that isn't a stop word is a verb, or any word is a verb's participle.
fn is_about_action(text: &str) -> bool {
    let mut is_first = true;
    let mut found = false;
    split(text, |part| {
        let word = part.to_lowercase();
        if !is_stop_word(&word) {
            let is_form = word.ends_with("ed") || word.ends_with("ing");
            found |= (is_first || is_form) && is_verb(&stem(word));
            is_first = false;
        }
    });
    found
}

/// `tests for X`, `X tests`, `unit test of X`, `where is X tested`, `what tests X`.
fn asks_for_tests(text: &str) -> bool {
    let mut words: Vec<String> = Vec::new();
    split(text, |part| words.push(part.to_lowercase()));
    let is_test = |word: &String| matches!(word.as_str(), "test" | "tests");
    let begins = words.first().is_some_and(is_test)
        && words.get(1).is_some_and(|word| matches!(word.as_str(), "for" | "of" | "that" | "cases" | "case"));
    let unit = words.windows(2).any(|pair| pair[0] == "unit" && is_test(&pair[1]));
    let is_question = words.first().is_some_and(|word| QUESTION_WORDS.contains(&word.as_str()));
    let asked = is_question && (words.iter().any(|word| word == "tested") || words.get(1).is_some_and(is_test));
    begins || unit || asked || words.last().is_some_and(|word| word == "tests")
}

/// The consecutive words of a query: those of the name, or of the sentence with its repetitions.
fn pairs(text: &str, words: &[String], intent: QueryIntent) -> Vec<(String, String)> {
    let sequence = if intent == QueryIntent::Symbol { words.to_vec() } else { content_words(text) };
    let mut found: Vec<(String, String)> = Vec::new();
    for pair in sequence.windows(2) {
        let pair = (pair[0].clone(), pair[1].clone());
        if found.len() < MAX_RANKED_WORDS && !found.contains(&pair) {
            found.push(pair);
        }
    }
    found
}

/// The words of the words that are spelt like names, each once.
fn words_of_names(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text.split_whitespace().filter(|word| is_code_like(word)).flat_map(words).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The words that are spelt like names, normalized.
fn mentioned_names(text: &str) -> Vec<String> {
    let trimmed = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_'));
    let mut names: Vec<String> = Vec::new();
    for word in trimmed.filter(|word| is_code_like(word)) {
        let last = word.rsplit(['.', ':', '#', '>']).next().unwrap_or(word);
        let name = normalize(last);
        if !name.is_empty() && names.len() < MAX_MENTIONED_NAMES && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The words of the name, then the others. Stop words of a sentence are left out, unless all words are stop words.
fn ordered_words(name: &str, whole: &str, intent: QueryIntent) -> Vec<String> {
    let mut all = words(name);
    all.extend(words(whole));
    let significant = if intent == QueryIntent::Symbol { Vec::new() } else { significant_words(whole) };
    let mut found: Vec<String> = Vec::new();
    for word in if significant.is_empty() { all } else { significant } {
        if found.len() < MAX_RANKED_WORDS && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// The words of a sentence without stop words and without the words that any question for a place has.
fn significant_words(text: &str) -> Vec<String> {
    let first = text.split_whitespace().next().unwrap_or_default().to_lowercase();
    if !QUESTION_WORDS.contains(&first.as_str()) {
        return content_words(text);
    }
    let mut found = Vec::new();
    split(text, |part| {
        let word = part.to_lowercase();
        if !is_stop_word(&word) && !PLACE_WORDS.contains(&word.as_str()) {
            found.push(stem(word));
        }
    });
    if found.is_empty() { content_words(text) } else { found }
}

/// The kind at the beginning, and the rest. A kind without anything after it is a name.
fn kind_word(text: &str) -> (Option<SymbolKind>, &str) {
    let Some((first, rest)) = text.split_once(char::is_whitespace) else { return (None, text) };
    let kind = match first {
        "def" | "fun" => Some(SymbolKind::Fn),
        "let" | "var" | "key" | "member" | "heading" | "object" | "record" | "alias" | "import" | "use" => None,
        word => SymbolKind::parse(word),
    };
    match kind {
        // `type of a value` is a sentence, `type Value` a kind and a name.
        Some(kind) if !rest.trim().contains(char::is_whitespace) => (Some(kind), rest.trim()),
        _ => (None, text),
    }
}

fn is_path_like(text: &str) -> bool {
    if text.contains("::") || text.contains(['(', '<', '"']) {
        return false;
    }
    let ending = text.rsplit_once('.').map(|(stem, ending)| (stem, ending.to_lowercase()));
    let is_file = ending
        .is_some_and(|(stem, ending)| !stem.is_empty() && FILE_EXTENSIONS.binary_search(&ending.as_str()).is_ok());
    is_file || (text.contains('/') && text.len() > 1)
}

/// The parts of `a::b`, `a.b`, `a->b` and `a#b`. A name that consists of separators only stays whole.
fn qualified_parts(text: &str) -> Vec<&str> {
    let parts: Vec<&str> =
        text.split("::").flat_map(|part| part.split("->")).flat_map(|part| part.split(['.', '#'])).collect();
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { vec![text] } else { parts }
}

/// Whether a word is spelt like code: it has an underscore, a `::`, a call's brackets, or an upper-case letter after a
/// lower-case one.
fn is_code_like(word: &str) -> bool {
    let characters: Vec<char> = word.chars().collect();
    let has_camel_case = characters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    let has_punctuation = characters.iter().any(|c| matches!(c, '%' | '{' | '"' | '\'' | ','));
    !has_punctuation && (has_camel_case || word.contains('_') || word.contains("::") || word.ends_with("()"))
}

fn is_message(text: &str) -> bool {
    let placeholder =
        ["%s", "%d", "%r", "%u", "%x", "%l", "{}", "{0}", "${", "%("].iter().any(|sign| text.contains(sign));
    let quotation = text.contains('"') || text.matches('`').count() > 1 || text.matches('\'').count() > 1;
    let sentence = text.ends_with(['.', '!']) && text.starts_with(char::is_uppercase);
    let mut significant = false;
    split(text, |part| significant |= ERROR_WORDS.binary_search(&part.to_lowercase().as_str()).is_ok());
    placeholder || quotation || sentence || significant || text.contains(": ")
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
        assert!(FILE_EXTENSIONS.is_sorted() && ERROR_WORDS.is_sorted());
    }

    #[test]
    fn names_are_split_into_qualifiers_and_words() {
        let parsed = ParsedQuery::parse("  Foo::bar_baz() ");
        assert_eq!((parsed.name.as_str(), parsed.whole.as_str()), ("bar_baz", "Foo::bar_baz"));
        assert_eq!(
            (parsed.qualifiers, parsed.words),
            (vec!["foo".to_owned()], vec!["bar".into(), "baz".into(), "foo".into()])
        );
        let parsed = ParsedQuery::parse("Src/a.rs:Foo.bar");
        assert_eq!((parsed.path.as_deref(), parsed.name.as_str()), (Some("src/a.rs"), "bar"));
        assert_eq!(parsed.qualifiers, ["foo"]);
        let parsed = ParsedQuery::parse("struct Foo");
        assert_eq!((parsed.kind, parsed.name.as_str()), (Some(SymbolKind::Struct), "Foo"));
        assert_eq!(ParsedQuery::parse("::").name, "::");
        assert_eq!(ParsedQuery::parse("split a path into segments").words, ["split", "path", "segment"]);
        assert_eq!(ParsedQuery::parse("is it").words, ["is", "it"]);
        assert!(ParsedQuery::parse("test_parse").wants_tests);
        assert_eq!(ParsedQuery::parse("where is the token checked").words, ["token", "check"]);
        assert_eq!(ParsedQuery::parse("where is X defined").words, ["x"]);
        assert_eq!(ParsedQuery::parse("where is it defined").words, ["defin"]);
        let parsed = ParsedQuery::parse("tests for ConfFile.read_all");
        assert_eq!((parsed.mentioned, parsed.mentioned_share), (vec!["readall".to_owned()], 0.8));
        assert!(parsed.asks_for_tests && parsed.wants_tests);
        assert!(!ParsedQuery::parse("test whether it is empty").asks_for_tests);
        assert!(ParsedQuery::parse("where is the parser tested").asks_for_tests);
        assert!(ParsedQuery::parse("which tests cover the parser").asks_for_tests);
        assert!(!ParsedQuery::parse("the tested value").asks_for_tests);
        let pair = |one: &str, two: &str| (one.to_owned(), two.to_owned());
        assert_eq!(
            ParsedQuery::parse("emits a value it emitted before").pairs,
            [pair("emit", "valu"), pair("valu", "emit"), pair("emit", "befor")]
        );
    }

    #[test]
    fn sentences_about_actions_are_recognised() {
        for (text, expected) in [
            ("split a path into segments", true),
            ("where is the token checked", true),
            ("the segments of a path", false),
            ("split_path", false),
        ] {
            assert_eq!(ParsedQuery::parse(text).wants_action, expected, "{text}");
        }
    }
}
