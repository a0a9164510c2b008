//! Formats the rows of a search for a terminal or a pipe, as ripgrep does: grouped by file below a heading on a terminal, one
//! `path:line:text` for each row elsewhere; `--` between groups of lines that aren't adjacent; no line twice.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::search_rows::{PrintedRow, RowContent};
use crate::terminal_style::{Part, TerminalStyle};
use codeyard_index::LinePattern;

/// How rows are printed.
pub(super) struct SearchPrinter {
    pub(super) style: TerminalStyle,
    /// Whether rows are grouped below the path of their file.
    pub(super) has_headings: bool,
    /// Lines shown before and after a matching line.
    pub(super) context: (usize, usize),
    /// What is highlighted in lines and names.
    pub(super) highlights: Vec<LinePattern>,
}

struct FileRows<'r> {
    shown_path: String,
    file: Option<&'r PathBuf>,
    rows: Vec<&'r PrintedRow>,
}

impl SearchPrinter {
    pub(super) fn print(&self, rows: &[PrintedRow]) -> String {
        let mut text = String::new();
        let mut is_first = true;
        for file in by_file(rows) {
            if self.has_headings {
                if !is_first {
                    text.push('\n');
                }
                let path = self.style.safe(&file.shown_path);
                self.style.link(file.file.map(PathBuf::as_path), None, &mut text, |text| {
                    self.style.paint(Part::Path, &path, text);
                });
                text.push('\n');
            }
            self.file(&file, is_first, &mut text);
            is_first = false;
        }
        text
    }

    /// The paths of the files with a row, each once.
    pub(super) fn paths(&self, rows: &[PrintedRow]) -> String {
        let mut text = String::new();
        for file in by_file(rows) {
            self.path(&file, None, &mut text);
            text.push('\n');
        }
        text
    }

    /// The number of rows of each file.
    pub(super) fn counts(&self, rows: &[PrintedRow]) -> String {
        let mut text = String::new();
        for file in by_file(rows) {
            self.path(&file, None, &mut text);
            text.push_str(&format!(":{}\n", file.rows.len()));
        }
        text
    }

    fn path(&self, file: &FileRows<'_>, line: Option<u32>, text: &mut String) {
        let path = self.style.safe(&file.shown_path);
        self.style.link(file.file.map(PathBuf::as_path), line, text, |text| self.style.paint(Part::Path, &path, text));
    }

    fn file(&self, file: &FileRows<'_>, is_first: bool, text: &mut String) {
        let mut lines: BTreeMap<u32, (bool, &str)> = BTreeMap::new();
        for row in &file.rows {
            match &row.content {
                RowContent::Named { kind, name, below } => self.named(file, row.line, kind, name, below, text),
                RowContent::Line { text, before, after } => {
                    self.collect(row.line, text, before, after, &mut lines);
                }
            }
        }
        let has_context = self.context != (0, 0);
        let mut last = if has_context && !is_first && !self.has_headings { Some(0) } else { None };
        for (number, (is_match, line)) in lines {
            if last.is_some_and(|last| has_context && (last == 0 || number > last + 1)) {
                self.style.paint(Part::Dim, "--", text);
                text.push('\n');
            }
            last = Some(number);
            let mark = if is_match { ':' } else { '-' };
            self.prefix(file, number, mark, text);
            text.push(mark);
            let line = self.style.safe(line);
            if is_match {
                self.highlighted(&line, text)
            } else {
                text.push_str(&line)
            }
            text.push('\n');
        }
    }

    /// Adds a matching line and its context. A match replaces the same line of another match's context.
    fn collect<'r>(
        &self,
        number: u32,
        line: &'r str,
        before: &'r [String],
        after: &'r [String],
        lines: &mut BTreeMap<u32, (bool, &'r str)>,
    ) {
        for (distance, line) in (1_u32..).zip(before.iter().rev().take(self.context.0)) {
            if let Some(number) = number.checked_sub(distance).filter(|number| *number > 0) {
                lines.entry(number).or_insert((false, line));
            }
        }
        for (distance, line) in (1_u32..).zip(after.iter().take(self.context.1)) {
            lines.entry(number.saturating_add(distance)).or_insert((false, line));
        }
        lines.insert(number, (true, line));
    }

    /// The place of a row: the path unless it is in the heading, and the line.
    fn prefix(&self, file: &FileRows<'_>, line: u32, mark: char, text: &mut String) {
        if !self.has_headings {
            self.path(file, Some(line), text);
            text.push(mark);
        }
        let number = line.to_string();
        let link = file.file.filter(|_| self.has_headings).map(PathBuf::as_path);
        self.style.link(link, Some(line), text, |text| self.style.paint(Part::Line, &number, text));
    }

    fn named(&self, file: &FileRows<'_>, line: u32, kind: &str, name: &str, below: &[String], text: &mut String) {
        self.prefix(file, line, ':', text);
        text.push_str(": ");
        self.style.paint(Part::Kind, kind, text);
        text.push(' ');
        self.highlighted(&self.style.safe(name), text);
        text.push('\n');
        for line in below {
            text.push_str("    ");
            text.push_str(&self.style.safe(line));
            text.push('\n');
        }
    }

    fn highlighted(&self, line: &str, text: &mut String) {
        if !self.style.has_colors {
            return text.push_str(line);
        }
        let mut ranges: Vec<(usize, usize)> = self.highlights.iter().flat_map(|pattern| pattern.ranges(line)).collect();
        ranges.sort_unstable();
        let mut end = 0;
        for (from, to) in ranges {
            let from = from.max(end);
            if from >= to {
                continue;
            }
            text.push_str(&line[end..from]);
            self.style.paint(Part::Match, &line[from..to], text);
            end = to;
        }
        text.push_str(&line[end..]);
    }
}

/// The rows by file, the files in the order of their first rows.
fn by_file(rows: &[PrintedRow]) -> Vec<FileRows<'_>> {
    let mut places: BTreeMap<(Option<&str>, Option<&PathBuf>, &str), usize> = BTreeMap::new();
    let mut files: Vec<FileRows<'_>> = Vec::new();
    for row in rows {
        let key = (row.workspace.as_deref(), row.file.as_ref(), row.path.as_str());
        let at = *places.entry(key).or_insert(files.len());
        match files.get_mut(at) {
            Some(file) => file.rows.push(row),
            None => files.push(FileRows { shown_path: row.shown_path(), file: row.file.as_ref(), rows: vec![row] }),
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::code::CaseRule;

    fn line(path: &str, number: u32, text: &str, before: &[&str], after: &[&str]) -> PrintedRow {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let content = RowContent::Line { text: text.into(), before: owned(before), after: owned(after) };
        PrintedRow { workspace: None, path: path.into(), file: None, line: number, content }
    }

    fn printer(has_headings: bool, has_colors: bool, before: usize, after: usize) -> SearchPrinter {
        let highlights = vec![LinePattern::new("hit", false, CaseRule::Smart, false).unwrap()];
        SearchPrinter {
            style: TerminalStyle { has_colors, ..TerminalStyle::default() },
            has_headings,
            context: (before, after),
            highlights,
        }
    }

    #[test]
    fn context_lines_are_printed_once_and_groups_are_separated() {
        let rows = [
            line("a", 2, "hit 2", &["one"], &["three"]),
            line("a", 4, "hit 4", &["three"], &["five"]),
            line("a", 9, "hit 9", &["eight"], &["ten"]),
            line("b", 1, "hit", &[], &["two"]),
        ];
        let flat = printer(false, false, 1, 1).print(&rows);
        let expected = "a-1-one\na:2:hit 2\na-3-three\na:4:hit 4\na-5-five\n--\na-8-eight\na:9:hit 9\na-10-ten\n--\nb:1:hit\nb-2-two\n";
        assert_eq!(flat, expected);
        let headed = printer(true, false, 0, 1).print(&rows);
        assert_eq!(headed, "a\n2:hit 2\n3-three\n4:hit 4\n5-five\n--\n9:hit 9\n10-ten\n\nb\n1:hit\n2-two\n");
        let none = printer(false, false, 0, 0).print(&rows);
        assert_eq!(none, "a:2:hit 2\na:4:hit 4\na:9:hit 9\nb:1:hit\n", "no separators without context");
    }

    #[test]
    fn a_match_next_to_a_match_is_shown_as_a_match() {
        let rows = [line("a", 1, "hit 1", &[], &["hit 2"]), line("a", 2, "hit 2", &["hit 1"], &[])];
        assert_eq!(printer(false, false, 1, 1).print(&rows), "a:1:hit 1\na:2:hit 2\n");
    }

    #[test]
    fn matches_are_coloured() {
        let rows = [line("a", 1, "a hit, a hit", &[], &[])];
        let text = printer(false, true, 0, 0).print(&rows);
        assert_eq!(text, "\x1b[35ma\x1b[0m:\x1b[32m1\x1b[0m:a \x1b[1;31mhit\x1b[0m, a \x1b[1;31mhit\x1b[0m\n");
    }

    #[test]
    fn paths_and_counts_name_each_file_once() {
        let rows = [line("b", 1, "hit", &[], &[]), line("a", 1, "hit", &[], &[]), line("b", 5, "hit", &[], &[])];
        let printer = printer(true, false, 0, 0);
        assert_eq!(printer.paths(&rows), "b\na\n");
        assert_eq!(printer.counts(&rows), "b:2\na:1\n");
    }

    #[test]
    fn symbols_are_grouped_by_file_in_the_order_of_their_ranks() {
        let named = |path: &str, line, name: &str| PrintedRow {
            workspace: Some("w".into()),
            path: path.into(),
            file: None,
            line,
            content: RowContent::Named { kind: "fn".into(), name: name.into(), below: vec!["fn x()".into()] },
        };
        let rows = [named("a", 9, "one"), named("b", 1, "two"), named("a", 2, "three")];
        let text = printer(true, false, 0, 0).print(&rows);
        assert_eq!(text, "w/a\n9: fn one\n    fn x()\n2: fn three\n    fn x()\n\nw/b\n1: fn two\n    fn x()\n");
        let flat = printer(false, false, 0, 0).print(&rows[..1]);
        assert_eq!(flat, "w/a:9: fn one\n    fn x()\n");
    }
}
