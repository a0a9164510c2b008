//! Whether codeyard may run the build of a project to find out how its sources are compiled (`run_build`), and what it did last.
//!
//! Invariant: nothing is run here. What was run is read from the report that a language server's start left in its cache folder.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::running::ServerStatus;
use crate::Failure;
use crate::args::DoctorArgs;
use crate::shared::assemble;
use codeyard_base::clock::utc;
use codeyard_projects::BuildReport;

/// The workspaces that are known, and the folder of the caches of their servers.
pub(super) struct BuildPermissions {
    workspaces: Vec<WorkspaceBuild>,
    cache: PathBuf,
}

struct WorkspaceBuild {
    name: String,
    roots: Vec<PathBuf>,
    is_allowed: bool,
}

/// What is known about the build of a project; the JSON output has these keys.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(super) struct BuildStatus {
    /// Whether it may be run; `null`: no known workspace holds the project.
    run_build: Option<bool>,
    /// The workspace that says so.
    workspace: Option<String>,
    /// The command with which a person can run the same. `null`: none was run.
    command: Option<String>,
    /// When it ended, as a time in UTC.
    ended: Option<String>,
    /// How long it took, in seconds.
    took_s: Option<u64>,
    /// Why it failed; `null`: it didn't.
    failure: Option<String>,
}

impl BuildPermissions {
    /// Those of the configuration that was named, else of the running server.
    pub(super) fn read(args: &DoctorArgs, status: Option<&ServerStatus>, state: &Path) -> Result<Self, Failure> {
        let real =
            |roots: &mut dyn Iterator<Item = PathBuf>| roots.filter_map(|root| root.canonicalize().ok()).collect();
        let workspaces = match (&args.registry.config, status) {
            (Some(path), _) => {
                let config = assemble::read_config(path)?;
                let all = config.workspaces.iter().map(|workspace| WorkspaceBuild {
                    name: workspace.name.as_str().to_owned(),
                    roots: real(&mut workspace.roots.iter().cloned()),
                    is_allowed: workspace.run_build,
                });
                all.collect()
            }
            (None, Some(status)) => {
                let all = status.workspaces.iter().map(|workspace| WorkspaceBuild {
                    name: workspace.name.clone(),
                    roots: real(&mut workspace.roots.iter().map(PathBuf::from)),
                    is_allowed: workspace.configuration.get("run_build").and_then(serde_json::Value::as_bool)
                        == Some(true),
                });
                all.collect()
            }
            (None, None) => Vec::new(),
        };
        Ok(Self { workspaces, cache: state.join("cache") })
    }

    /// Copies what the last build of the project at `root` left to the cache folder `target`. Returns whether there was one.
    pub(super) fn copy_last(&self, root: &Path, target: &Path) -> io::Result<bool> {
        BuildReport::copy_last(&self.cache, root, target)
    }

    /// What is known about the build of the project at `root`.
    pub(super) fn status(&self, root: &Path) -> BuildStatus {
        let mut holding: Vec<&WorkspaceBuild> =
            self.workspaces.iter().filter(|own| own.roots.iter().any(|own| root.starts_with(own))).collect();
        // Of several workspaces, one that allows it tells more.
        holding.sort_by_key(|workspace| !workspace.is_allowed);
        let workspace = holding.first();
        let report = BuildReport::find(&self.cache, root).into_iter().next();
        BuildStatus {
            run_build: workspace.map(|workspace| workspace.is_allowed).or_else(|| report.as_ref().map(|_| true)),
            workspace: workspace.map(|workspace| workspace.name.clone()),
            command: report.as_ref().map(|report| report.command.clone()),
            ended: report.as_ref().map(|report| utc(report.ended_s)),
            took_s: report.as_ref().map(|report| report.took_s),
            failure: report.and_then(|report| report.failure),
        }
    }
}

impl BuildStatus {
    /// Whether the build may be run.
    pub(super) fn is_allowed(&self) -> bool {
        self.run_build == Some(true)
    }

    /// Appends what a person should know.
    pub(super) fn lines(&self, lines: &mut Vec<String>) {
        let of = self.workspace.as_ref().map(|name| format!(" in workspace {name}")).unwrap_or_default();
        if !self.is_allowed() {
            lines.push(format!("    run_build is off{of}: build files are read, nothing is run"));
            lines.push("      next: if you trust the project, set `run_build = true` in its workspace".to_owned());
            return;
        }
        let (Some(command), Some(ended)) = (&self.command, &self.ended) else {
            lines.push(format!("    run_build is on{of}: nothing was run yet"));
            lines.push("      next: ask a question about a C or C++ file; the first one runs the build".to_owned());
            return;
        };
        let took = self.took_s.unwrap_or_default();
        match &self.failure {
            None => lines.push(format!("    run_build is on{of}: the build ended at {ended} after {took} s")),
            Some(why) => {
                lines.push(format!("    run_build is on{of}: the build failed at {ended} after {took} s: {why}"));
                lines.push(format!("      next: {command}"));
                lines.push("      codeyard runs it again when a build file is changed or touched".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(status: &BuildStatus) -> String {
        let mut lines = Vec::new();
        status.lines(&mut lines);
        lines.join("\n")
    }

    #[test]
    fn a_build_is_off_on_not_run_done_or_failed() {
        let workspace = |is_allowed| WorkspaceBuild { name: "w".into(), roots: vec!["/p".into()], is_allowed };
        let status = |is_allowed, root: &str| {
            BuildPermissions { workspaces: vec![workspace(is_allowed)], cache: "/gone".into() }.status(Path::new(root))
        };
        assert!(lines(&status(false, "/p/a")).contains("run_build is off in workspace w"));
        assert!(lines(&status(true, "/other")).contains("run_build is off:"));
        assert!(lines(&status(true, "/p/a")).contains("run_build is on in workspace w: nothing was run yet"));
        let done = BuildStatus {
            command: Some("make -C /p".into()),
            ended: Some(utc(0)),
            took_s: Some(3),
            ..status(true, "/p")
        };
        assert!(lines(&done).contains("the build ended at 1970-01-01T00:00:00Z after 3 s"), "{}", lines(&done));
        let failed = BuildStatus { failure: Some("exit status: 2: no rule".into()), ..done };
        let wanted = "failed at 1970-01-01T00:00:00Z after 3 s: exit status: 2: no rule\n      next: make -C /p";
        assert!(lines(&failed).contains(wanted), "{}", lines(&failed));
    }
}
