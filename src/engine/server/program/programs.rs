//! Finds the programs of language servers and caches the results for the whole process.
//!
//! A lookup is slow (a program may be run for its version), so it runs on the blocking pool; an actor only reads the cache.
//! A missing program is looked up again after a few seconds, so that an installation takes effect without a restart.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, Shared};
use parking_lot::Mutex;

use crate::status::server_state::Unavailable;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_lsp::registry::ServerSpec;

/// A missing program is looked up again after this time.
const FORGET_MISSING: Duration = Duration::from_secs(5);
/// Largest number of cached lookups.
const MAX_REMEMBERED: usize = 16_384;

/// Finds programs; blocks. `Err` holds the reason why it can't be started, and the command that helps.
pub trait Locate: Send + Sync {
    /// The program of `server`, of kind `kind`, for a workspace with this root. A program inside the root is never started.
    fn locate(&self, kind: &str, server: &ServerSpec, root: &Path) -> Result<Program, Unavailable>;
}

/// The result of a lookup.
pub type ProgramLookup = Result<Program, Unavailable>;

/// A lookup in progress; it resolves when the result is cached.
pub type PendingLookup = Shared<BoxFuture<'static, ()>>;

/// The cache of program lookups. Cheap to clone.
#[derive(Clone)]
pub struct Programs {
    locate: Arc<dyn Locate>,
    known: Arc<Mutex<HashMap<LookupKey, CachedLookup>>>,
}

/// A kind, as seen from a workspace root.
type LookupKey = (String, PathBuf);

#[derive(Clone)]
enum CachedLookup {
    Pending(PendingLookup),
    Done(ProgramLookup, Instant),
}

impl Programs {
    /// Programs as `locate` finds them.
    pub fn new(locate: Arc<dyn Locate>) -> Self {
        Self { locate, known: Arc::default() }
    }

    /// The cached result for `kind` and this workspace root, or the lookup to wait for.
    pub fn peek(&self, kind: &str, server: &Arc<ServerSpec>, root: &Path) -> Result<ProgramLookup, PendingLookup> {
        let key = (kind.to_owned(), root.to_path_buf());
        let mut known = self.known.lock();
        match known.get(&key) {
            Some(CachedLookup::Done(Ok(program), _)) => return Ok(Ok(program.clone())),
            Some(CachedLookup::Done(Err(why), at)) if at.elapsed() < FORGET_MISSING => return Ok(Err(why.clone())),
            Some(CachedLookup::Pending(pending)) => return Err(pending.clone()),
            _ => {}
        }
        if known.len() >= MAX_REMEMBERED {
            known.retain(|_, entry| matches!(entry, CachedLookup::Pending(_)));
        }
        let pending = self.start_lookup(key.clone(), server.clone());
        known.insert(key, CachedLookup::Pending(pending.clone()));
        Err(pending)
    }

    fn start_lookup(&self, key: LookupKey, server: Arc<ServerSpec>) -> PendingLookup {
        let locate = self.locate.clone();
        let known = self.known.clone();
        let task = tokio::spawn(async move {
            let (kind, root) = key.clone();
            let located = blocking::spawn(move || locate.locate(&kind, &server, &root)).await;
            let found = located.unwrap_or_else(|_| {
                Err(Unavailable::new(&key.0, "crashed", "the lookup of the language server failed", "codeyard doctor"))
            });
            known.lock().insert(key, CachedLookup::Done(found, Instant::now()));
        });
        async move { drop(task.await) }.boxed().shared()
    }
}
/// A program of a language server, as the lookup found it.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The program's absolute path.
    pub program: PathBuf,
    /// Its arguments; placeholders are filled when it's started.
    pub args: Vec<String>,
    /// Environment it needs besides the registry's.
    pub env: BTreeMap<String, String>,
    /// The installation's folder, if codeyard installed it.
    pub install: Option<PathBuf>,
    /// The folder of the installation's programs.
    pub bin: Option<PathBuf>,
    /// The program that it runs for its diagnostics, if that is there.
    pub checker: Option<PathBuf>,
    /// Its version, if known.
    pub version: Option<String>,
}
