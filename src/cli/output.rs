//! What commands write. Standard output of those that print an answer: written whole, and a reader that has gone is no
//! failure. Standard error of those that serve: one that can't be written stops nobody.
//!
//! Invariant: `stdio` uses standard error only; its standard output belongs to MCP.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use serde::Serialize;

use super::Failure;

/// Prints `text` as it is.
pub fn print(text: impl Display) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output can't be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a line; one that nobody reads any more is no matter.
pub fn say(line: impl Display) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}

/// Writes a line to standard error for a person; where it can't be written, the work goes on without.
pub fn complain(line: impl Display) {
    drop(show(line));
}

/// Writes a line to standard error that must be seen.
pub fn show(line: impl Display) -> std::io::Result<()> {
    let mut err = std::io::stderr().lock();
    err.write_all(format!("{line}\n").as_bytes())?;
    err.flush()
}

/// Prints `value` as indented JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::new(error.to_string()))?;
    print(format_args!("{text}\n"))
}

/// Prints JSON or the text, as asked.
pub fn print_either(json: bool, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
    if json { print_json(value) } else { print(text()) }
}

/// Rows as columns, each as wide as its widest cell; two blanks between.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|at| width(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_end_without_blanks() {
        let rows = [vec!["a".into(), "bc".into(), String::new()], vec!["größe".into(), "d".into()]];
        assert_eq!(columns(&rows), "a      bc\ngröße  d\n");
    }
}
