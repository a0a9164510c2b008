//! What the operator of a process allows its runs, and where their tools are.
//!
//! It comes from the section `[runs]` of the configuration. Invariant: what a run names itself, an address or an environment variable, is used only
//! if the operator has listed it. Source: `docs/internals/reference/contract-launch.md#what-an-operator-allows`.

use std::path::PathBuf;
use std::sync::Arc;

use codeyard_runs::run_id::RunId;
use codeyard_runs::stage::{StageError, StopFlag};

use crate::artifacts::pull_request::PullRequest;
use crate::publication::PublicationSettings;
use crate::repository::checkout::CheckoutSettings;
use crate::repository::discovery::{self, Discovered};
use crate::repository::repository_address::RepositoryAddress;
use crate::request::repository_inference::GithubRepository;
use crate::request::run_config::RunConfig;
use crate::request::sites::Sites;
use crate::validation::link_checker::LinkChecker;

/// The roots of a workspace, by its name.
pub type WorkspaceRoots = Arc<dyn Fn(&str) -> Vec<PathBuf> + Send + Sync>;

/// Is given what a run has published, or why it couldn't: the workspace, the run, and the outcome.
pub type PublicationObserver = Arc<dyn Fn(&str, &RunId, Result<&PullRequest, &StageError>) + Send + Sync>;

/// What runs may do, and with what.
#[derive(Clone)]
pub struct LaunchSettings {
    pub sites: Sites,
    /// What may be cloned, besides the roots of a run's workspace.
    pub checkout: CheckoutSettings,
    /// Which services a run may publish to, and let write.
    pub publication: PublicationSettings,
    /// What asks the servers of links; `None` if they aren't asked.
    pub links: Option<LinkChecker>,
    /// The program Hugo; `None` if it is looked for.
    pub hugo: Option<PathBuf>,
    /// A folder for files that no run keeps.
    pub scratch: PathBuf,
    pub roots: WorkspaceRoots,
    pub on_publication: PublicationObserver,
}

impl LaunchSettings {
    /// What a run of `workspace` may clone.
    pub fn checkout_of(&self, workspace: &str) -> CheckoutSettings {
        let mut settings = self.checkout.clone();
        let roots = (self.roots)(workspace);
        settings.sources.extend(roots.iter().filter_map(|root| root.to_str()).map(str::to_owned));
        settings
    }

    /// Reads a repository as far as an inference needs it.
    ///
    /// # Errors
    /// `REPO_NOT_FOUND` if git can't find or read it.
    pub fn discover(&self, repository: &GithubRepository, stop: &StopFlag) -> Result<Discovered, StageError> {
        discovery::discover(&self.checkout, repository, &self.scratch, stop)
    }

    /// Whether a run with this configuration could work: whatever it names is allowed. Contacts nothing.
    ///
    /// # Errors
    /// `INVALID_INPUT` or `COMMIT_SERVICE_ERROR` for what isn't allowed.
    pub fn check(&self, config: &RunConfig, workspace: &str) -> Result<(), StageError> {
        let allowed = self.checkout_of(workspace);
        let site = config.site.as_ref().map(|site| site.repo_url.as_str());
        for url in [Some(config.github_repo_url.as_str()), site].into_iter().flatten() {
            RepositoryAddress::resolve(url, &allowed.rewrites, &allowed.sources)?;
        }
        self.publication.check(config)
    }
}
