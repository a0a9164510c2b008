//! Configuration errors: position, key, problem and remedy.
//!
//! Invariant: an error is one line of text without a value of `env`. It is shown to operators, never to callers.

use std::fmt;

/// A line and column of a configuration file, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Why a configuration is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file's name as the parser got it; empty if there is no file.
    pub file: String,
    /// The position in the file; `None` if the value has another source, such as the command line.
    pub place: Option<Place>,
    /// The key as a path, `workspace[0].name`; empty if the text isn't TOML at all.
    pub key: String,
    /// The problem.
    pub problem: String,
    /// The remedy; empty if the problem implies it.
    pub remedy: String,
}

impl ConfigError {
    /// An error at a key whose position isn't known yet.
    pub(super) fn at(key: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into(), remedy: remedy.into(), ..Self::default() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}", self.file)?;
            if let Some(place) = self.place {
                write!(f, ":{}:{}", place.line, place.column)?;
            }
            f.write_str(": ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.problem)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}
