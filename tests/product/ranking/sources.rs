//! Text that the generator extracts from sources: comments of symbols, and messages. It works on lines, without the product's code.

use crate::ranking::repository::Repository;

/// Comment of the symbol on this line (from 0), as words separated by single spaces; empty if there is none.
pub(crate) fn comment_of(repository: Repository, lines: &[&str], line: usize) -> String {
    match repository {
        Repository::Django => docstring(lines, line),
        Repository::Rxjs | Repository::Zstd => block_above(lines, line),
    }
}

fn docstring(lines: &[&str], line: usize) -> String {
    let head = lines[line].trim_start();
    if !["def ", "class ", "async def "].iter().any(|word| head.starts_with(word)) {
        return String::new();
    }
    let Some(end) = (line..lines.len().min(line + 12)).find(|at| lines[*at].trim_end().ends_with(':')) else {
        return String::new();
    };
    let Some(first) = lines.get(end + 1).and_then(|text| text.trim_start().strip_prefix("\"\"\"")) else {
        return String::new();
    };
    let mut text = String::new();
    for part in std::iter::once(first).chain(lines[end + 2..].iter().copied()) {
        let (before, closes) = part.split_once("\"\"\"").map_or((part, false), |(before, _)| (before, true));
        text.push_str(before);
        text.push(' ');
        if closes || before.trim().is_empty() {
            break;
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn block_above(lines: &[&str], line: usize) -> String {
    let above = lines[..line].iter().rposition(|text| !text.trim().is_empty());
    let Some(end) = above.filter(|at| lines[*at].trim_end().ends_with("*/") && line - at <= 1) else {
        return String::new();
    };
    let Some(start) = (end.saturating_sub(80)..=end).rev().find(|at| lines[*at].trim_start().starts_with("/**")) else {
        return String::new();
    };
    if lines[start..end].iter().any(|text| text.contains("*/")) {
        return String::new();
    }
    let mut text = String::new();
    for part in &lines[start..=end] {
        let part =
            part.trim().trim_start_matches("/**").trim_end_matches("*/").trim_start_matches(['*', '!', '<']).trim();
        if (part.is_empty() || part.starts_with('@')) && !text.is_empty() {
            break;
        }
        text.push_str(part);
        text.push(' ');
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// First four to nine words of a comment's first sentence; `None` if they aren't plain words.
pub(crate) fn phrase(comment: &str) -> Option<String> {
    let sentence = comment.split(['.', ':', ';', '(']).next()?;
    let words: Vec<&str> = sentence.split_whitespace().take(9).collect();
    let plain = words
        .iter()
        .all(|word| word.chars().all(|letter| letter.is_ascii_alphabetic() || letter == ',' || letter == '-'));
    let has_long_words = words.iter().filter(|word| word.len() > 3).count() >= 3;
    (plain && has_long_words && words.len() >= 4).then(|| words.join(" ").replace(',', ""))
}

/// Message that a line raises, throws or returns, without inserted values; `None` without a message of at least four words.
pub(crate) fn message(repository: Repository, line: &str) -> Option<String> {
    let says = match repository {
        Repository::Django => ["raise ", "Error("].iter().any(|sign| line.contains(sign)),
        Repository::Rxjs => ["throw ", "Error("].iter().any(|sign| line.contains(sign)),
        Repository::Zstd => {
            ["return \"", "DISPLAYLEVEL(1", "RETURN_ERROR", "printf("].iter().any(|sign| line.contains(sign))
        }
    };
    let quote = line.chars().find(|letter| matches!(letter, '"' | '\'')).filter(|_| says)?;
    let text = line.split(quote).nth(1)?;
    let plain = text.chars().all(|letter| letter.is_ascii_graphic() || letter == ' ') && !text.contains('\\');
    (plain && !text.contains(['%', '{', '`']) && text.split_whitespace().count() >= 4).then(|| text.trim().to_owned())
}
