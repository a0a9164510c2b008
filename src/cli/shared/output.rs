//! Standard output and standard error of the commands. Standard output is written at once; a closed pipe is no failure. A line on
//! standard error that cannot be written does not stop a command, unless it must be seen.
//!
//! Invariant: `stdio` uses standard error only; its standard output belongs to MCP.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use serde::Serialize;

use crate::Failure;

/// Prints `text` unchanged to standard output.
pub fn print(text: impl Display) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a line to standard output and ignores write errors.
pub fn print_line(line: impl Display) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}

/// Prints a line to standard error and ignores write errors.
pub fn eprint_line(line: impl Display) {
    drop(try_eprint_line(line));
}

/// Prints a line to standard error; for lines that must be seen, such as a new token.
///
/// # Errors
/// The line could not be written.
pub fn try_eprint_line(line: impl Display) -> std::io::Result<()> {
    let mut err = std::io::stderr().lock();
    err.write_all(format!("{line}\n").as_bytes())?;
    err.flush()
}

/// Prints `value` as indented JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::new(error.to_string()))?;
    print(format_args!("{text}\n"))
}

/// Prints `value` as JSON if `json` is set, else the text.
pub fn print_json_or(json: bool, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
    if json { print_json(value) } else { print(text()) }
}

/// Formats rows as columns, each as wide as its widest cell, two spaces apart.
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
    fn columns_are_aligned_without_trailing_spaces() {
        let rows = [vec!["a".into(), "bc".into(), String::new()], vec!["größe".into(), "d".into()]];
        assert_eq!(columns(&rows), "a      bc\ngröße  d\n");
    }
}
