//! The package tools: which commands fetch a server's packages into a folder, and what to say when they fail.
//!
//! pip installs with `--target`: that needs no virtual environment, the result can be renamed, and native programs run
//! without Python. Where pip is missing, a virtual environment lends its own. npm runs no scripts of packages.

use std::env::split_paths;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{InstallError, InstallStep, io_error};
use crate::registry::InstallSource;
use codeyard_process::run::{ToolOutcome, run};

/// Words that say that the network is the trouble.
const OFFLINE: [&str; 11] = [
    "name resolution",
    "Name or service not known",
    "getaddrinfo",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ENETUNREACH",
    "ETIMEDOUT",
    "NewConnectionError",
    "Failed to establish a new connection",
    "could not resolve host",
];

/// One server's fetching.
pub(super) struct PackageFetch<'a> {
    pub kind: &'a str,
    pub fresh: &'a Path,
    pub path: &'a OsStr,
    pub limit: Duration,
    pub tell: &'a dyn Fn(InstallStep),
}

/// What to say of a server that is a part of this program.
pub(super) const BUILTIN: &str = "it is a part of codeyard: there is nothing to install";

/// The tool and the packages of an origin that we install from.
pub(super) fn packages(install: &InstallSource) -> Option<(&'static str, &[String])> {
    match install {
        InstallSource::Pypi { packages } => Some(("pip", packages)),
        InstallSource::Npm { packages } => Some(("npm", packages)),
        InstallSource::Cargo { packages } => Some(("cargo", packages)),
        InstallSource::Manual { .. } | InstallSource::Builtin {} => None,
    }
}

/// The version of a pinned package.
pub(super) fn version_of(package: &str) -> String {
    package.rsplit(['=', '@']).next().unwrap_or(package).to_string()
}

impl PackageFetch<'_> {
    /// Fetches the packages into the folder.
    pub(super) fn fetch(&self, install: &InstallSource) -> Result<(), InstallError> {
        match install {
            InstallSource::Pypi { packages } => self.pip(packages),
            InstallSource::Npm { packages } => self.npm(packages),
            InstallSource::Cargo { packages } => self.cargo(packages),
            InstallSource::Manual { hint } => Err(InstallError::Manual { kind: self.kind.into(), hint: hint.clone() }),
            InstallSource::Builtin {} => Err(InstallError::Manual { kind: self.kind.into(), hint: BUILTIN.to_owned() }),
        }
    }

    fn pip(&self, packages: &[String]) -> Result<(), InstallError> {
        let python = self.tool("python3", "install Python 3 with pip (Debian: apt install python3-pip)")?;
        let has_pip = self.try_run(&python, &["-m", "pip", "--version"], "pip", packages)?.success();
        let lent = self.fresh.join(".venv");
        let mut with_pip = python.clone();
        if !has_pip {
            let made = self.try_run(&python, &["-m", "venv", &text(&lent)], "venv", packages)?;
            if !made.success() {
                let advice = "Python has neither pip nor venv; install one (Debian: apt install python3-pip)";
                return Err(self.failed(&made, Some(advice)));
            }
            with_pip = lent.join("bin/python");
        }
        let target = text(self.fresh);
        let options = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-compile", "--target"];
        let mut args: Vec<&str> = options.to_vec();
        args.extend([target.as_str(), "--"]);
        args.extend(packages.iter().map(String::as_str));
        self.must_run(&with_pip, &args, "pip", packages)?;
        if !has_pip {
            repoint_scripts(&self.fresh.join("bin"));
            fs::remove_dir_all(&lent).map_err(io_error("cannot remove", &lent))?;
        }
        Ok(())
    }

    fn npm(&self, packages: &[String]) -> Result<(), InstallError> {
        let npm = self.tool("npm", "install Node.js with npm (https://nodejs.org)")?;
        // Without it npm would look for a project in the folders above.
        let manifest = self.fresh.join("package.json");
        fs::write(&manifest, "{\"private\": true}\n").map_err(io_error("cannot write", &manifest))?;
        let prefix = text(self.fresh);
        let options = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-progress", "--loglevel=error"];
        let mut args = vec!["install", "--prefix", &prefix];
        args.extend(options);
        args.push("--");
        args.extend(packages.iter().map(String::as_str));
        self.must_run(&npm, &args, "npm", packages)
    }

    fn cargo(&self, packages: &[String]) -> Result<(), InstallError> {
        let cargo = self.tool("cargo", "install Rust (https://rustup.rs)")?;
        let root = text(self.fresh);
        let mut args = vec!["install", "--locked", "--root", &root, "--"];
        args.extend(packages.iter().map(String::as_str));
        self.must_run(&cargo, &args, "cargo", packages)
    }

    fn tool(&self, name: &str, advice: &str) -> Result<std::path::PathBuf, InstallError> {
        let found = split_paths(self.path).map(|folder| folder.join(name)).find(|path| path.is_file());
        found.ok_or_else(|| InstallError::MissingTool {
            kind: self.kind.into(),
            tool: name.into(),
            advice: advice.into(),
        })
    }

    fn must_run(
        &self,
        program: &Path,
        args: &[&str],
        tool: &'static str,
        packages: &[String],
    ) -> Result<(), InstallError> {
        let ended = self.try_run(program, args, tool, packages)?;
        if ended.success() { Ok(()) } else { Err(self.failed(&ended, None)) }
    }

    fn try_run(
        &self,
        program: &Path,
        args: &[&str],
        tool: &'static str,
        packages: &[String],
    ) -> Result<ToolOutcome, InstallError> {
        let step = || (self.tell)(InstallStep::Fetching { packages: packages.join(" "), tool });
        step();
        #[expect(clippy::disallowed_methods, reason = "package tools are run here")]
        let mut command = Command::new(program);
        // The user's settings for pip must not send the packages elsewhere.
        let own = [("PIP_USER", "0"), ("PIP_REQUIRE_VIRTUALENV", "0"), ("PIP_TARGET", ""), ("PIP_PREFIX", "")];
        command.args(args).env("PATH", self.path).current_dir(self.fresh);
        for (name, value) in own {
            if value.is_empty() {
                command.env_remove(name);
            } else {
                command.env(name, value);
            }
        }
        run(command, self.limit, &step).map_err(io_error("cannot start", program))
    }

    fn failed(&self, ended: &ToolOutcome, advice: Option<&str>) -> InstallError {
        let says = |words: &[&str]| words.iter().any(|word| ended.output.contains(word));
        let advice = advice.unwrap_or(if says(&OFFLINE) {
            "the package registry could not be reached; check the network and the proxy settings, then try again"
        } else if says(&["No matching distribution", "E404", "ETARGET"]) {
            "the registry has no such package for this machine"
        } else if says(&["EACCES", "Permission denied"]) {
            "something could not be written; check who owns the state directory"
        } else if says(&["No space left", "ENOSPC"]) {
            "the disk is full"
        } else {
            "see the end of its output"
        });
        InstallError::Failed {
            kind: self.kind.into(),
            why: ended.why(),
            advice: advice.into(),
            tail: last_lines(&ended.output, 20),
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Scripts that would start the lent environment's Python are made to start the one of the `PATH`.
fn repoint_scripts(bin: &Path) {
    for entry in fs::read_dir(bin).into_iter().flatten().flatten() {
        let Ok(script) = fs::read_to_string(entry.path()) else { continue };
        if let Some((first, rest)) = script.split_once('\n')
            && first.starts_with("#!")
            && first.contains("/.venv/bin/python")
        {
            // A script that can't be rewritten fails its check later.
            let _ = fs::write(entry.path(), format!("#!/usr/bin/env python3\n{rest}"));
        }
    }
}

fn last_lines(output: &str, count: usize) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
