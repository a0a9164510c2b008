//! Everything a workspace actor is made from. A change of roots or servers makes another actor from another setup.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::census::WorkspaceCell;
use crate::indexer::Indexes;
use crate::programs::Programs;
use crate::restart::RestartRule;
use crate::seats::Seats;
use crate::server_context::ServerTimes;
use codeyard_base::ids::{TenantId, WorkspaceName};
use codeyard_config::{Config, Prewarm, Sweep};
use codeyard_files::gate::Gate;
use codeyard_files::watch::Watcher;
use codeyard_index::project::settings::IndexSettings;
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_lsp::registry::{LanguageIndex, ServerSelection};
use codeyard_lsp::registry::{Registry, ServerSpec};
use codeyard_model::limits::Limits;
use codeyard_process::launch::Launcher;
use codeyard_telemetry::Metrics;

/// What all workspaces of a process share.
#[derive(Clone)]
pub struct Shared {
    /// Finds programs.
    pub programs: Programs,
    /// Starts processes.
    pub launcher: Arc<dyn Launcher>,
    /// Bounds frames of all children together.
    pub frames: Arc<FrameBudget>,
    /// Watches files; `None` where watching is impossible: then every question compares with disk and nothing is retained.
    pub watcher: Option<Watcher>,
    /// Environment that children may see.
    pub environment: Arc<Vec<(OsString, OsString)>>,
    /// Counts.
    pub metrics: Arc<dyn Metrics>,
}

/// The registry as this service uses it.
pub struct Servers {
    /// All entries.
    pub registry: Registry,
    /// Languages by file name.
    pub index: LanguageIndex,
    /// Entries by kind, shared.
    pub by_kind: HashMap<String, Arc<ServerSpec>>,
}

impl Servers {
    /// Indexes `registry`.
    pub fn new(registry: Registry) -> Self {
        let index = LanguageIndex::new(&registry);
        let by_kind = registry.servers.iter().map(|(kind, server)| (kind.clone(), Arc::new(server.clone())));
        Self { index, by_kind: by_kind.collect(), registry }
    }

    /// Whether this file is of one of the server's languages.
    pub fn serves(&self, server: &ServerSpec, path: &Path) -> bool {
        self.index.language_of(path).is_some_and(|language| server.languages.iter().any(|own| own == language))
    }

    /// Whether some server could serve this file.
    pub fn is_source(&self, path: &Path) -> bool {
        self.index.language_of(path).is_some()
    }
}

/// What may change while a workspace runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Limits of answers.
    pub limits: Limits,
    /// How far diagnostics of the workspace reach.
    pub sweep: Sweep,
    /// Which servers start before the first question.
    pub prewarm: Prewarm,
    /// When servers are restarted.
    pub restart: RestartRule,
    /// How long servers may take.
    pub times: ServerTimes,
    /// The code index.
    pub index: IndexPolicy,
}

/// How its code index is built and asked.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexPolicy {
    /// Whether it is built when it is first asked.
    pub auto: bool,
    /// What its projects are told.
    pub settings: IndexSettings,
    /// The largest payload of an answer, in bytes.
    pub payload_bytes: usize,
}

impl IndexPolicy {
    /// What a configuration says.
    pub fn of(config: &Config) -> Self {
        let (index, query) = (&config.index, &config.query);
        let threads = match usize::try_from(index.threads) {
            Ok(0) | Err(_) => IndexSettings::default().threads,
            Ok(threads) => threads,
        };
        let mut settings = IndexSettings::new(threads, index.max_file_bytes, index.max_parsed_file_bytes);
        settings.weights = config.ranking;
        settings.freshness = query.freshness_policy.policy();
        settings.explain = config.explain_level();
        Self { auto: index.auto, settings, payload_bytes: query.payload_bytes }
    }
}

/// See the module.
pub struct WorkspaceSetup {
    /// Its name.
    pub name: WorkspaceName,
    /// Its tenant.
    pub tenant: TenantId,
    /// The door to its files.
    pub gate: Gate,
    /// The floor its `rootsEpoch` starts at.
    pub roots_epoch: u64,
    /// What may change later.
    pub policy: Policy,
    /// Which servers were chosen.
    pub selection: ServerSelection,
    /// Settings by kind, merged over the registry's.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// Environment added for its children.
    pub env: BTreeMap<String, String>,
    /// The registry.
    pub servers: Arc<Servers>,
    /// The state directory.
    pub state: PathBuf,
    /// Where its servers may write: a folder of its own in the state directory.
    pub cache: PathBuf,
    /// Where it says how it is.
    pub cell: Arc<WorkspaceCell>,
    /// Keeps a server from running beside the one that it replaces.
    pub seats: Seats,
    /// What its code index shares with those of others.
    pub indexes: Arc<Indexes>,
    /// What it shares with others.
    pub shared: Shared,
}
