//! The package tools: the commands that download a server's packages into a folder, and the advice when they fail.
//!
//! pip installs with `--target`: this needs no virtual environment, the result can be renamed, and native programs
//! run without Python. Packages with files beside their modules need `--prefix`. Where pip is missing, the pip of a temporary virtual environment is used. npm runs no package
//! scripts.

use std::env::split_paths;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeyard_ecosystems::npm::MANIFEST;

use super::{COMPILED, InstallError, InstallStep, io_error};
use crate::registry::InstallSource;
use codeyard_process::tool::{Tool, ToolOutcome};

/// The program that fetches packages.
#[derive(Debug, Clone, Copy)]
pub(super) struct FetchTool {
    name: &'static str,
    /// How to get it.
    advice: &'static str,
}

const PYTHON: FetchTool =
    FetchTool { name: "python3", advice: "install Python 3 with pip (Debian: apt install python3-pip)" };
const NPM: FetchTool = FetchTool { name: "npm", advice: "install Node.js with npm (https://nodejs.org)" };
const CARGO: FetchTool = FetchTool { name: "cargo", advice: "install Rust (https://rustup.rs)" };
const GO: FetchTool = FetchTool { name: "go", advice: "install Go (https://go.dev/dl)" };

impl FetchTool {
    /// The tool of an install source; `None` if codeyard fetches nothing.
    pub(super) fn of(install: &InstallSource) -> Option<Self> {
        match install {
            InstallSource::Pypi { .. } => Some(PYTHON),
            InstallSource::Npm { .. } => Some(NPM),
            InstallSource::Cargo { .. } => Some(CARGO),
            InstallSource::Go { .. } => Some(GO),
            InstallSource::Manual { .. } | InstallSource::Builtin {} => None,
        }
    }

    /// The program in one of the folders of `path`.
    pub(super) fn find(self, kind: &str, path: &OsStr) -> Result<PathBuf, InstallError> {
        let found = split_paths(path).map(|folder| folder.join(self.name)).find(|path| path.is_file());
        found.ok_or_else(|| InstallError::MissingTool {
            kind: kind.into(),
            tool: self.name.into(),
            advice: self.advice.into(),
        })
    }
}

/// The folder of a tool's temporary files, in that of the installation.
const TEMPORARY: &str = ".tmp";

/// Texts in a tool's output that indicate a network problem.
const OFFLINE: [&str; 12] = [
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
    "dial tcp",
];

/// The download of one server's packages.
pub(super) struct PackageFetch<'a> {
    pub kind: &'a str,
    pub staging: &'a Path,
    pub path: &'a OsStr,
    pub limit: Duration,
    pub report: &'a dyn Fn(InstallStep),
}

/// The hint for a server that is built into codeyard.
pub(super) const BUILTIN: &str = "it is built into codeyard, so there is nothing to install";

/// What an installation is made from, as one text. Equal texts make equal installations.
pub(super) fn specification(install: &InstallSource) -> Option<String> {
    let packages = install.packages()?;
    let more = match install {
        InstallSource::Pypi { prefix: true, .. } => " --prefix".to_owned(),
        InstallSource::Cargo { features, .. } if !features.is_empty() => format!(" --features {}", features.join(",")),
        _ => String::new(),
    };
    Some(format!("{} {}{more}", packages.tool, packages.names.join(" ")))
}

/// The version of a pinned package.
pub(super) fn version_of(package: &str) -> String {
    package.rsplit(['=', '@']).next().unwrap_or(package).trim_start_matches('v').to_string()
}

impl PackageFetch<'_> {
    /// Downloads the packages into the folder.
    pub(super) fn fetch(&self, install: &InstallSource) -> Result<(), InstallError> {
        match install {
            InstallSource::Pypi { packages, prefix } => {
                self.pip(packages, if *prefix { "--prefix" } else { "--target" })
            }
            InstallSource::Npm { packages } => self.npm(packages),
            InstallSource::Cargo { packages, features } => self.cargo(packages, features),
            InstallSource::Go { packages } => self.go(packages),
            InstallSource::Manual { hint } => Err(InstallError::Manual { kind: self.kind.into(), hint: hint.clone() }),
            InstallSource::Builtin {} => Err(InstallError::Manual { kind: self.kind.into(), hint: BUILTIN.to_owned() }),
        }
    }

    /// `layout` is the option of pip that names the folder.
    fn pip(&self, packages: &[String], layout: &str) -> Result<(), InstallError> {
        let python = PYTHON.find(self.kind, self.path)?;
        let has_pip = self.try_run(&python, &["-m", "pip", "--version"], "pip", packages)?.success();
        let temporary_env = self.staging.join(".venv");
        let mut with_pip = python.clone();
        if !has_pip {
            let made = self.try_run(&python, &["-m", "venv", &text(&temporary_env)], "venv", packages)?;
            if !made.success() {
                let advice = "Python has neither pip nor venv; install one (Debian: apt install python3-pip)";
                return Err(self.failed(&made, Some(advice)));
            }
            with_pip = temporary_env.join("bin/python");
        }
        let target = text(self.staging);
        let options = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-compile", layout];
        let mut args: Vec<&str> = options.to_vec();
        args.extend([target.as_str(), "--"]);
        args.extend(packages.iter().map(String::as_str));
        self.must_run(&with_pip, &args, "pip", packages)?;
        if !has_pip {
            repoint_scripts(&self.staging.join("bin"));
            fs::remove_dir_all(&temporary_env).map_err(io_error("cannot remove", &temporary_env))?;
        }
        Ok(())
    }

    fn npm(&self, packages: &[String]) -> Result<(), InstallError> {
        let npm = NPM.find(self.kind, self.path)?;
        // Without a manifest npm would look for a project in the parent folders.
        let manifest = self.staging.join(MANIFEST);
        fs::write(&manifest, "{\"private\": true}\n").map_err(io_error("cannot write", &manifest))?;
        let prefix = text(self.staging);
        let options = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-progress", "--loglevel=error"];
        let mut args = vec!["install", "--prefix", &prefix];
        args.extend(options);
        args.push("--");
        args.extend(packages.iter().map(String::as_str));
        self.must_run(&npm, &args, "npm", packages)
    }

    fn cargo(&self, packages: &[String], features: &[String]) -> Result<(), InstallError> {
        let cargo = CARGO.find(self.kind, self.path)?;
        let root = text(self.staging);
        let features = features.join(",");
        let mut args = vec!["install", "--locked", "--root", &root];
        if !features.is_empty() {
            args.extend(["--features", &features]);
        }
        args.push("--");
        args.extend(packages.iter().map(String::as_str));
        self.must_run(&cargo, &args, "cargo", packages)
    }

    fn go(&self, packages: &[String]) -> Result<(), InstallError> {
        let go = GO.find(self.kind, self.path)?;
        let mut args = vec!["install", "--"];
        args.extend(packages.iter().map(String::as_str));
        self.must_run(&go, &args, "go", packages)
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
        let step = || (self.report)(InstallStep::Fetching { packages: packages.join(" "), tool });
        step();
        // The user's pip settings must not redirect the packages.
        let overrides = [("PIP_USER", "0"), ("PIP_REQUIRE_VIRTUALENV", "0"), ("PIP_TARGET", ""), ("PIP_PREFIX", "")];
        // What a killed tool leaves must be in a folder that is removed.
        let temporary = self.staging.join(TEMPORARY);
        fs::create_dir_all(&temporary).map_err(io_error("cannot create", &temporary))?;
        let mut command = Tool::new(program).args(args).env("PATH", self.path).current_dir(self.staging);
        command = command.env("TMPDIR", &temporary).env("CARGO_TARGET_DIR", self.staging.with_file_name(COMPILED));
        // Optimisation across crates takes most of a build's time and makes a server little faster.
        command = command.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        command = command.env("GOBIN", self.staging.join("bin"));
        for (name, value) in overrides {
            command = if value.is_empty() { command.env_remove(name) } else { command.env(name, value) };
        }
        let ended = command.run(self.limit, &step).map_err(io_error("cannot start", program));
        // Usually it is empty by now. After a failure it is removed with the folder of the installation.
        let _ = fs::remove_dir_all(&temporary);
        ended
    }

    fn failed(&self, ended: &ToolOutcome, advice: Option<&str>) -> InstallError {
        let mentions = |words: &[&str]| words.iter().any(|word| ended.output.contains(word));
        let advice = advice.unwrap_or(if mentions(&OFFLINE) {
            "the package registry could not be reached; check the network and the proxy settings, then try again"
        } else if mentions(&["No matching distribution", "E404", "ETARGET"]) {
            "the package registry has no such package for this machine"
        } else if mentions(&["EACCES", "Permission denied"]) {
            "a file could not be written; check who owns the state directory"
        } else if mentions(&["No space left", "ENOSPC"]) {
            "the disk is full"
        } else {
            "see its output below"
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

/// Changes scripts that start the Python of the temporary environment to start the one on the `PATH`.
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
