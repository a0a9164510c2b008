//! `codeyard index`, `search` and `outline`: the code index on the command line, with or without a running server.
//!
//! They open the index themselves; several processes can share it. Before a query they update the index, which costs one `stat` of
//! each file.

mod group_search;
mod index;
mod progress;
mod search;
mod search_printer;
mod search_rows;

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::args::IndexLocationArgs;
use crate::shared::signals::ignore_file_size_signal;
use crate::shared::{assemble, index_extent, open_files, shell};
use codeyard_base::ids::TenantId;
use codeyard_catalog::{CatalogId, EncodedReply};
use codeyard_engine::indexer::policy::IndexPolicy;
use codeyard_files::git_layout::top_of;
use codeyard_index::settings::IndexSettings;
use codeyard_index::{JobError, JobSummary, Project};
use codeyard_model::answer::Answer;
use codeyard_model::code::{CodeAnswer, CodeRefusal};
use codeyard_state::StateDir;

pub(crate) use index::run as run_index;
pub(crate) use search::{outline as run_outline, search as run_search};

/// Whether an index may be built of a folder that is too wide ([`index_extent`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent<'c> {
    /// Any folder: `--force` is given, or the command builds no index.
    Any,
    /// Only a folder that isn't. The command is named with `--force`.
    Ordinary(&'c str),
}

/// Opens the index of the root that the flags name.
fn open(location: &IndexLocationArgs, file: Option<&Path>, extent: Extent<'_>) -> Result<Project, Failure> {
    open_files::check()?;
    ignore_file_size_signal()?;
    let root = root_of(location.root.as_deref(), file)?;
    let state = assemble::open_state(location.state.state_dir.as_deref())?;
    let folder = index_folder(&state, &TenantId::default_tenant())?;
    let project = Project::new(&folder, &root, false, settings(location.config.as_deref())?);
    let project = project.map_err(|error| {
        Failure::new(format!("cannot create the folder of the index: {error}; see `codeyard doctor`"))
    })?;
    if let Extent::Ordinary(command) = extent
        && !project.is_indexed()
    {
        let forced = format!("codeyard {command} --force --root {}", shell::quoted(&root.to_string_lossy()));
        index_extent::refuse_wide(&root, &forced)?;
    }
    // An unreadable index reports its error at the first query. `codeyard index --force` rebuilds it.
    project.reconcile().ok();
    Ok(project)
}

fn settings(config: Option<&Path>) -> Result<IndexSettings, Failure> {
    let config = config.map(assemble::read_config).transpose()?.unwrap_or_default();
    Ok(IndexPolicy::of(&config).settings)
}

/// The folder of the indexes of a tenant, which exists then.
fn index_folder(state: &StateDir, tenant: &TenantId) -> Result<PathBuf, Failure> {
    let folder = state.index(tenant);
    state.make(&folder).map_err(|error| Failure::new(error.to_string()))?;
    Ok(folder)
}

/// The root of `--root`, else the repository that contains `file` or the current folder, else that folder.
fn root_of(root: Option<&Path>, file: Option<&Path>) -> Result<PathBuf, Failure> {
    let absolute = |path: &Path| {
        path.canonicalize().map_err(|error| {
            Failure::missing(format!("cannot read {}: {error}; name a folder with --root", path.display()))
        })
    };
    if let Some(root) = root {
        let root = absolute(root)?;
        return match root.is_dir() {
            true => Ok(root),
            false => Err(Failure::usage(format!("{} is not a folder; name one with --root", root.display()))),
        };
    }
    let folder =
        absolute(file.and_then(Path::parent).filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    Ok(top_of(&folder).unwrap_or(&folder).to_owned())
}

/// Updates the index of the working tree, or of `reference`. Waits for a job of another process.
fn sync(project: &Project, reference: Option<&str>, force: bool, show_progress: bool) -> Result<JobSummary, Failure> {
    project.watch();
    let ticket = project.prepare(reference, force).map_err(|active| {
        Failure::new(format!("job {} is running; `codeyard index stats` shows its progress", active.job_id))
    })?;
    let done = progress::with_progress(&ticket.progress, show_progress, || project.run(&ticket));
    done.map_err(|error| job_failure(&error))
}

fn job_failure(error: &JobError) -> Failure {
    match error {
        JobError::NoSuchRef(_) | JobError::NoGit | JobError::GitOutside | JobError::Bare | JobError::NoRoot => {
            Failure::missing(error.to_string())
        }
        _ => Failure::new(error.to_string()),
    }
}

/// The answer as the JSON of the corresponding tool.
fn as_json(answer: CodeAnswer) -> Result<serde_json::Value, Failure> {
    let reply = CatalogId::Code.catalog().encode(Ok(&Answer::Code(answer)), usize::MAX >> 1);
    let (EncodedReply::Result(bytes) | EncodedReply::Refusal { result: bytes, .. }) = reply else {
        return Err(Failure::new("cannot encode the answer as JSON; run the command without --json"));
    };
    let whole: serde_json::Value = serde_json::from_slice(&bytes).map_err(|error| Failure::new(error.to_string()))?;
    Ok(whole["structuredContent"].clone())
}

fn refusal_failure(refusal: &CodeRefusal) -> Failure {
    use codeyard_model::code::CodeError;
    match refusal.code {
        CodeError::InvalidInput => Failure::usage(refusal.message.clone()),
        CodeError::FileNotFound
        | CodeError::ProjectNotFound
        | CodeError::RefNotIndexed
        | CodeError::SymbolNotFound
        | CodeError::ResultNotFound => Failure::missing(refusal.message.clone()),
        _ => Failure::new(refusal.message.clone()),
    }
}
