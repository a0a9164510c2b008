//! Splits names and sentences into words. The index and queries use the same rules.
//!
//! Pure. Words are in lower case and consist of letters or digits: `HTTPServer_v2` is `http`, `server`, `v`, `2`.
//!
//! tantivy's tokenizers split at white space and punctuation; none splits identifiers at case and digits.

/// Words without meaning for a search.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "can", "do", "does", "for", "from", "has", "have", "how",
    "i", "if", "in", "into", "is", "it", "its", "me", "of", "on", "or", "should", "so", "such", "that", "the", "their",
    "then", "there", "these", "they", "this", "to", "was", "we", "what", "when", "where", "which", "will", "with",
    "would", "you", "your",
];

/// Whether a word is a stop word.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Calls `each` with every part of `text`. A part ends at a character that is no letter or digit, where lower case
/// becomes upper case, before the last letter of a run of upper case that lower case follows, and between letters and
/// digits.
pub(super) fn split(text: &str, mut each: impl FnMut(&str)) {
    let mut chars = text.char_indices().peekable();
    let mut start = None;
    let mut before = CharClass::Other;
    while let Some((at, character)) = chars.next() {
        let class = CharClass::of(character);
        let next = chars.peek().map_or(CharClass::Other, |(_, next)| CharClass::of(*next));
        let is_boundary = match (before, class) {
            (_, CharClass::Other) => true,
            (CharClass::Upper, CharClass::Upper) => next == CharClass::Lower,
            // `Word`: the first letter belongs to the part.
            (CharClass::Upper, CharClass::Lower) => false,
            (one, other) => one != other,
        };
        if is_boundary {
            if let Some(from) = start {
                each(&text[from..at]);
            }
            start = (class != CharClass::Other).then_some(at);
        }
        before = class;
    }
    if let Some(from) = start {
        each(&text[from..]);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Lower,
    Upper,
    Digit,
    Other,
}

impl CharClass {
    fn of(character: char) -> Self {
        match character {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            _ if character.is_ascii() => Self::Other,
            _ if character.is_uppercase() => Self::Upper,
            _ if character.is_alphabetic() => Self::Lower,
            _ if character.is_numeric() => Self::Digit,
            _ => Self::Other,
        }
    }
}

/// The words of a text: in lower case, singular.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    split(text, |part| found.push(stem(part.to_lowercase())));
    found
}

/// An approximate singular of an English word: `entries` is `entry`, `paths` is `path`, `class` stays.
pub(super) fn stem(mut word: String) -> String {
    if word.len() > 4 && word.ends_with("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if word.len() > 3 && word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
    word
}

/// A name without case and separators: `parse_config` and `ParseConfig` are equal.
pub(super) fn normalize(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The longest prefix of `text` with at most `max_bytes` bytes.
pub(super) fn truncate_str(text: &str, max_bytes: usize) -> &str {
    let end = (0..=max_bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_at_case_digits_and_separators() {
        for (name, parts) in [
            ("parse_config_file", "parse config file"),
            ("parseConfigFile", "parse config file"),
            ("HTTPServer", "http server"),
            ("XMLHttpRequest", "xml http request"),
            ("getURL", "get url"),
            ("URLs", "ur ls"),
            ("utf8", "utf 8"),
            ("SHA256Digest", "sha 256 digest"),
            ("sha256sum", "sha 256 sum"),
            ("MAX_PAGE_SIZE", "max page size"),
            ("__init__", "init"),
            ("a.b::c->d", "a b c d"),
            ("kebab-case", "kebab case"),
            ("ÄrgerNis", "ärger nis"),
            ("名前", "名前"),
            ("operator==", "operator"),
            ("x", "x"),
            ("", ""),
        ] {
            let mut found = Vec::new();
            split(name, |part| found.push(part.to_lowercase()));
            assert_eq!(found.join(" "), parts, "{name}");
        }
    }

    #[test]
    fn plurals_become_singular_and_other_words_stay() {
        for (word, singular) in [
            ("entries", "entry"),
            ("paths", "path"),
            ("class", "class"),
            ("status", "status"),
            ("is", "is"),
            ("gas", "gas"),
        ] {
            assert_eq!(stem(word.into()), singular);
        }
        assert_eq!(words("Splits the paths"), ["split", "the", "path"]);
    }

    #[test]
    fn naming_styles_normalize_to_one_name() {
        assert_eq!(normalize("parse_config"), normalize("ParseConfig"));
        assert_eq!(normalize("A::b"), "ab");
    }

    #[test]
    fn stop_words_are_sorted_for_binary_search() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && !is_stop_word("path"));
        assert_eq!(truncate_str("aäb", 2), "a");
    }
}
