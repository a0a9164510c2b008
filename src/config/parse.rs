//! Parses text into a checked [`Config`]. The steps are TOML syntax, unknown keys, types, paths, and the rules of `validate`.
//!
//! It reads neither files nor the environment: [`Source`] names the file and the home folder. Invariant: every error names the file, and
//! the line and column if the text has them.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toml::de::DeTable;

use crate::error::ConfigError;
use crate::unknown_keys::{UnknownKey, unknown_key};
use crate::{Config, WorkspaceConfig, WorkspaceTemplate, locate};

/// Most errors that are named at once.
const MAX_ERRORS: usize = 50;

/// Where a configuration's text comes from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The file, as errors name it.
    pub file: &'a str,
    /// The absolute folder to which relative paths are joined: the file's own.
    pub base_dir: &'a Path,
    /// The folder that `~/` stands for; `None` if it is unknown.
    pub home: Option<&'a Path>,
}

/// Parses the text of a configuration file in `base_dir`. A path that starts with `~/` is an error.
pub fn parse(text: &str, base_dir: &Path) -> Result<Config, ConfigError> {
    parse_source(text, Source { file: "configuration", base_dir, home: None })
}

/// Parses the text of a configuration file.
pub fn parse_source(text: &str, source: Source<'_>) -> Result<Config, ConfigError> {
    let table = parse_table(text, source)?;
    read_located(text, &table, source)
}

/// A configuration, and everything that is wrong with its text.
#[derive(Debug, Default)]
pub struct CheckedText {
    /// What is left without the errors. `None` if it can't be read, or if a workspace had to be left out, so that the numbers of the others
    /// aren't those of the text.
    pub config: Option<Config>,
    /// The errors, in the order in which they were found.
    pub errors: Vec<ConfigError>,
}

/// Parses the text of a configuration file, and names everything that is wrong with it: what an error is about is left out, and the rest is
/// parsed again. Errors that only follow from what was left out aren't named.
pub fn parse_all(text: &str, source: Source<'_>) -> CheckedText {
    let whole = match parse_table(text, source) {
        Ok(whole) => whole,
        Err(error) => return CheckedText { config: None, errors: vec![error] },
    };
    let mut left = whole.clone();
    let mut errors: Vec<ConfigError> = Vec::new();
    let mut left_out: Vec<String> = Vec::new();
    while errors.len() < MAX_ERRORS {
        let error = match read_located(text, &left, source) {
            Ok(config) => {
                let lacks_workspace = left_out.iter().any(|key| key.starts_with("workspace") && key.ends_with(']'));
                return CheckedText { config: Some(config).filter(|_| !lacks_workspace), errors };
            }
            Err(error) => error,
        };
        let Some(removed) = locate::remove(left.get_mut(), &error.key) else {
            // A rule about a value that the text doesn't have.
            if !follows(&error.key, &left_out) {
                errors.push(error);
            }
            break;
        };
        // The indices of what is left may be smaller than those of the text.
        let entry = locate::path_at(whole.get_ref(), &removed.span);
        let key = format!("{entry}{}", error.key.strip_prefix(&removed.path).unwrap_or_default());
        if !follows(&key, &left_out) {
            errors.push(ConfigError { key, ..error });
        }
        left_out.push(entry);
    }
    CheckedText { config: None, errors }
}

/// Whether an error at `key` follows from what was left out: a part of it, or a workspace that it names.
fn follows(key: &str, left_out: &[String]) -> bool {
    left_out.iter().any(|left| {
        left.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', '[']))
            || key == "default_workspace" && left.starts_with("workspace")
    })
}

fn parse_table<'t>(text: &'t str, source: Source<'_>) -> Result<Spanned<DeTable<'t>>, ConfigError> {
    DeTable::parse(text)
        .map_err(|error| syntax(text, &error))
        .map_err(|error| ConfigError { file: source.file.to_owned(), ..error })
}

/// Reads a table of the text. Its errors have the file and the position.
fn read_located(text: &str, table: &Spanned<DeTable<'_>>, source: Source<'_>) -> Result<Config, ConfigError> {
    read(text, table, source).map_err(|error| {
        let span = locate::span_of(table.get_ref(), &error.key);
        let position = error.position.or_else(|| span.map(|span| locate::position(text, span.start)));
        ConfigError { file: source.file.to_owned(), position, ..error }
    })
}

fn read(text: &str, spanned: &Spanned<DeTable<'_>>, source: Source<'_>) -> Result<Config, ConfigError> {
    let table = spanned.get_ref();
    static SCHEMA: LazyLock<Value> = LazyLock::new(Config::json_schema);
    if let Some(unknown) = unknown_key(table, &SCHEMA) {
        return Err(unknown_error(text, unknown));
    }
    let whole = toml::Deserializer::from(spanned.clone());
    let mut config = Config::deserialize(whole).map_err(|error| wrong_value(text, table, &error))?;
    for (index, workspace) in config.workspaces.iter_mut().enumerate() {
        make_roots_absolute(workspace, index, source)?;
    }
    for (index, template) in config.workspaces_from.iter_mut().enumerate() {
        make_patterns_absolute(template, index, source)?;
    }
    for (at, path) in config.index.git_dirs.iter_mut().enumerate() {
        *path = absolute_path(path, source)
            .map_err(|(problem, remedy)| ConfigError::at(format!("index.git_dirs[{at}]"), problem, remedy))?;
    }
    for (name, issuer) in &mut config.issuers {
        if let Some(path) = &mut issuer.authorities {
            *path = absolute_path(path, source)
                .map_err(|(problem, remedy)| ConfigError::at(format!("issuers.{name}.authorities"), problem, remedy))?;
        }
    }
    for (name, path) in config.server.tls.iter_mut().flat_map(|tls| tls.files()) {
        *path = absolute_path(path, source)
            .map_err(|(problem, remedy)| ConfigError::at(format!("server.tls.{name}"), problem, remedy))?;
    }
    config.limits = config.limits.clamped();
    let own = config.workspaces.iter_mut().map(|workspace| &mut workspace.limits);
    for own in own.chain(config.workspaces_from.iter_mut().map(|template| &mut template.limits)).flatten() {
        *own = own.clone().clamped();
    }
    config.validate()?;
    Ok(config)
}

fn make_roots_absolute(workspace: &mut WorkspaceConfig, index: usize, source: Source<'_>) -> Result<(), ConfigError> {
    for (key, paths) in [("roots", &mut workspace.roots), ("extra_roots", &mut workspace.extra_roots)] {
        for (at, path) in paths.iter_mut().enumerate() {
            let joined = absolute_path(path, source).map_err(|(problem, remedy)| {
                ConfigError::at(format!("workspace[{index}].{key}[{at}]"), problem, remedy)
            })?;
            *path = joined;
        }
    }
    Ok(())
}

fn make_patterns_absolute(
    template: &mut WorkspaceTemplate,
    index: usize,
    source: Source<'_>,
) -> Result<(), ConfigError> {
    let error = |key: &str, at: usize, (problem, remedy): (&'static str, &'static str)| {
        ConfigError::at(format!("workspaces_from[{index}].{key}[{at}]"), problem, remedy)
    };
    for (at, pattern) in template.roots.iter_mut().enumerate() {
        let joined = absolute_path(Path::new(pattern.as_str()), source).map_err(|wrong| error("roots", at, wrong))?;
        *pattern = joined.to_string_lossy().into_owned();
    }
    for (at, path) in template.extra_roots.iter_mut().enumerate() {
        *path = absolute_path(path, source).map_err(|wrong| error("extra_roots", at, wrong))?;
    }
    Ok(())
}

/// `path` as an absolute path without `.` steps. `..` steps stay, because the kernel resolves them after symbolic links. Errors are a
/// problem and a remedy.
fn absolute_path(path: &Path, source: Source<'_>) -> Result<PathBuf, (&'static str, &'static str)> {
    let text = path.to_string_lossy();
    if text.is_empty() {
        return Err(("the path is empty", "write a path; `.` is the folder of the configuration file"));
    }
    if text.contains('\0') {
        return Err(("the path contains a NUL character, which no path can contain", "remove the character"));
    }
    let joined = match (path.strip_prefix("~"), source.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        (Ok(_), None) => {
            return Err(("the path starts with `~`, but the home folder is unknown", "write an absolute path"));
        }
        (Err(_), _) => source.base_dir.join(path),
    };
    Ok(joined.components().collect())
}

fn syntax(text: &str, error: &toml::de::Error) -> ConfigError {
    let problem = format!("the file is not valid TOML: {}", one_line(error.message()));
    let remedy = "correct the syntax here; `codeyard config show` prints a valid example";
    ConfigError { position: position_of(text, error.span()), ..ConfigError::at("", problem, remedy) }
}

fn wrong_value(text: &str, table: &DeTable<'_>, error: &toml::de::Error) -> ConfigError {
    let key = error.span().map(|span| locate::path_at(table, &span)).unwrap_or_default();
    let remedies = [
        ("missing field", "add the key"),
        ("unknown field", "remove the key, or correct its name"),
        ("unknown variant", "write one of these values"),
    ];
    let remedy = remedies
        .iter()
        .find(|(start, _)| error.message().starts_with(start))
        .map_or("correct the value; `codeyard config show` prints every key with its default", |(_, remedy)| *remedy);
    ConfigError { position: position_of(text, error.span()), ..ConfigError::at(key, one_line(error.message()), remedy) }
}

fn unknown_error(text: &str, unknown: UnknownKey) -> ConfigError {
    let remedy = match unknown.nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("remove it, or use a known key: {}", unknown.known.join(", ")),
    };
    ConfigError {
        position: position_of(text, Some(unknown.span)),
        ..ConfigError::at(unknown.path, "unknown key", remedy)
    }
}

fn position_of(text: &str, span: Option<Range<usize>>) -> Option<crate::TextPosition> {
    span.map(|span| locate::position(text, span.start))
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join(", ")
}
