//! The texts that a query can stand for in the lines of files: a phrase in quotation marks, a message as a program shows
//! it, with values that the source doesn't have. Pure.
//!
//! The attempts are in the order in which they are searched; the first that any line matches is the answer.

use codeyard_model::code::{CaseRule, QueryIntent};

/// Attempts for one query.
const MAX_ATTEMPTS: usize = 10;
/// Letters that a text must have, so that its lines say something about the query.
const MIN_LETTERS: usize = 8;
/// Words of a sentence that is searched as a phrase.
const MIN_SENTENCE_WORDS: usize = 4;
/// Words of a part of a message.
const MIN_PART_WORDS: usize = 3;
/// Between the parts of a message there is at most this much in the source: a value, a placeholder.
const GAP: &str = ".{0,80}";

/// A text or an expression to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineAttempt {
    /// The text, or the expression.
    pub pattern: String,
    /// Whether it is an expression.
    pub is_regex: bool,
    /// Whether only whole words count.
    pub word: bool,
}

impl LineAttempt {
    fn text(text: &str) -> Self {
        Self { pattern: text.to_owned(), is_regex: false, word: false }
    }

    pub(super) fn whole_word(name: &str) -> Self {
        Self { word: true, ..Self::text(name) }
    }

    /// How case counts: a whole word is a name.
    pub(super) fn case(&self, asked: CaseRule) -> CaseRule {
        if self.word && asked == CaseRule::Smart { CaseRule::Sensitive } else { asked }
    }
}

/// The longest phrase in quotation marks; `None`: the query has none.
pub(super) fn quoted_phrase(text: &str) -> Option<String> {
    let parts = split_at_quotes(text);
    let mut parts = parts.iter();
    let outside = parts.next()?;
    let is_start = outside.is_empty() || outside.ends_with(char::is_whitespace);
    let mut best = None;
    let rest: Vec<&String> = parts.collect();
    for (inside, after) in rest.iter().step_by(2).zip(rest.iter().skip(1).step_by(2)) {
        let ends = after.is_empty() || after.starts_with(|c: char| c.is_whitespace() || c.is_ascii_punctuation());
        let phrase = inside.trim();
        if is_start && ends && phrase.len() > 1 && best.is_none_or(|best: &str| best.len() < phrase.len()) {
            best = Some(phrase);
        }
    }
    best.map(str::to_owned)
}

/// The text outside and inside of quotation marks, in turn. Inside, `\"` and `\\` stand for a quotation mark and a backslash.
fn split_at_quotes(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_inside = parts.len() % 2 == 0;
        if character == '"' {
            parts.push(String::new());
            continue;
        }
        let escaped = characters.next_if(|next| is_inside && character == '\\' && matches!(next, '"' | '\\'));
        if let Some(part) = parts.last_mut() {
            part.push(escaped.unwrap_or(character));
        }
    }
    parts
}

/// Whether a text has nothing but one phrase in quotation marks.
fn is_one_phrase(text: &str) -> bool {
    matches!(split_at_quotes(text).as_slice(), [before, _, after] if before.is_empty() && after.is_empty())
}

/// The texts to search for, for a query of several words.
pub(super) fn attempts(text: &str, intent: QueryIntent) -> Vec<LineAttempt> {
    let text = text.trim();
    let mut found = Attempts::default();
    if let Some(phrase) = quoted_phrase(text) {
        if !is_one_phrase(text) {
            found.add(LineAttempt::text(text));
            found.add_parts(text);
        }
        found.add(LineAttempt::text(&phrase));
        return found.0;
    }
    match intent {
        QueryIntent::NaturalLanguage if text.split_whitespace().count() >= MIN_SENTENCE_WORDS => {
            found.add(LineAttempt::text(text));
        }
        QueryIntent::Error => found.add_message(text),
        QueryIntent::NaturalLanguage | QueryIntent::Symbol | QueryIntent::Path => {}
    }
    found.0
}

#[derive(Default)]
struct Attempts(Vec<LineAttempt>);

impl Attempts {
    fn add(&mut self, attempt: LineAttempt) {
        if self.0.len() < MAX_ATTEMPTS && !attempt.pattern.is_empty() && !self.0.contains(&attempt) {
            self.0.push(attempt);
        }
    }

    /// The message as it is, without what programs print before it or behind it, and parts of it.
    fn add_message(&mut self, text: &str) {
        self.add(LineAttempt::text(text));
        self.add_parts(text);
        // `ValueError: ...`, `thread 'main' panicked: ...`
        for (at, _) in text.match_indices(": ").take(3) {
            let rest = text[at + 2..].trim();
            if says_enough(rest, 2) {
                self.add(LineAttempt::text(rest));
                self.add_parts(rest);
            }
        }
        // `...: the value`
        if let Some((before, _)) = text.rsplit_once(": ")
            && says_enough(before, 2)
        {
            self.add(LineAttempt::text(before));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let half = words.len().div_ceil(2);
        if half >= MIN_PART_WORDS {
            // A source may break a long message into several lines.
            for part in [&words[..half], &words[words.len() - half..]] {
                let part = part.join(" ");
                if says_enough(&part, MIN_PART_WORDS) {
                    self.add(LineAttempt::text(&part));
                }
            }
        }
    }

    /// The text without the values in it.
    fn add_parts(&mut self, text: &str) {
        let parts = parts_between_values(text);
        let all = parts.join(" ");
        if (parts.len() > 1 || parts.first().is_some_and(|part| part.len() < text.len()))
            && says_enough(&all, MIN_PART_WORDS)
        {
            let escaped: Vec<String> = parts.iter().map(|part| regex_syntax::escape(part)).collect();
            self.add(LineAttempt { pattern: escaped.join(GAP), is_regex: true, word: false });
        }
    }
}

fn says_enough(text: &str, words: usize) -> bool {
    text.split_whitespace().count() >= words && text.chars().filter(|c| c.is_alphabetic()).count() >= MIN_LETTERS
}

/// The parts of a message between values: numbers, quotations, paths, placeholders. The full stop at the end isn't part of
/// it.
fn parts_between_values(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut rest = text.trim_end_matches(['.', '!']);
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        rest = &rest[start..];
        let end = quotation_end(rest).or_else(|| rest.find(char::is_whitespace)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        if is_value(token) {
            if !part.is_empty() {
                parts.push(std::mem::take(&mut part));
            }
        } else {
            if !part.is_empty() {
                part.push(' ');
            }
            part.push_str(token);
        }
        rest = after;
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// The end of the quotation that `text` begins with, and of the punctuation behind it.
fn quotation_end(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let inside = text[1..].find(quote)?;
    let end = inside + 2;
    let behind = text[end..].find(|c: char| !matches!(c, '.' | ',' | ':' | ';' | ')'));
    Some(end + behind.unwrap_or(text.len() - end))
}

/// Whether a word of a message is a value that the program inserted.
fn is_value(token: &str) -> bool {
    let inner = token.trim_matches(|c: char| c.is_ascii_punctuation());
    let digits = inner.bytes().filter(u8::is_ascii_digit).count();
    let letters = inner.chars().filter(|c| c.is_alphabetic()).count();
    let is_number = letters == 0 || digits > 2 && digits >= letters || inner.starts_with("0x");
    let is_quoted = token.starts_with(['"', '\'']) || token.starts_with('`') && token.len() > 1;
    let is_placeholder = ["%s", "%d", "%r", "%u", "%x", "%l", "{", "${", "%("].iter().any(|sign| token.contains(sign));
    // A file, a host, a dotted name.
    let is_dotted = inner.contains('.');
    let is_place =
        token.contains("://") || inner.matches('/').count() > 1 || token.starts_with('/') || token.contains('@');
    is_number || is_quoted || is_placeholder || is_dotted || is_place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(text: &str, intent: QueryIntent) -> Vec<String> {
        attempts(text, intent).into_iter().map(|attempt| attempt.pattern).collect()
    }

    #[test]
    fn quotation_marks_force_a_phrase() {
        for (text, phrase) in [
            ("\"no such file\"", Some("no such file")),
            ("where is \"no such file\" raised", Some("no such file")),
            ("\"a b\" \"a longer one\"", Some("a longer one")),
            ("say \"hi\".", Some("hi")),
            ("5\" wide and 6\" high", None),
            ("an open \"quotation", None),
            ("\"\"", None),
            ("plain", None),
            (r#""say \"no\"""#, Some(r#"say "no""#)),
            (r#""C:\\new" in \ here"#, Some(r"C:\new")),
            (r#""a\nb""#, Some(r"a\nb")),
            (r#""open \""#, None),
        ] {
            assert_eq!(quoted_phrase(text).as_deref(), phrase, "{text}");
        }
        assert_eq!(patterns(r#""say \"no\"""#, QueryIntent::Error), [r#"say "no""#]);
        assert_eq!(patterns("\"no such file\"", QueryIntent::Error), ["no such file"]);
        let found = patterns("the file \"x.txt\" is missing", QueryIntent::Error);
        assert_eq!(
            found,
            ["the file \"x.txt\" is missing".to_owned(), format!("the file{GAP}is missing"), "x.txt".to_owned()]
        );
    }

    #[test]
    fn values_in_messages_are_gaps() {
        for (text, parts) in [
            ("task 42 was cancelled", "task|was cancelled"),
            ("Edge tuple (1,) must be a 2-tuple or 3-tuple.", "Edge tuple|must be a 2-tuple or 3-tuple"),
            ("cannot open /etc/passwd: no such file", "cannot open|no such file"),
            ("no module named 'a b' here", "no module named|here"),
            ("invalid value 'x', expected y", "invalid value|expected y"),
            ("use %s or {name}", "use|or"),
            ("Use `.extend()` instead", "Use|instead"),
            ("wait for http://example.org/x", "wait for"),
            ("cannot read index.html twice", "cannot read|twice"),
            ("it is so", "it is so"),
            ("don't do it", "don't do it"),
            ("", ""),
        ] {
            assert_eq!(parts_between_values(text).join("|"), parts, "{text}");
        }
    }

    #[test]
    fn messages_are_searched_whole_then_in_parts() {
        let found = patterns("ValueError: invalid literal for int: 'x'", QueryIntent::Error);
        assert_eq!(found[0], "ValueError: invalid literal for int: 'x'");
        for part in ["invalid literal for int: 'x'", "ValueError: invalid literal for int"] {
            assert!(found.contains(&part.to_owned()), "{part}: {found:?}");
        }
        assert!(found.len() <= MAX_ATTEMPTS);
        assert_eq!(patterns("split the whole path", QueryIntent::NaturalLanguage), ["split the whole path"]);
        assert_eq!(patterns("split the path", QueryIntent::NaturalLanguage), [""; 0]);
        assert_eq!(patterns("split_path", QueryIntent::Symbol), [""; 0]);
    }
}
