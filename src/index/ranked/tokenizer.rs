//! Names and sentences become words: at the index and at the question by the same rules.
//!
//! Pure. Words are lower case, made of letters and digits only; `HTTPServer_v2` is `http`, `server`, `v`, `2`.

/// Words that say nothing about what is looked for.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "can", "do", "does", "for", "from", "has", "have", "how",
    "i", "if", "in", "into", "is", "it", "its", "me", "of", "on", "or", "should", "so", "such", "that", "the", "their",
    "then", "there", "these", "they", "this", "to", "was", "we", "what", "when", "where", "which", "will", "with",
    "would", "you", "your",
];

/// Whether a word says nothing.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Calls `each` with every part of `text`, as it's written: parts end at what is no letter or digit, where lower case becomes
/// upper case, before the last letter of a run of upper case that lower case follows, and between letters and digits.
pub(super) fn split(text: &str, mut each: impl FnMut(&str)) {
    let mut letters = text.char_indices().peekable();
    let mut start = None;
    let mut before = Class::Other;
    while let Some((at, letter)) = letters.next() {
        let class = Class::of(letter);
        let next = letters.peek().map_or(Class::Other, |(_, next)| Class::of(*next));
        let is_boundary = match (before, class) {
            (_, Class::Other) => true,
            (Class::Upper, Class::Upper) => next == Class::Lower,
            // `Word`: the first letter belongs to what follows.
            (Class::Upper, Class::Lower) => false,
            (one, other) => one != other,
        };
        if is_boundary {
            if let Some(from) = start {
                each(&text[from..at]);
            }
            start = (class != Class::Other).then_some(at);
        }
        before = class;
    }
    if let Some(from) = start {
        each(&text[from..]);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Other,
}

impl Class {
    fn of(letter: char) -> Self {
        match letter {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            _ if letter.is_ascii() => Self::Other,
            _ if letter.is_uppercase() => Self::Upper,
            _ if letter.is_alphabetic() => Self::Lower,
            _ if letter.is_numeric() => Self::Digit,
            _ => Self::Other,
        }
    }
}

/// The words of a text: lower case, singular.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    split(text, |part| found.push(stem(part.to_lowercase())));
    found
}

/// The singular of an English word, roughly: `entries` is `entry`, `paths` is `path`, `class` stays.
pub(super) fn stem(mut word: String) -> String {
    if word.len() > 4 && word.ends_with("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if word.len() > 3 && word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
    word
}

/// A name without case and without what separates its parts: `parse_config` and `ParseConfig` are one.
pub(super) fn normalize(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The longest beginning of `text` of at most `most` bytes.
pub(super) fn truncate_str(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_where_a_reader_would() {
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
    fn styles_of_one_name_are_one() {
        assert_eq!(normalize("parse_config"), normalize("ParseConfig"));
        assert_eq!(normalize("A::b"), "ab");
    }

    #[test]
    fn empty_words_are_in_order_so_that_they_are_found() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && !is_stop_word("path"));
        assert_eq!(truncate_str("aäb", 2), "a");
    }
}
