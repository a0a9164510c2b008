//! Standard output and standard error of the commands. Standard output is written at once; a closed pipe is no failure. A line on
//! standard error that cannot be written does not stop a command, unless it must be seen.
//!
//! Invariants: nothing that is printed has a character that a terminal obeys, except what [`print_styled`] gets from a style, and a document
//! that no terminal shows (see [`codeyard_base::visible`]); `stdio` uses standard error only; its standard output belongs to MCP.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};

use rustix::event::{PollFd, PollFlags, Timespec};
use serde::Serialize;

use crate::Failure;
use codeyard_base::visible::{visible, visible_json, visible_line};

/// Prints `text` to standard output. It may have lines.
pub fn print(text: impl Display) -> Result<(), Failure> {
    write_out(&visible(&text.to_string()))
}

/// Prints text that a style has coloured. What comes from elsewhere in it has passed
/// [`TerminalStyle::safe`](crate::terminal_style::TerminalStyle::safe).
pub(crate) fn print_styled(text: &str) -> Result<(), Failure> {
    write_out(text)
}

/// Prints a document, whose bytes other programs read: unchanged, except on a terminal.
pub(crate) fn print_document(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() { write_out(&visible(text)) } else { write_out(text) }
}

/// Prints JSON text as a line.
pub(crate) fn print_json_line(json: &str) -> Result<(), Failure> {
    write_out(&format!("{}\n", visible_json(json)))
}

fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Whether the reader of standard output has gone, such as `head` after its lines. Who prints for long, or waits for more, ends then.
pub(crate) fn reader_is_gone() -> bool {
    let out = std::io::stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let found = rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    found.is_ok() && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Prints a line to standard output and ignores write errors.
pub fn print_line(line: impl Display) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{}", visible(&line.to_string())).and_then(|()| out.flush()));
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
    err.write_all(format!("{}\n", visible(&line.to_string())).as_bytes())?;
    err.flush()
}

/// Prints `value` as indented JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::new(error.to_string()))?;
    print_json_line(&text)
}

/// Prints `value` as JSON if `json` is set, else the text.
pub fn print_json_or(json: bool, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
    if json { print_json(value) } else { print(text()) }
}

/// Formats rows as columns, each as wide as its widest cell, two spaces apart. A cell has no line breaks.
pub fn columns(rows: &[Vec<String>]) -> String {
    let cells = |row: &Vec<String>| row.iter().map(|cell| visible_line(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|at| width(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
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
