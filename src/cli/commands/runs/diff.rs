//! What a pull request changes, as text with colours.

use codeyard_launch::artifacts::patch::DiffReport;

use crate::terminal_style::{Part, TerminalStyle};

/// The files with their numbers of lines.
pub(super) fn stat(report: &DiffReport, style: TerminalStyle) -> String {
    let width = report.files.iter().map(|file| file.path.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for file in &report.files {
        let mark = match file.change.as_str() {
            "added" => "A",
            "removed" => "D",
            _ => "M",
        };
        text.push_str(&format!("{mark} {:<width$}  ", style.safe(&file.path)));
        style.paint(Part::Line, &format!("+{}", file.lines_added), &mut text);
        text.push(' ');
        style.paint(Part::Match, &format!("-{}", file.lines_removed), &mut text);
        text.push('\n');
    }
    let count = report.files.len();
    let added = report.lines_added;
    let removed = report.lines_removed;
    text.push_str(&format!("{count} files, {added} lines added, {removed} removed\n"));
    text
}

/// The unified diff of all files, or of those whose path `is_wanted`. Without a terminal and colours it is exact, so that it can be applied.
pub(super) fn unified(report: &DiffReport, is_wanted: impl Fn(&str) -> bool, style: TerminalStyle) -> String {
    let mut text = String::new();
    let mut is_shown = true;
    for line in report.diff.lines() {
        if let Some(paths) = line.strip_prefix("diff --git ") {
            is_shown = is_wanted(paths);
        }
        if !is_shown {
            continue;
        }
        let is_exact = !style.is_terminal && !style.has_colors;
        let line = if is_exact { line.into() } else { style.safe(line) };
        let part = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Some(Part::Path),
            [b'd', b'i', b'f', b'f', b' ', ..] => Some(Part::Path),
            [b'@', b'@', ..] => Some(Part::Kind),
            [b'+', ..] => Some(Part::Line),
            [b'-', ..] => Some(Part::Match),
            _ => None,
        };
        match part {
            Some(part) => style.paint(part, &line, &mut text),
            None => text.push_str(&line),
        }
        text.push('\n');
    }
    if report.is_cut {
        text.push_str("The diff is cut at a file, because it would be too large; `--stat` lists all files.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_coloured_and_filtered_by_file() {
        let diff = "diff --git a/x.md b/x.md\n--- /dev/null\n+++ b/x.md\n@@ -0,0 +1 @@\n+new \u{1b}[31m\ndiff --git a/y.md b/y.md\n-old\n";
        let report: DiffReport = serde_json::from_value(serde_json::json!({
            "schema_version": "1.0", "base_commit": "c", "lines_added": 1, "lines_removed": 1, "diff": diff, "is_cut": false,
            "files": [
                {"path": "x.md", "change": "added", "lines_added": 1, "lines_removed": 0},
                {"path": "long/y.md", "change": "modified", "lines_added": 0, "lines_removed": 1},
            ],
        }))
        .unwrap();
        let plain = TerminalStyle { is_terminal: true, ..TerminalStyle::default() };
        assert_eq!(stat(&report, plain), "A x.md       +1 -0\nM long/y.md  +0 -1\n2 files, 1 lines added, 1 removed\n");
        let piped = TerminalStyle::default();
        assert_eq!(unified(&report, |_| true, piped), diff, "piped, it can be applied");
        assert!(unified(&report, |_| true, plain).contains("+new \\x1b[31m"));
        let colored = TerminalStyle { has_colors: true, ..plain };
        let shown = unified(&report, |paths| paths.contains("y.md"), colored);
        assert_eq!(shown, "\u{1b}[35mdiff --git a/y.md b/y.md\u{1b}[0m\n\u{1b}[1;31m-old\u{1b}[0m\n");
    }
}
