//! Parses text into a checked [`Config`]: TOML, known keys, types, paths, then rules.
//!
//! It reads neither files nor the environment: [`Source`] names the file and the home folder. Invariant: every error names the file, and
//! the line and column if the text has them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use crate::error::ConfigError;
use crate::strict::{UnknownKey, unknown_key};
use crate::{Config, WorkspaceConfig, locate};

/// The origin of a configuration's text.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The file, as errors name it.
    pub file: &'a str,
    /// The absolute folder to which relative paths are joined: the file's own.
    pub base_dir: &'a Path,
    /// The folder of `~/`.
    pub home: Option<&'a Path>,
}

/// Parses the text of a configuration file in `base_dir`. `~/` is refused.
pub fn parse(text: &str, base_dir: &Path) -> Result<Config, ConfigError> {
    parse_source(text, Source { file: "configuration", base_dir, home: None })
}

/// Parses the text of a configuration file.
pub fn parse_source(text: &str, source: Source<'_>) -> Result<Config, ConfigError> {
    let table = DeTable::parse(text)
        .map_err(|error| syntax(text, &error))
        .map_err(|error| ConfigError { file: source.file.to_owned(), ..error })?;
    read(text, table.get_ref(), source).map_err(|error| {
        let span = locate::span_of(table.get_ref(), &error.key);
        let place = error.place.or_else(|| span.map(|span| locate::place(text, span.start)));
        ConfigError { file: source.file.to_owned(), place, ..error }
    })
}

fn read(text: &str, table: &DeTable<'_>, source: Source<'_>) -> Result<Config, ConfigError> {
    if let Some(unknown) = unknown_key(table, &Config::json_schema()) {
        return Err(unknown_error(text, unknown));
    }
    let mut config: Config = toml::from_str(text).map_err(|error| wrong_value(text, table, &error))?;
    for (index, workspace) in config.workspaces.iter_mut().enumerate() {
        anchor_roots(workspace, index, source)?;
    }
    config.limits = config.limits.clamped();
    for own in config.workspaces.iter_mut().filter_map(|workspace| workspace.limits.as_mut()) {
        *own = own.clone().clamped();
    }
    config.validate()?;
    Ok(config)
}

fn anchor_roots(workspace: &mut WorkspaceConfig, index: usize, source: Source<'_>) -> Result<(), ConfigError> {
    for (key, paths) in [("roots", &mut workspace.roots), ("extra_roots", &mut workspace.extra_roots)] {
        for (at, path) in paths.iter_mut().enumerate() {
            let joined = anchored(path, source).map_err(|(problem, remedy)| {
                ConfigError::at(format!("workspace[{index}].{key}[{at}]"), problem, remedy)
            })?;
            *path = joined;
        }
    }
    Ok(())
}

/// `path` as an absolute one, without `.` steps; `..` stays for the kernel to follow.
fn anchored(path: &Path, source: Source<'_>) -> Result<PathBuf, (&'static str, &'static str)> {
    let text = path.to_string_lossy();
    if text.is_empty() {
        return Err(("an empty path", "name a folder; the file's own folder is \".\""));
    }
    if text.contains('\0') {
        return Err(("a path with a NUL character", "name a folder"));
    }
    let joined = match (path.strip_prefix("~"), source.home) {
        (Ok(below), Some(home)) => home.join(below),
        (Ok(_), None) => return Err(("`~` with no home folder known", "write the whole path")),
        (Err(_), _) => source.base_dir.join(path),
    };
    Ok(joined.components().collect())
}

fn syntax(text: &str, error: &toml::de::Error) -> ConfigError {
    let problem = format!("not TOML: {}", one_line(error.message()));
    ConfigError { place: place_of(text, error.span()), ..ConfigError::at("", problem, "") }
}

fn wrong_value(text: &str, table: &DeTable<'_>, error: &toml::de::Error) -> ConfigError {
    let key = error.span().map(|span| locate::path_at(table, &span)).unwrap_or_default();
    let remedy = if error.message().starts_with("missing field") { "add it" } else { "" };
    ConfigError { place: place_of(text, error.span()), ..ConfigError::at(key, one_line(error.message()), remedy) }
}

fn unknown_error(text: &str, unknown: UnknownKey) -> ConfigError {
    let remedy = match unknown.nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("known keys here are {}", unknown.known.join(", ")),
    };
    ConfigError { place: place_of(text, Some(unknown.span)), ..ConfigError::at(unknown.path, "unknown key", remedy) }
}

fn place_of(text: &str, span: Option<Range<usize>>) -> Option<crate::Place> {
    span.map(|span| locate::place(text, span.start))
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join(", ")
}
