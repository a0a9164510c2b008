//! The identifiers in code, for questions about real files.

use std::path::Path;

/// A word of letters, digits and `_` that doesn't begin with a digit. Its place counts from 0.
#[derive(Debug, PartialEq, Eq)]
pub struct Identifier {
    pub word: String,
    pub line: usize,
    /// In UTF-16 units.
    pub character: usize,
}

/// The identifiers in the code of a file, without comments as far as possible without a parser. A file that isn't text has none.
pub fn identifiers(path: &Path) -> Vec<Identifier> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut found = Vec::new();
    let mut in_comment = false;
    for (line, text) in text.lines().enumerate() {
        let quotes = text.matches("\"\"\"").count();
        in_comment = in_comment != (quotes % 2 == 1) || text.contains("/*");
        let prose = in_comment || quotes > 0 || text.trim_start().starts_with('*');
        in_comment = in_comment && !text.contains("*/");
        if !prose {
            let code = text.split("//").next().unwrap_or_default().split("# ").next().unwrap_or_default();
            add_words(code, line, &mut found);
        }
    }
    found
}

fn add_words(code: &str, line: usize, found: &mut Vec<Identifier>) {
    let mut word = String::new();
    let mut character = 0;
    for letter in code.chars().chain([' ']) {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
        } else if !word.is_empty() {
            let units = word.encode_utf16().count();
            let word = std::mem::take(&mut word);
            if !word.starts_with(char::is_numeric) {
                found.push(Identifier { word, line, character: character - units });
            }
        }
        character += letter.len_utf16();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_code_have_utf16_columns() {
        let mut found = Vec::new();
        add_words("if a_1(2x, 'ü𝄞', b)", 7, &mut found);
        let expected = [("if", 0), ("a_1", 3), ("ü", 12), ("b", 18)];
        assert_eq!(found, expected.map(|(word, character)| Identifier { word: word.into(), line: 7, character }));
    }
}
