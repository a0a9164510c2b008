//! Words of a command line for a shell. Invariant: a shell reads a quoted word as the text that it was made of.

/// `word` as a shell reads it, in single quotes if it needs them.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The words as one command line.
pub(crate) fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        let words = ["connect", "--root", "/a b", "it's", "$HOME", "", "agent+code"];
        assert_eq!(line(words), "connect --root '/a b' 'it'\\''s' '$HOME' '' agent+code");
    }
}
