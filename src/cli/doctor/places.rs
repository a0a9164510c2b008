//! Where a file could be served: the workspaces whose roots hold it, of a configuration or of the running server; where there are
//! none, a workspace as `serve --root` would make it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::args::DoctorArgs;
use super::super::{Failure, assemble, survey};
use super::running::Status;
use codeyard_config::{SyntacticSection, WorkspaceConfig};
use codeyard_engine::kinds;
use codeyard_lsp::registry::Selection;
use codeyard_model::roots::RootSet;
use codeyard_server::admin::documents::{WorkspaceDocument, WorkspaceState};

/// What tells of the running server's workspaces.
pub(super) const RUNNING: &str = "the running server";

/// A workspace for a file.
pub(super) struct Place {
    /// Its name; one that is only supposed has none.
    pub workspace: Option<String>,
    /// Where it is told of.
    pub told_by: String,
    /// Its roots.
    pub roots: RootSet,
    /// What is chosen among servers.
    pub selection: Selection,
    /// Why nothing serves the file as things are, with the command that helps.
    pub note: Option<String>,
}

/// All places of a file; at least one.
pub(super) fn of(args: &DoctorArgs, file: &Path, status: Option<&Status>) -> Result<Vec<Place>, Failure> {
    let (told_by, all) = match (&args.registry.config, status) {
        (Some(path), _) => {
            let config = assemble::read_config(path)?;
            let told_by = path.display().to_string();
            let all = config
                .workspaces
                .iter()
                .map(|workspace| configured(workspace, &config.syntactic_of(workspace), &told_by));
            let all = all.collect();
            (told_by, all)
        }
        (None, Some(status)) => {
            let told_by = RUNNING.to_owned();
            // One on its way out takes no calls; the one in its place is there too.
            let all = status.workspaces.iter().filter(|workspace| workspace.state != WorkspaceState::Draining);
            let all = all.map(|workspace| running(workspace, &told_by)).collect();
            (told_by, all)
        }
        (None, None) => (String::new(), Vec::new()),
    };
    let mut all: Vec<Place> = all;
    all.retain(|place| place.roots.allows(file));
    if all.is_empty() {
        all.push(supposed(args, file, &told_by));
    }
    for place in &mut all {
        place.selection.chosen.splice(0..0, args.server.iter().cloned());
    }
    Ok(all)
}

fn configured(workspace: &WorkspaceConfig, syntactic: &SyntacticSection, told_by: &str) -> Place {
    let real = |roots: &[PathBuf]| roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    Place {
        workspace: Some(workspace.name.as_str().to_owned()),
        told_by: told_by.to_owned(),
        roots: RootSet::of_real_paths(real(&workspace.roots), real(&workspace.extra_roots)),
        selection: kinds::selection(workspace, syntactic, &[]),
        note: None,
    }
}

fn running(workspace: &WorkspaceDocument, told_by: &str) -> Place {
    let problem = workspace.problem.as_deref().unwrap_or("no reason is known");
    let note = match workspace.state {
        WorkspaceState::Failed => Some(format!("it can't be opened: {problem}; `codeyard workspaces` shows how it is")),
        WorkspaceState::NotAnswering => Some("it doesn't answer; `codeyard workspaces` shows how it is".to_owned()),
        WorkspaceState::Open | WorkspaceState::Draining => None,
    };
    let parsed = serde_json::from_value::<WorkspaceConfig>(Value::Object(workspace.configuration.clone()));
    match parsed {
        Ok(workspace) => {
            Place { note, ..configured(&workspace, &workspace.syntactic.clone().unwrap_or_default(), told_by) }
        }
        // Without its configuration the roots are all that is known of it.
        Err(_) => Place {
            workspace: Some(workspace.name.clone()),
            told_by: told_by.to_owned(),
            roots: RootSet::of_real_paths(workspace.roots.iter().map(PathBuf::from).collect(), Vec::new()),
            selection: Selection::default(),
            note,
        },
    }
}

fn supposed(args: &DoctorArgs, file: &Path, told_by: &str) -> Place {
    let root = survey::root_for(file);
    let shown = root.display();
    let note = match &args.registry.config {
        Some(config) => format!(
            "no workspace of {told_by} holds it, so nothing serves it; add {shown} to `roots` of one, then \
             `codeyard config check {}`",
            config.display()
        ),
        None if told_by.is_empty() => {
            format!("no server runs here; `codeyard serve --root {shown}` would serve it as follows")
        }
        None => format!(
            "no workspace of {told_by} holds it, so nothing serves it; \
             `codeyard workspaces put NAME --root {shown}` would serve it as follows"
        ),
    };
    Place {
        workspace: None,
        told_by: told_by.to_owned(),
        roots: RootSet::of_real_paths(vec![root], Vec::new()),
        selection: Selection::default(),
        note: Some(note),
    }
}
