//! Configuration errors: position, key, problem and remedy.
//!
//! Invariants: an error is one line of text; it contains no value of `env` or `settings`; it names the next step. Operators see it,
//! callers don't.

use std::fmt;

use codeyard_base::visible::visible_line;

/// A line and column of a configuration file, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPosition {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// The reason why a configuration is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file's name as the parser got it; empty if there is no file.
    pub file: String,
    /// The position in the file; `None` if the value has another source, such as the command line.
    pub position: Option<TextPosition>,
    /// The key as a path, `workspace[0].name`; empty if the text isn't TOML at all.
    pub key: String,
    /// What is wrong with the value, and why.
    pub problem: String,
    /// The next step: which key to change, and how.
    pub remedy: String,
}

impl ConfigError {
    /// An error at a key. The parser adds the position.
    pub(super) fn at(key: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into(), remedy: remedy.into(), ..Self::default() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}", self.file)?;
            if let Some(position) = self.position {
                write!(f, ":{}:{}", position.line, position.column)?;
            }
            f.write_str(": ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", visible_line(&self.key))?;
        }
        f.write_str(&visible_line(&self.problem))?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", visible_line(&self.remedy))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Source, parse_source};

    #[test]
    fn an_error_is_one_line_whatever_it_repeats() {
        let source = Source { file: "yard.toml", base_dir: std::path::Path::new("/srv"), home: None };
        for text in [
            "[[workspaces_from]]\nroots = [\"a\\n[b\"]\n",
            "[[workspaces_from]]\nroots = [\"a\\u001b[31m[b\"]\n",
            "[[workspace]]\nname = \"a\\nb\"\nroots = [\"/\"]\n",
            "[\"a\\nb\"]\n",
        ] {
            let printed = parse_source(text, source).unwrap_err().to_string();
            assert!(printed.starts_with("yard.toml:") && !printed.contains(char::is_control), "{printed:?}");
        }
    }
}
