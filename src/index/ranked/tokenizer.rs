//! Splits names and sentences into words. The index and queries use the same rules.
//!
//! Pure. Words are in lower case and consist of letters or digits: `HTTPServer_v2` is `http`, `server`, `v`, `2`.
//!
//! tantivy's tokenizers split at white space and punctuation; none splits identifiers at case and digits.

/// Words without meaning for a search.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "can", "did", "do", "does", "for", "from", "has", "have",
    "how", "i", "if", "in", "into", "is", "it", "its", "me", "of", "on", "or", "should", "so", "such", "that", "the",
    "their", "then", "there", "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where",
    "whether", "which", "who", "why", "will", "with", "would", "you", "your",
];

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

/// The words of a text: in lower case, each as its [`stem`].
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    split(text, |part| found.push(stem(part.to_lowercase())));
    found
}

/// The words of a text without stop words, each as its [`stem`].
pub(super) fn content_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    split(text, |part| {
        let word = part.to_lowercase();
        if !is_stop_word(&word) {
            found.push(stem(word));
        }
    });
    found
}

/// The part of an English word that its forms share, by a few suffixes: `entries` and `entry`, `paths` and `path`,
/// `merge`, `merged`, `merging` and `merges`, `validate` and `validation`. It keeps at least three letters.
pub(super) fn stem(mut word: String) -> String {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    if matches!(word.as_str(), "used" | "using") {
        return "use".into();
    }
    singular(&mut word);
    let is_verb_form = if word.len() > 4 && word.ends_with("ied") {
        word.truncate(word.len() - 3);
        word.push('y');
        false
    } else {
        !word.ends_with("eed") && ["ing", "ed"].iter().any(|suffix| strip(&mut word, suffix, 3))
    };
    if is_verb_form {
        let bytes = word.as_bytes();
        let last = bytes[bytes.len() - 1];
        let before = bytes[bytes.len() - 2];
        // `dropped` is a form of `drop`, but `called` of `call` and `passed` of `pass`.
        if word.len() > 3 && last == before && !is_vowel(last) && !matches!(last, b'l' | b's' | b'z') {
            word.pop();
        }
    } else if word.ends_with("sion") || word.ends_with("tion") {
        strip(&mut word, "ion", 4);
    }
    strip(&mut word, "e", 3);
    word
}

/// Makes a plural singular.
fn singular(word: &mut String) {
    if word.len() > 4 && word.ends_with("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if word.len() > 4 && ["sses", "ches", "shes", "xes"].iter().any(|end| word.ends_with(end)) {
        word.truncate(word.len() - 2);
    } else if word.len() > 3 && word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
}

/// Removes a suffix if at least `least` letters with a vowel are left, and returns whether it did.
fn strip(word: &mut String, suffix: &str, least: usize) -> bool {
    let Some(rest) = word.strip_suffix(suffix) else { return false };
    if rest.len() < least || !rest.bytes().any(is_vowel) {
        return false;
    }
    word.truncate(rest.len());
    true
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// A name without case and separators: `parse_config` and `ParseConfig` are equal.
pub(crate) fn normalize(name: &str) -> String {
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
    fn forms_of_a_word_have_one_stem() {
        for (stem_of_all, forms) in [
            ("entry", "entry entries"),
            ("path", "path paths"),
            ("class", "class classes"),
            ("merg", "merge merged merging merges"),
            ("validat", "validate validated validating validation"),
            ("drop", "drop dropped dropping drops"),
            ("pass", "pass passed passing passes"),
            ("call", "call called calling"),
            ("compress", "compress compression compressed"),
            ("verify", "verify verifies verified verifying"),
            ("use", "use used using uses"),
            ("status", "status"),
            ("is", "is"),
            ("gas", "gas"),
            ("string", "string strings"),
            ("ping", "ping pings"),
            ("need", "need needs"),
            ("speed", "speed speeds"),
            ("ns2", "ns2"),
            ("größe", "größe"),
        ] {
            for form in forms.split(' ') {
                assert_eq!(stem(form.into()), stem_of_all, "{form}");
            }
        }
        assert_eq!(words("Splits the paths"), ["split", "the", "path"]);
        assert_eq!(content_words("How does it split these paths"), ["split", "path"]);
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
