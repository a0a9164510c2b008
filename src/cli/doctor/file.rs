//! One file: its language, the kinds of servers that know it in the order of choice, each with its verdict, the project root with
//! what made it that, and how it is now if it runs.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::super::Failure;
use super::super::args::DoctorArgs;
use super::super::servers::Shelf;
use super::super::survey::{self, Candidate, Judged, Surveyor, Verdict};
use super::places::{self, Place};
use super::running::Status;
use super::verdict_line;
use codeyard_engine::providers::ChildKey;
use codeyard_lsp::registry::Marked;
use codeyard_server::admin::documents::ServerDocument;

/// Everything about one file.
#[derive(Debug, Serialize)]
pub(super) struct FileReport {
    /// Its real path.
    path: PathBuf,
    /// Its language id, if one is known.
    language: Option<String>,
    /// Where it could be served: workspaces that hold it, or one that is only supposed.
    workspaces: Vec<PlaceReport>,
}

/// One workspace.
#[derive(Debug, Serialize)]
struct PlaceReport {
    /// Its name; `null` if it is only supposed.
    workspace: Option<String>,
    /// Where it is told of: a configuration's path, or the running server.
    told_by: String,
    /// The root that holds the file, or the first where an extra root does.
    root: PathBuf,
    /// Only an extra root holds the file.
    in_extra_root: bool,
    /// Ignore files leave it out of what is listed.
    ignored: bool,
    /// Why nothing serves it as things are, with the command that helps.
    note: Option<String>,
    /// In the order of choice.
    servers: Vec<Row>,
}

/// One kind.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    candidate: Candidate,
    /// Where it runs or would run, relative to the root.
    project_root: Option<PathBuf>,
    /// `manifest`, `marker`, `nothing` (the workspace's root for want of a marker) or `always` (as all of the kind).
    root_by: Option<&'static str>,
    /// The manifest or marker, relative to the root.
    marked_by: Option<PathBuf>,
    /// How it is now, if it runs or did.
    running: Option<Running>,
}

/// How a language server is now.
#[derive(Debug, Serialize)]
struct Running {
    id: String,
    state: String,
    since_s: u64,
    pid: Option<u32>,
    message: Option<String>,
}

/// Looks at a file, given by its real path.
pub(super) fn report(
    args: &DoctorArgs,
    shelf: &Shelf,
    path: &Path,
    status: Option<&Status>,
) -> Result<FileReport, Failure> {
    let mut language = None;
    let mut workspaces = Vec::new();
    for place in places::of(args, path, status)? {
        let Place { workspace, told_by, roots, selection, note } = place;
        let surveyor =
            Surveyor { registry: &shelf.registry, installer: &shelf.installer, selection: &selection, roots };
        let roots = &surveyor.roots;
        let own = roots.root_of(path);
        let root = own.or(roots.roots().first().map(PathBuf::as_path)).unwrap_or(path).to_path_buf();
        let holding = roots.allowed().filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len());
        let (in_extra_root, ignored) = (own.is_none(), holding.is_some_and(|root| survey::is_ignored(root, path)));
        let mut servers = Vec::new();
        if let Some((id, judged)) = surveyor.file(path) {
            language = Some(id);
            let of_it = |server: &&ServerDocument| Some(&server.workspace) == workspace.as_ref();
            let running: Vec<&ServerDocument> =
                status.iter().flat_map(|status| &status.servers).filter(of_it).collect();
            servers = judged.into_iter().map(|judged| row(&root, judged, &running)).collect();
        }
        workspaces.push(PlaceReport { workspace, told_by, root, in_extra_root, ignored, note, servers });
    }
    Ok(FileReport { path: path.to_path_buf(), language, workspaces })
}

fn row(root: &Path, judged: Judged, running: &[&ServerDocument]) -> Row {
    let Judged { candidate, project_root, by } = judged;
    let id = project_root.clone().map(|root| ChildKey { kind: candidate.kind.clone(), root }.id());
    let now = running.iter().find(|server| Some(&server.id) == id.as_ref());
    let (root_by, marked_by) = match by {
        Some(Marked::ByManifest(at)) => (Some("manifest"), Some(survey::relative(root, &at))),
        Some(Marked::By(at)) => (Some("marker"), Some(survey::relative(root, &at))),
        Some(Marked::ByNothing) => (Some("nothing"), None),
        Some(Marked::Always) => (Some("always"), None),
        None => (None, None),
    };
    let running = now.map(|server| Running {
        id: server.id.clone(),
        state: server.state.clone(),
        since_s: server.since_s,
        pid: server.pid,
        message: server.message.clone(),
    });
    let project_root = project_root.map(|at| survey::relative(root, &at));
    Row { candidate, project_root, root_by, marked_by, running }
}

impl FileReport {
    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.path.display().to_string()];
        match &self.language {
            Some(language) => lines.push(format!("  language {language}")),
            None => {
                lines.push("  no language server is known for this kind of file".to_owned());
                let next = match self.workspaces.iter().any(|place| place.told_by == places::RUNNING) {
                    true => "what only the running server's configuration knows is known with `--config FILE`",
                    false => {
                        "`codeyard servers list` shows what is known, and `[languages]` of a configuration adds to it"
                    }
                };
                lines.push(format!("  {next}"));
            }
        }
        for place in &self.workspaces {
            place.lines(&mut lines);
        }
        lines
    }
}

impl PlaceReport {
    fn lines(&self, lines: &mut Vec<String>) {
        let root = self.root.display();
        match &self.workspace {
            Some(name) => lines.push(format!("  workspace {name} of {}, root {root}", self.told_by)),
            None => lines.push(format!("  root {root}")),
        }
        lines.extend(self.note.iter().map(|note| format!("  {note}")));
        if self.in_extra_root {
            lines.push("  in an extra root: no server is started there, those of the root answer".to_owned());
        }
        if self.ignored {
            lines.push(
                "  left out by an ignore file: it is served when it is asked about, but questions about the whole \
                 workspace don't count it"
                    .to_owned(),
            );
        }
        for row in &self.servers {
            row.lines(self.workspace.is_some(), lines);
        }
    }
}

impl Row {
    fn lines(&self, in_workspace: bool, lines: &mut Vec<String>) {
        lines.push(format!("    {}", verdict_line(&self.candidate)));
        if let Some(root) = &self.project_root {
            let marked = self.marked_by.as_ref().map(|at| at.display().to_string()).unwrap_or_default();
            let by = match self.root_by {
                Some("manifest") => format!("{marked} names its project"),
                Some("marker") => format!("marked by {marked}"),
                Some("nothing") => "the workspace's root, because nothing below it is marked".to_owned(),
                _ => "the workspace's root, as always for this kind".to_owned(),
            };
            lines.push(format!("      project root {}: {by}", root.display()));
        }
        lines.extend(self.running.iter().map(Running::line));
        if self.running.is_none() && in_workspace && self.candidate.verdict == Verdict::Serves {
            lines.push("      doesn't run now: the first question starts it".to_owned());
        }
        lines.extend(self.candidate.command.iter().map(|command| format!("      next: {command}")));
    }
}

impl Running {
    fn line(&self) -> String {
        let process = self.pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
        let message = self.message.as_deref().map(|message| format!(" ({message})")).unwrap_or_default();
        format!("      {} for {} s{message}{process}, id {}", self.state, self.since_s, self.id)
    }
}
