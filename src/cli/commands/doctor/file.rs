//! The report about one file: its language and the kinds of servers that know it, in the order of preference. For each kind its
//! verdict, its project root with the reason, and its state if it runs.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::candidate_workspaces::{self, CandidateWorkspace};
use super::running::ServerStatus;
use super::verdict_line;
use crate::Failure;
use crate::args::DoctorArgs;
use crate::shared::server_diagnosis::{self, Assessment, CandidateVerdict, ServerCandidate, ServerDiagnosis};
use crate::shared::server_installation::InstallContext;
use codeyard_engine::server::child_key::ChildKey;
use codeyard_lsp::registry::{MultiRoot, RootReason};
use codeyard_model::roots::RootSet;
use codeyard_server::admin::documents::ServerDocument;

/// The report about one file; the JSON output has these keys.
#[derive(Debug, Serialize)]
pub(super) struct FileReport {
    /// Canonical path of the file.
    path: PathBuf,
    /// Language id, if known.
    language: Option<String>,
    /// The workspaces that contain the file, or the one that `serve --root` would create.
    workspaces: Vec<WorkspaceReport>,
}

#[derive(Debug, Serialize)]
struct WorkspaceReport {
    /// Its name; `null` for a workspace that does not exist yet.
    workspace: Option<String>,
    /// Where it is defined: the path of a configuration, or the running server.
    #[serde(rename = "told_by")]
    defined_in: String,
    /// The root that contains the file, or the first root where an extra root contains it.
    root: PathBuf,
    /// Whether only an extra root contains the file.
    in_extra_root: bool,
    /// Whether an ignore file excludes the file.
    ignored: bool,
    /// Why no server serves the file now, with the next command to run.
    note: Option<String>,
    /// The kinds of servers, in the order of preference.
    servers: Vec<CandidateRow>,
}

/// One kind of server.
#[derive(Debug, Serialize)]
struct CandidateRow {
    #[serde(flatten)]
    candidate: ServerCandidate,
    /// Where it runs or would run, relative to the root.
    project_root: Option<PathBuf>,
    /// `manifest`, `marker`, `nothing` (no marker found: the workspace's root) or `always` (this kind always uses the workspace's root).
    root_by: Option<&'static str>,
    /// The manifest or marker, relative to the root.
    marked_by: Option<PathBuf>,
    /// Its state, if it was started.
    running: Option<RunningServer>,
}

/// The state of a language server.
#[derive(Debug, Serialize)]
struct RunningServer {
    id: String,
    state: String,
    since_s: u64,
    pid: Option<u32>,
    message: Option<String>,
}

/// Reports about a file, given by its canonical path.
pub(super) fn report(
    args: &DoctorArgs,
    context: &InstallContext,
    path: &Path,
    status: Option<&ServerStatus>,
) -> Result<FileReport, Failure> {
    let mut language = None;
    let mut workspaces = Vec::new();
    for candidate in candidate_workspaces::for_file(args, path, status)? {
        let CandidateWorkspace { workspace, defined_in, roots, selection, note } = candidate;
        let diagnosis = ServerDiagnosis {
            registry: &context.registry,
            installer: &context.installer,
            selection: &selection,
            roots,
        };
        let roots = &diagnosis.roots;
        let own = roots.root_of(path);
        let root = own.or(roots.roots().first().map(PathBuf::as_path)).unwrap_or(path).to_path_buf();
        let holding = roots.allowed().filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len());
        let in_extra_root = own.is_none();
        let ignored = holding.is_some_and(|root| server_diagnosis::is_ignored(root, path));
        let mut servers = Vec::new();
        if let Some((id, assessments)) = diagnosis.file(path) {
            language = Some(id);
            let of_workspace = |server: &&ServerDocument| Some(&server.workspace) == workspace.as_ref();
            let running: Vec<&ServerDocument> =
                status.iter().flat_map(|status| &status.servers).filter(of_workspace).collect();
            servers = assessments.into_iter().map(|assessments| row(roots, &root, assessments, &running)).collect();
        }
        workspaces.push(WorkspaceReport { workspace, defined_in, root, in_extra_root, ignored, note, servers });
    }
    Ok(FileReport { path: path.to_path_buf(), language, workspaces })
}

fn row(roots: &RootSet, root: &Path, assessments: Assessment, running: &[&ServerDocument]) -> CandidateRow {
    let Assessment { candidate, project_root, by, multi_root } = assessments;
    // A kind that usually has one process for all project roots may have one for each for a while.
    let id = |multi_root| project_root.as_deref().map(|at| ChildKey::of(&candidate.kind, multi_root, roots, at).id());
    let is_running = |id: &Option<String>| running.iter().find(|server| Some(&server.id) == id.as_ref());
    let now = is_running(&id(multi_root)).or_else(|| is_running(&id(MultiRoot::No)));
    let (root_by, marked_by) = match by {
        Some(RootReason::Manifest(at)) => (Some("manifest"), Some(server_diagnosis::relative(root, &at))),
        Some(RootReason::Marker(at)) => (Some("marker"), Some(server_diagnosis::relative(root, &at))),
        Some(RootReason::Unmarked) => (Some("nothing"), None),
        Some(RootReason::Always) => (Some("always"), None),
        None => (None, None),
    };
    let running = now.map(|server| RunningServer {
        id: server.id.clone(),
        state: server.state.clone(),
        since_s: server.since_s,
        pid: server.pid,
        message: server.message.clone(),
    });
    let project_root = project_root.map(|at| server_diagnosis::relative(root, &at));
    CandidateRow { candidate, project_root, root_by, marked_by, running }
}

impl FileReport {
    /// The report as text.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.path.display().to_string()];
        match &self.language {
            Some(language) => lines.push(format!("  language {language}")),
            None => {
                lines.push("  no language server is known for this kind of file".to_owned());
                let next =
                    "`codeyard servers list` shows the known languages; `[languages]` of a configuration adds more";
                lines.push(format!("  {next}"));
            }
        }
        for candidate in &self.workspaces {
            candidate.lines(&mut lines);
        }
        lines
    }
}

impl WorkspaceReport {
    fn lines(&self, lines: &mut Vec<String>) {
        let root = self.root.display();
        match &self.workspace {
            Some(name) => lines.push(format!("  workspace {name} of {}, root {root}", self.defined_in)),
            None => lines.push(format!("  root {root}")),
        }
        lines.extend(self.note.iter().map(|note| format!("  {note}")));
        if self.in_extra_root {
            lines.push("  in an extra root: no server starts there, the servers of the root answer".to_owned());
        }
        if self.ignored {
            lines.push(
                "  excluded by an ignore file: queries about this file are answered, but queries about the whole \
                workspace omit it"
                    .to_owned(),
            );
        }
        for row in &self.servers {
            row.lines(self.workspace.is_some(), lines);
        }
    }
}

impl CandidateRow {
    fn lines(&self, in_workspace: bool, lines: &mut Vec<String>) {
        lines.push(format!("    {}", verdict_line(&self.candidate)));
        if let Some(root) = &self.project_root {
            let marked = self.marked_by.as_ref().map(|at| at.display().to_string()).unwrap_or_default();
            let by = match self.root_by {
                Some("manifest") => format!("{marked} defines the project"),
                Some("marker") => format!("marked by {marked}"),
                Some("nothing") => "the workspace's root, because no folder contains a marker".to_owned(),
                _ => "the workspace's root, as always for this kind".to_owned(),
            };
            lines.push(format!("      project root {}: {by}", root.display()));
        }
        lines.extend(self.running.iter().map(RunningServer::line));
        if self.running.is_none() && in_workspace && self.candidate.verdict == CandidateVerdict::Serves {
            lines.push("      not running: the first call starts it".to_owned());
        }
        lines.extend(self.candidate.command.iter().map(|command| format!("      next: {command}")));
    }
}

impl RunningServer {
    fn line(&self) -> String {
        let process = self.pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
        let message = self.message.as_deref().map(|message| format!(" ({message})")).unwrap_or_default();
        format!("      {} for {} s{message}{process}, id {}", self.state, self.since_s, self.id)
    }
}
