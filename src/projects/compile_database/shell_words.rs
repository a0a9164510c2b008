//! Splits a command line into words by the rules of the POSIX shell, without expanding anything.

/// The words of `text`. An unclosed quotation mark ends with the text.
pub(super) fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut is_open) = (Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                is_open = true;
                word.extend(chars.by_ref().take_while(|c| *c != '\''));
            }
            '"' => {
                is_open = true;
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    let escaped = (c == '\\').then(|| chars.next_if(|next| "\"\\$`\n".contains(*next))).flatten();
                    word.push(escaped.unwrap_or(c));
                }
            }
            '\\' => {
                is_open = true;
                match chars.next() {
                    Some('\n') | None => {}
                    Some(c) => word.push(c),
                }
            }
            c if c.is_whitespace() => {
                if is_open {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            c => {
                is_open = true;
                word.push(c);
            }
        }
    }
    if is_open {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_split_and_unquoted() {
        let text = "cc  -I'a b' -DX=\"y \\\"z\\\" \\n\" -DV=\\\"1\\\" '' a\\ b\\\n c \"open";
        assert_eq!(split(text), ["cc", "-Ia b", "-DX=y \"z\" \\n", "-DV=\"1\"", "", "a b", "c", "open"]);
        assert_eq!(split(" \t\n"), [""; 0]);
    }
}
