//! The workspaces that could serve a file: those of a configuration or of the running server whose roots contain it; without any, the
//! workspace that `serve --root` would create.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::running::ServerStatus;
use crate::Failure;
use crate::args::DoctorArgs;
use crate::shared::{assemble, root_folder, shell};
use codeyard_config::{SyntacticSection, WorkspaceConfig};
use codeyard_engine::supervisor::server_selection_check;
use codeyard_lsp::registry::ServerSelection;
use codeyard_model::roots::RootSet;
use codeyard_server::admin::documents::{WorkspaceDocument, WorkspaceState};

/// The `defined_in` of workspaces of the running server.
pub(super) const RUNNING: &str = "the running server";

/// A workspace that could serve a file.
pub(super) struct CandidateWorkspace {
    /// Its name; `None` for a workspace that does not exist yet.
    pub workspace: Option<String>,
    /// Where it is defined: the path of a configuration, or the running server.
    pub defined_in: String,
    pub roots: RootSet,
    /// Its preferences among servers.
    pub selection: ServerSelection,
    /// Why no server serves the file now, with the next command to run.
    pub note: Option<String>,
}

/// The workspaces that could serve `file`; at least one.
pub(super) fn for_file(
    args: &DoctorArgs,
    file: &Path,
    status: Option<&ServerStatus>,
) -> Result<Vec<CandidateWorkspace>, Failure> {
    let (defined_in, all) = match (&args.registry.config, status) {
        (Some(path), _) => {
            let config = assemble::read_config(path)?;
            let defined_in = path.display().to_string();
            let all = config
                .workspaces
                .iter()
                .map(|workspace| configured(workspace, &config.syntactic_of(workspace), &defined_in));
            let all = all.collect();
            (defined_in, all)
        }
        (None, Some(status)) => {
            let defined_in = RUNNING.to_owned();
            // A draining workspace accepts no calls. Its replacement is in the list as well.
            let all = status.workspaces.iter().filter(|workspace| workspace.state != WorkspaceState::Draining);
            let all = all.map(|workspace| running(workspace, &defined_in)).collect();
            (defined_in, all)
        }
        (None, None) => (String::new(), Vec::new()),
    };
    let mut all: Vec<CandidateWorkspace> = all;
    all.retain(|candidate| candidate.roots.allows(file));
    if all.is_empty() {
        all.push(hypothetical(args, file, &defined_in));
    }
    for candidate in &mut all {
        candidate.selection.chosen.splice(0..0, args.server.iter().cloned());
    }
    Ok(all)
}

/// The preferences among servers of the workspace that holds `folder`; those of the flags if none does.
pub(super) fn selection_of_folder(
    args: &DoctorArgs,
    folder: &Path,
    status: Option<&ServerStatus>,
) -> Result<ServerSelection, Failure> {
    let all = for_file(args, folder, status)?;
    let own = all.into_iter().find(|candidate| candidate.workspace.is_some());
    let flags = || ServerSelection { chosen: args.server.clone(), ..ServerSelection::default() };
    Ok(own.map_or_else(flags, |candidate| candidate.selection))
}

fn configured(workspace: &WorkspaceConfig, syntactic: &SyntacticSection, defined_in: &str) -> CandidateWorkspace {
    let real = |roots: &[PathBuf]| roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    CandidateWorkspace {
        workspace: Some(workspace.name.as_str().to_owned()),
        defined_in: defined_in.to_owned(),
        roots: RootSet::of_real_paths(real(&workspace.roots), real(&workspace.extra_roots)),
        selection: server_selection_check::selection(workspace, syntactic, &[]),
        note: None,
    }
}

fn running(workspace: &WorkspaceDocument, defined_in: &str) -> CandidateWorkspace {
    let problem = workspace.problem.as_deref().unwrap_or("unknown reason");
    let note = match workspace.state {
        WorkspaceState::Failed => {
            Some(format!("it could not be opened: {problem}; `codeyard workspaces` shows its state"))
        }
        WorkspaceState::NotAnswering => Some("it does not answer; `codeyard workspaces` shows its state".to_owned()),
        WorkspaceState::Open | WorkspaceState::Draining => None,
    };
    let parsed = serde_json::from_value::<WorkspaceConfig>(Value::Object(workspace.configuration.clone()));
    match parsed {
        Ok(workspace) => CandidateWorkspace {
            note,
            ..configured(&workspace, &workspace.syntactic.clone().unwrap_or_default(), defined_in)
        },
        // Without its configuration only its roots are known.
        Err(_) => CandidateWorkspace {
            workspace: Some(workspace.name.clone()),
            defined_in: defined_in.to_owned(),
            roots: RootSet::of_real_paths(workspace.roots.iter().map(PathBuf::from).collect(), Vec::new()),
            selection: ServerSelection::default(),
            note,
        },
    }
}

fn hypothetical(args: &DoctorArgs, file: &Path, defined_in: &str) -> CandidateWorkspace {
    let root = root_folder::root_for(file);
    let quoted = |root: &Path| shell::quoted(&root.to_string_lossy());
    let note = match (&root, &args.registry.config) {
        (None, _) => {
            "it is directly in the home folder or in `/`, and neither is the root of a workspace, so no server \
            serves it; move it into a folder of its own, then run `codeyard doctor` with its new path"
                .to_owned()
        }
        (Some(root), Some(config)) => format!(
            "no workspace of {defined_in} contains it, so no server serves it; add {} to `roots` of one, then \
            run `codeyard config check {}`",
            root.display(),
            quoted(config)
        ),
        (Some(root), None) if defined_in.is_empty() => {
            format!("no server runs here; `codeyard serve --root {}` would serve it as follows", quoted(root))
        }
        (Some(root), None) => format!(
            "no workspace of {defined_in} contains it, so no server serves it; \
             `codeyard workspaces put NAME --root {}` would serve it as follows",
            quoted(root)
        ),
    };
    // Without a root, the lookup of markers ends at the folder of the file.
    let root = root.unwrap_or_else(|| root_folder::own_folder(file).to_owned());
    CandidateWorkspace {
        workspace: None,
        defined_in: defined_in.to_owned(),
        roots: RootSet::of_real_paths(vec![root], Vec::new()),
        selection: ServerSelection::default(),
        note: Some(note),
    }
}
