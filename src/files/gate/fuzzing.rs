//! Entries for the fuzz targets in `tests/fuzz`: the parser of file URIs, and the gate as it works without `openat2`.
//!
//! Compiled with `--cfg fuzzing` only, which cargo-fuzz sets; no build of codeyard contains it. It decides nothing itself.

use std::path::{Path, PathBuf};

use super::file_uri::{self, MalformedPath, ParsedPath};
use super::path_gate::Gate;

/// The path that a URI names and whether it names a directory, or the reason why it names none.
pub fn parse_uri(uri: &str) -> Result<(PathBuf, bool), &'static str> {
    parts(file_uri::parse_uri(uri))
}

/// The same for the text of a path.
pub fn parse_path(path: &Path) -> Result<(PathBuf, bool), &'static str> {
    parts(file_uri::parse_path(path))
}

/// The same gate, opening files as on systems without `openat2`.
pub fn per_segment(gate: Gate) -> Gate {
    gate.per_segment()
}

fn parts(parsed: Result<ParsedPath, MalformedPath>) -> Result<(PathBuf, bool), &'static str> {
    parsed.map(|parsed| (parsed.path, parsed.is_directory)).map_err(|MalformedPath(reason)| reason)
}
