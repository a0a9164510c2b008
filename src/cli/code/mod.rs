//! `codeyard index`, `search` and `outline`: the code index from the command line, with or without a running server.
//!
//! They open the index themselves: it is made to be shared by processes. Before a question the index is brought up to date, which
//! costs a look at each file's stamp.

mod index;
mod progress;
mod search;

use std::path::{Path, PathBuf};

use super::args::{PlaceArgs, StateArgs};
use super::signals::outlive_file_limits;
use super::{Failure, assemble};
use codeyard_catalog::{CatalogId, Reply};
use codeyard_engine::workspace_setup::IndexPolicy;
use codeyard_index::project::settings::Settings;
use codeyard_index::{JobError, Project, Published};
use codeyard_model::answer::Answer;
use codeyard_model::code::{CodeAnswer, Refusal};

pub(crate) use index::run as run_index;
pub(crate) use search::{outline as run_outline, search as run_search};

/// The project that the flags name, and the folder that relative paths count from.
fn open(place: &PlaceArgs, named: Option<&Path>) -> Result<Project, Failure> {
    outlive_file_limits()?;
    let root = root_of(place.root.as_deref(), named)?;
    let folder = indexes(&place.state)?;
    let project = Project::new(&folder, &root, false, settings(place.config.as_deref())?);
    let project = project
        .map_err(|error| Failure::new(format!("the index's folder can't be made: {error}; see `codeyard doctor`")))?;
    // One that can't be read says so when it is asked, and is made anew when it is told to be.
    project.reconcile().ok();
    Ok(project)
}

fn settings(config: Option<&Path>) -> Result<Settings, Failure> {
    let config = config.map(assemble::read_config).transpose()?.unwrap_or_default();
    Ok(IndexPolicy::of(&config).settings)
}

/// Where all indexes are.
fn indexes(state: &StateArgs) -> Result<PathBuf, Failure> {
    let state = assemble::open_state(state.state_dir.as_deref())?;
    let folder = state.index();
    state.make(&folder).map_err(|error| Failure::new(error.to_string()))?;
    Ok(folder)
}

/// The root that is named, else the repository that holds the file or the present folder, else that folder.
fn root_of(root: Option<&Path>, named: Option<&Path>) -> Result<PathBuf, Failure> {
    let absolute = |path: &Path| {
        path.canonicalize()
            .map_err(|error| Failure::missing(format!("{}: {error}; name a folder with --root", path.display())))
    };
    if let Some(root) = root {
        let root = absolute(root)?;
        return match root.is_dir() {
            true => Ok(root),
            false => Err(Failure::usage(format!("{} is no folder; name one with --root", root.display()))),
        };
    }
    let here =
        absolute(named.and_then(Path::parent).filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    Ok(here.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(&here).to_owned())
}

/// Brings the working tree's index up to date; a job of another process is waited for.
fn sync(project: &Project, reference: Option<&str>, force: bool, shows: bool) -> Result<Published, Failure> {
    project.watch();
    let ticket = project.prepare(reference, force).map_err(|active| {
        Failure::new(format!("job {} is running; `codeyard index stats` says how far it is", active.job_id))
    })?;
    let done = progress::while_it_runs(&ticket.progress, shows, || project.run(&ticket));
    done.map_err(|error| told(&error))
}

fn told(error: &JobError) -> Failure {
    match error {
        JobError::NoSuchRef(_) | JobError::NoGit | JobError::NoRoot => Failure::missing(error.to_string()),
        _ => Failure::new(error.to_string()),
    }
}

/// The answer as the tool would give it.
fn as_json(answer: CodeAnswer) -> Result<serde_json::Value, Failure> {
    let reply = CatalogId::Code.catalog().encode(Ok(&Answer::Code(answer)), usize::MAX >> 1);
    let (Reply::Result(bytes) | Reply::Refusal { result: bytes, .. }) = reply else {
        return Err(Failure::new("the answer can't be written; see `codeyard doctor`"));
    };
    let whole: serde_json::Value = serde_json::from_slice(&bytes).map_err(|error| Failure::new(error.to_string()))?;
    Ok(whole["structuredContent"].clone())
}

fn refused(refusal: &Refusal) -> Failure {
    use codeyard_model::code::CodeError;
    match refusal.code {
        CodeError::InvalidInput => Failure::usage(refusal.message.clone()),
        CodeError::FileNotFound | CodeError::RefNotIndexed | CodeError::SymbolNotFound | CodeError::ResultNotFound => {
            Failure::missing(refusal.message.clone())
        }
        _ => Failure::new(refusal.message.clone()),
    }
}
