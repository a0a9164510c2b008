//! What is wrong with a configuration: where, which key, what, and what to do about it.
//!
//! Invariant: one line of text, without a value of `env`; it is shown to whoever runs the service, never to a caller.

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
    /// The file as it was named to the parser; empty where there is none.
    pub file: String,
    /// Where in the file; `None` if the value came from elsewhere, such as the command line.
    pub place: Option<Place>,
    /// The key as a path, `workspace[0].name`; empty if the text isn't TOML at all.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What to do; may be empty where the problem says it.
    pub remedy: String,
}

impl ConfigError {
    /// An error at a key, its place still unknown.
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
