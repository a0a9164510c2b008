//! Splits a command line into words by the rules of the POSIX shell, without expanding anything.

/// The words of `text`. An unclosed quotation mark ends with the text.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_open = false;
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

/// The commands of a line: words between the operators of the shell, without redirections. Text in backticks stays one word with them.
pub(crate) fn commands(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut part = String::new();
    let mut chars = text.chars().peekable();
    let mut flush = |part: &mut String| {
        let words = split(&std::mem::take(part));
        if !words.is_empty() {
            found.push(words);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => copy_quoted(c, &mut chars, &mut part),
            // Blanks inside are escaped, so that the words don't end there.
            '`' => {
                let script: String = chars.by_ref().take_while(|c| *c != '`').collect();
                let escaped: String = script.chars().flat_map(|c| ['\\', c]).collect();
                part.push_str(&format!("`{escaped}`"));
            }
            '\\' => {
                part.push(c);
                part.extend(chars.next());
            }
            ';' | '&' | '|' | '(' | ')' | '\n' => flush(&mut part),
            '>' | '<' => {
                // A number right before it names a descriptor, unless it ends a word.
                let kept = part.trim_end_matches(|c: char| c.is_ascii_digit());
                if kept.is_empty() || kept.ends_with(char::is_whitespace) {
                    part.truncate(kept.len());
                }
                skip_target(&mut chars);
            }
            c => part.push(c),
        }
    }
    flush(&mut part);
    found
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn copy_quoted(quote: char, chars: &mut Rest<'_>, part: &mut String) {
    part.push(quote);
    while let Some(c) = chars.next() {
        part.push(c);
        if c == quote {
            return;
        }
        if c == '\\' && quote == '"' {
            part.extend(chars.next());
        }
    }
}

/// Skips the file or descriptor of a redirection.
fn skip_target(chars: &mut Rest<'_>) {
    while chars.next_if(|c| "<>& \t".contains(*c)).is_some() {}
    while chars.next_if(|c| !c.is_whitespace() && !";&|()".contains(*c)).is_some() {}
}

#[cfg(test)]
mod tests {
    use super::{commands, split};

    #[test]
    fn commands_are_split_at_operators() {
        let text = "a 'b;c' >x 2>&1 && d | e\\;f;(cd \"g h\"; i) `j 'k' || l`m > 'n";
        let wanted: [&[&str]; 5] = [&["a", "b;c"], &["d"], &["e;f"], &["cd", "g h"], &["i"]];
        let found = commands(text);
        assert_eq!(found[..5], wanted.map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()));
        assert_eq!(found[5], ["`j 'k' || l`m"]);
    }

    #[test]
    fn words_are_split_and_unquoted() {
        let text = "cc  -I'a b' -DX=\"y \\\"z\\\" \\n\" -DV=\\\"1\\\" '' a\\ b\\\n c \"open";
        assert_eq!(split(text), ["cc", "-Ia b", "-DX=y \"z\" \\n", "-DV=\"1\"", "", "a b", "c", "open"]);
        assert_eq!(split(" \t\n"), [""; 0]);
    }
}
