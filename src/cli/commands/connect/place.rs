//! The repository, the state directory and the program of a connection, as text that configuration files and command lines can hold.
//!
//! Invariants: the paths are absolute, valid UTF-8 and without control characters; the root has no backslash, which `codeyard stdio`
//! refuses.

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::args::ConnectArgs;

/// The paths of one connection.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) root: String,
    /// The state directory, if it isn't the default one.
    pub(super) state_dir: Option<String>,
    pub(super) program: String,
}

impl Place {
    /// The paths that `args` name.
    pub(super) fn find(args: &ConnectArgs) -> Result<Self, Failure> {
        let root = text("the repository", &root(args)?)?;
        if root.contains('\\') {
            return Err(Failure::usage(format!(
                "the repository {root:?} can't be served: its path has a backslash; rename the folder"
            )));
        }
        let state_dir = args.state.state_dir.as_deref().map(|dir| {
            let dir = std::path::absolute(dir)
                .map_err(|error| Failure::usage(format!("cannot use the state directory: {error}")))?;
            text("the state directory", &dir)
        });
        let program =
            std::env::current_exe().map_err(|error| Failure::new(format!("cannot find codeyard itself: {error}")))?;
        Ok(Self { root, state_dir: state_dir.transpose()?, program: text("the program", &program)? })
    }
}

fn text(what: &str, path: &Path) -> Result<String, Failure> {
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => Ok(text.to_owned()),
        _ => Err(Failure::usage(format!(
            "{what} {path:?} can't be written into a configuration: its path has control characters or bytes that are not UTF-8"
        ))),
    }
}

/// The repository as an absolute path.
fn root(args: &ConnectArgs) -> Result<PathBuf, Failure> {
    let given = args.root.clone().unwrap_or_else(|| ".".into());
    let root = given.canonicalize().map_err(|error| {
        Failure::missing(format!("cannot open {}: {error}; name the repository with --root", given.display()))
    })?;
    if root.is_dir() { Ok(root) } else { Err(Failure::usage(format!("{} is not a folder", given.display()))) }
}
