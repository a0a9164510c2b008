//! Commands of Dockerfiles that go over several lines, as the grammar can read them.
//!
//! What follows `RUN` belongs to a shell. The grammar tries to read its words and fails on many: a line that begins with `[` or ends in an
//! open string makes it lose the instructions that follow. No symbol and no reference comes from there, so a command of several lines
//! becomes one letter and blanks. Lengths and line breaks stay. Linear in the source.

use std::borrow::Cow;

use super::blanked_text::BlankedText;

/// Instructions with a command.
const COMMANDS: [&str; 4] = ["RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK"];

/// `source` without the commands that go over several lines.
pub(super) fn without_commands(source: &str) -> Cow<'_, str> {
    let escape = if has_backtick_escape(source) { '`' } else { '\\' };
    let continues = |line: &str| line.trim_end().ends_with(escape);
    let mut text = BlankedText::new(source);
    let mut lines = source.split_inclusive('\n');
    let mut at = 0;
    while let Some(line) = lines.next() {
        let start = at;
        at += line.len();
        if is_comment(line) || !continues(line) {
            continue;
        }
        let mut has_heredoc = line.contains("<<");
        for next in lines.by_ref() {
            at += next.len();
            has_heredoc |= next.contains("<<");
            let is_skipped = next.trim().is_empty() || is_comment(next);
            if !is_skipped && !continues(next) {
                break;
            }
        }
        if let Some(command) = command_start(line).filter(|_| !has_heredoc) {
            text.blank(start + command..at);
            text.put(start + command, "x");
        }
    }
    text.into_text()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// Where the command of an instruction begins, if it has one.
fn command_start(line: &str) -> Option<usize> {
    let mut rest = line.trim_start();
    loop {
        let (word, after) = rest.split_once([' ', '\t'])?;
        rest = after.trim_start();
        if COMMANDS.iter().any(|command| word.eq_ignore_ascii_case(command)) {
            return Some(line.len() - rest.len());
        }
        if !word.eq_ignore_ascii_case("ONBUILD") {
            return None;
        }
    }
}

/// Whether a backtick continues a line, by the directive `escape` at the top.
fn has_backtick_escape(source: &str) -> bool {
    let directives = source.lines().map_while(|line| line.trim_start().strip_prefix('#'));
    directives
        .filter_map(|line| line.split_once('='))
        .any(|(name, value)| name.trim().eq_ignore_ascii_case("escape") && value.trim() == "`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_several_lines_become_blank() {
        for (source, expected) in [
            ("FROM a\nRUN \\\n  [ -s a ] && b\nENV A=b", "FROM a\nRUN x\n               \nENV A=b"),
            ("run é \\\n # c\n\n a \\\n b\nENV A=b \\\n C=d", "run x   \n    \n\n    \n  \nENV A=b \\\n C=d"),
            ("ONBUILD RUN a \\\r\n \"$( b\r\nARG c", "ONBUILD RUN x  \r\n      \r\nARG c"),
            ("# escape=`\nRUN a `\n [\nENV B=c\\\n", "# escape=`\nRUN x  \n  \nENV B=c\\\n"),
            ("RUN a <<A \\\n b\nc\nA\n", "RUN a <<A \\\n b\nc\nA\n"),
            ("RUN a\nRUN b", "RUN a\nRUN b"),
            ("# a \\\nRUN b \\\n c", "# a \\\nRUN x  \n  "),
            ("RUN\\\n a", "RUN\\\n a"),
            ("RUN \\", "RUN x"),
            ("", ""),
        ] {
            assert_eq!(without_commands(source), expected, "{source}");
        }
    }
}
