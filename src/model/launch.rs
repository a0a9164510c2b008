//! Requests and answers of the catalog `launch`, independent of its encoding (`docs/internals/reference/contract-launch.md#tools`).
//!
//! They carry JSON where the workflow alone knows the form: a run's configuration, a report. Invariant: an error's message and details hold no
//! token and no path outside the run.

use serde_json::{Map, Value};

/// The names of the tools.
pub mod tools {
    /// Starts a run from a configuration.
    pub const START: &str = "launch_start_run";
    /// Starts a run from the URL of a product page.
    pub const START_FROM_URL: &str = "launch_start_run_from_product_url";
    /// The deprecated alias of [`START_FROM_URL`]: callable, but not listed.
    pub const START_FROM_URL_ALIAS: &str = "launch_start_run_from_url";
    /// Starts a run from a repository.
    pub const START_FROM_REPOSITORY: &str = "launch_start_run_from_github_repo_url";
    /// Shows where a run is.
    pub const STATUS: &str = "launch_get_status";
    /// Reads an artifact.
    pub const ARTIFACT: &str = "launch_get_artifact";
    /// Validates the working copy.
    pub const VALIDATE: &str = "launch_validate";
    /// Repairs one issue.
    pub const FIX: &str = "launch_fix_next";
    /// Goes on to the next boundary.
    pub const RESUME: &str = "launch_resume";
    /// Ends a run.
    pub const CANCEL: &str = "launch_cancel";
    /// Publishes the result.
    pub const OPEN_PR: &str = "launch_open_pr";
    /// Lists runs.
    pub const LIST: &str = "launch_list_runs";
}

/// A request of the catalog `launch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchRequest {
    Start {
        /// From what.
        source: LaunchSource,
        /// Makes repeated starts one run.
        idempotency_key: Option<String>,
    },
    /// Something about one run.
    Run {
        /// The run, unchecked.
        run_id: String,
        action: RunAction,
    },
    List {
        /// Those about this product.
        product_slug: Option<String>,
        /// Those in this state.
        state: Option<String>,
        /// At most so many.
        limit: Option<usize>,
        /// Those after this place, as an earlier answer gave it.
        cursor: Option<String>,
    },
}

/// What a run is started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchSource {
    Config(Value),
    /// The URL of a product page.
    ProductUrl(String),
    RepositoryUrl(String),
}

/// What is asked of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunAction {
    Status,
    /// An artifact, or a part of it.
    Artifact {
        /// The name, unchecked.
        name: String,
        /// The first byte of the part.
        offset: u64,
        /// The bytes of the part; as many as fit if it isn't given.
        length: Option<u64>,
    },
    Validate,
    /// The repair of one issue.
    FixNext,
    /// To go on.
    Resume,
    Cancel,
    /// The publication of its result.
    OpenPr,
}

/// An answer of the catalog `launch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchAnswer {
    /// An object, without `ok`.
    Object(Map<String, Value>),
    /// An object with a list that is cut if the answer is too large.
    WithList {
        /// The object, without `ok`.
        object: Map<String, Value>,
        /// The members that lead to the list.
        list: &'static [&'static str],
        /// The member beside the list that says how long it is, if it was cut.
        total: &'static str,
    },
    Artifact(Box<ArtifactPart>),
    Refused(Box<LaunchRefusal>),
}

/// A part of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactPart {
    pub run_id: String,
    pub name: String,
    pub content_type: &'static str,
    /// The digest of the whole.
    pub sha256: String,
    pub content: Vec<u8>,
    /// The first byte that is asked for.
    pub offset: u64,
    /// How many bytes are asked for.
    pub length: Option<u64>,
}

/// An error of the catalog `launch` (`docs/internals/reference/contract-launch.md#errors`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchRefusal {
    /// The run, if there is one.
    pub run_id: Option<String>,
    /// The code, `ILLEGAL_STATE`.
    pub code: &'static str,
    /// What went wrong, why, and what to do.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// Details for programs.
    pub details: Map<String, Value>,
}

impl LaunchRequest {
    /// The tool's name. The alias counts as the tool that it stands for.
    pub fn tool(&self) -> &'static str {
        match self {
            Self::Start { source: LaunchSource::Config(_), .. } => tools::START,
            Self::Start { source: LaunchSource::ProductUrl(_), .. } => tools::START_FROM_URL,
            Self::Start { source: LaunchSource::RepositoryUrl(_), .. } => tools::START_FROM_REPOSITORY,
            Self::Run { action, .. } => action.tool(),
            Self::List { .. } => tools::LIST,
        }
    }
}

impl RunAction {
    fn tool(&self) -> &'static str {
        match self {
            Self::Status => tools::STATUS,
            Self::Artifact { .. } => tools::ARTIFACT,
            Self::Validate => tools::VALIDATE,
            Self::FixNext => tools::FIX,
            Self::Resume => tools::RESUME,
            Self::Cancel => tools::CANCEL,
            Self::OpenPr => tools::OPEN_PR,
        }
    }
}

impl LaunchRefusal {
    /// An error that isn't retryable.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { run_id: None, code, message: message.into(), retryable: false, details: Map::new() }
    }

    /// The same with a detail.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// The same for a run.
    #[must_use]
    pub fn for_run(self, run_id: impl Into<String>) -> Self {
        Self { run_id: Some(run_id.into()), ..self }
    }
}
