//! Writes queries as text. A term that was read is written as it was spelt; one that was made is written so that it is read as the same.

use std::fmt;

use super::{ParsedSearch, QueryTerm, TermSubject};

impl fmt::Display for ParsedSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.terms.iter().enumerate() {
            write!(f, "{}{term}", if at == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl fmt::Display for QueryTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(spelling) = &self.spelling {
            return f.write_str(spelling);
        }
        if self.is_excluded {
            f.write_str("-")?;
        }
        match &self.subject {
            TermSubject::Word(word) => f.write_str(word),
            TermSubject::Phrase(text) => write_quoted(text, f),
            TermSubject::Regex(pattern) => write!(f, "/{}/", pattern_text(pattern)),
            TermSubject::Filter(name, value) => {
                write!(f, "{}:", name.as_str())?;
                let is_bare = !value.contains(char::is_whitespace) && !value.starts_with([':', '=', '"', '/']);
                if is_bare { f.write_str(value) } else { write_quoted(value, f) }
            }
        }
    }
}

fn write_quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A pattern with its slashes escaped, but for those that a backslash stands before.
pub(super) fn pattern_text(pattern: &str) -> String {
    let mut text = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '/' => text.push_str("\\/"),
            '\\' => {
                text.push('\\');
                text.extend(characters.next());
            }
            other => text.push(other),
        }
    }
    text
}
