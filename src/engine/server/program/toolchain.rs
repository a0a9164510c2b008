//! The folders that a confined server needs besides its roots: its installation, and the programs that it is run by.
//!
//! Invariant: no folder that contains the home folder is in the result, and none of a workspace.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::server::program::programs::Program;

/// Longest first line of a script that is read, in bytes.
const MAX_FIRST_LINE: u64 = 256;
/// Longest chain of programs that run each other.
const MAX_INTERPRETERS: usize = 4;

/// The folders of a program: its installation, else those of its file, and of the programs that interpret it.
pub(in crate::server) fn of_program(program: &Program, environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    found.extend(program.install.clone());
    found.extend(program.bin.clone());
    found.extend(program.checker.as_ref().and_then(|checker| prefix(checker, environment)));
    let mut next = Some(program.program.clone());
    for _ in 0..MAX_INTERPRETERS {
        let Some(path) = next.take() else { break };
        next = interpreter(&path, environment);
        let Ok(real) = path.canonicalize() else { continue };
        found.extend(prefix(&path, environment));
        found.extend(prefix(&real, environment));
    }
    // A script of a Node package is run by Node, of a Python package by Python, also where codeyard names the real program.
    for name in ["node", "python3"] {
        let on_path = on_path(name, environment).and_then(|path| path.canonicalize().ok());
        found.extend(on_path.and_then(|path| prefix(&path, environment)));
    }
    found.into_iter().collect()
}

/// The folders of a registry entry that exist. `~/` is the home folder and `$NAME/` a variable.
pub(in crate::server) fn declared(folders: &[String], environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let filled = folders.iter().filter_map(|folder| {
        if let Some(rest) = folder.strip_prefix("~/") {
            return Some(PathBuf::from(variable("HOME", environment)?).join(rest));
        }
        match folder.strip_prefix('$') {
            Some(named) => {
                let (name, rest) = named.split_once('/').unwrap_or((named, ""));
                Some(PathBuf::from(variable(name, environment)?).join(rest))
            }
            None => Some(PathBuf::from(folder)),
        }
    });
    filled.filter(|folder| folder.is_absolute() && folder.exists()).collect()
}

fn variable<'a>(name: &str, environment: &'a [(OsString, OsString)]) -> Option<&'a OsString> {
    environment.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn on_path(name: &str, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let path = variable("PATH", environment)?;
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// The folder that holds everything of a program: beside `bin`, or around `node_modules`. A folder that contains the home folder, is it, or is
/// directly in it, is too much: then the program's own folder, or its file.
fn prefix(program: &Path, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let folder = program.parent()?;
    let home = variable("HOME", environment).map(PathBuf::from);
    let is_too_much =
        |folder: &Path| folder.parent().is_none() || home.as_ref().is_some_and(|home| home.starts_with(folder));
    let modules = program.ancestors().filter(|path| path.ends_with("node_modules")).last().and_then(Path::parent);
    // `~/.cargo` and `~/.local` hold more than programs: credentials, and data of other programs.
    let is_in_home = |folder: &&Path| home.as_deref().is_some_and(|home| folder.parent() == Some(home));
    let around = modules.or_else(|| folder.parent().filter(|_| folder.ends_with("bin")));
    let around = around.filter(|around| !is_in_home(around));
    [around, Some(folder), Some(program)].into_iter().flatten().find(|path| !is_too_much(path)).map(Path::to_path_buf)
}

/// The program that the first line of a script names.
fn interpreter(script: &Path, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    File::open(script).ok()?.take(MAX_FIRST_LINE).read_to_end(&mut bytes).ok()?;
    let line = String::from_utf8_lossy(bytes.strip_prefix(b"#!")?).lines().next()?.to_owned();
    let mut words = line.split_ascii_whitespace();
    let program = Path::new(words.next()?).to_path_buf();
    if program.ends_with("env") {
        return on_path(words.find(|word| !word.starts_with('-'))?, environment);
    }
    Some(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_program_brings_its_installation_and_its_interpreter() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let home = base.join("home");
        for folder in ["home/bin", "versions/1/bin", "npm/lib/node_modules/x/node_modules/y"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        fs::write(base.join("versions/1/bin/node"), "").unwrap();
        let script = base.join("npm/lib/node_modules/x/cli.js");
        fs::write(&script, "#!/usr/bin/env node\n").unwrap();
        fs::write(home.join("bin/own"), "").unwrap();
        fs::create_dir_all(home.join(".cargo/bin")).unwrap();
        fs::write(home.join(".cargo/bin/rust-analyzer"), "").unwrap();
        let environment = [
            ("HOME".into(), home.clone().into_os_string()),
            ("PATH".into(), base.join("versions/1/bin").into_os_string()),
            ("GOROOT".into(), base.join("versions").into_os_string()),
        ];
        let of = |program: &Path| {
            let args = Vec::new();
            let env = Default::default();
            of_program(
                &Program { program: program.into(), args, env, install: None, bin: None, version: None, checker: None },
                &environment,
            )
        };
        assert_eq!(of(&script), [base.join("npm/lib"), base.join("versions/1")]);
        assert_eq!(of(&home.join("bin/own"))[0], home.join("bin"), "not the home folder");
        assert_eq!(
            of(&home.join(".cargo/bin/rust-analyzer"))[0],
            home.join(".cargo/bin"),
            "not the credentials beside it"
        );
        let folders = ["~/bin", "$GOROOT/1", "$GONE/x", "relative", "/nowhere/at/all"].map(String::from);
        assert_eq!(declared(&folders, &environment), [home.join("bin"), base.join("versions/1")]);
    }
}
