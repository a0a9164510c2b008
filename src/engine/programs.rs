//! Which programs of the registry are there to be started: asked of the installer, remembered for the whole process.
//!
//! Looking is slow (a program may be asked for its version), so it happens on the blocking pool; an actor only peeks.
//! A program that wasn't there is looked for again after a few seconds, so that installing it helps without a restart.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, Shared};
use parking_lot::Mutex;

use crate::server_context::Program;
use crate::server_state::Unavailable;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_lsp::registry::Server;

/// A program that wasn't there is looked for again after this time.
const FORGET_MISSING: Duration = Duration::from_secs(5);
/// Programs that are remembered.
const MAX_REMEMBERED: usize = 16_384;

/// Finds programs; blocking. `Err` says why it can't be started, and the command that would help.
pub trait Locate: Send + Sync {
    /// The program of `server`, of kind `kind`, for a workspace with this root: nothing inside it is ever started.
    fn locate(&self, kind: &str, server: &Server, root: &Path) -> Result<Program, Unavailable>;
}

/// What is known of a kind's program.
pub type Found = Result<Program, Unavailable>;

/// A look that is under way; it resolves when the answer can be peeked at.
pub type Looking = Shared<BoxFuture<'static, ()>>;

/// See the module. Cheap to clone.
#[derive(Clone)]
pub struct Programs {
    locate: Arc<dyn Locate>,
    known: Arc<Mutex<HashMap<Key, Entry>>>,
}

/// A kind, as seen from a workspace root.
type Key = (String, PathBuf);

#[derive(Clone)]
enum Entry {
    Looking(Looking),
    Found(Found, Instant),
}

impl Programs {
    /// Programs as `locate` finds them.
    pub fn new(locate: Arc<dyn Locate>) -> Self {
        Self { locate, known: Arc::default() }
    }

    /// What is known of `kind` now for a workspace with this root, or the look to wait for.
    pub fn peek(&self, kind: &str, server: &Arc<Server>, root: &Path) -> Result<Found, Looking> {
        let key = (kind.to_owned(), root.to_path_buf());
        let mut known = self.known.lock();
        match known.get(&key) {
            Some(Entry::Found(Ok(program), _)) => return Ok(Ok(program.clone())),
            Some(Entry::Found(Err(why), at)) if at.elapsed() < FORGET_MISSING => return Ok(Err(why.clone())),
            Some(Entry::Looking(looking)) => return Err(looking.clone()),
            _ => {}
        }
        if known.len() >= MAX_REMEMBERED {
            known.retain(|_, entry| matches!(entry, Entry::Looking(_)));
        }
        let looking = self.look(key.clone(), server.clone());
        known.insert(key, Entry::Looking(looking.clone()));
        Err(looking)
    }

    fn look(&self, key: Key, server: Arc<Server>) -> Looking {
        let (locate, known) = (self.locate.clone(), self.known.clone());
        let task = tokio::spawn(async move {
            let (kind, root) = key.clone();
            let looked = blocking::spawn(move || locate.locate(&kind, &server, &root)).await;
            let found = looked.unwrap_or_else(|_| {
                Err(Unavailable::new(&key.0, "crashed", "looking for the language server failed", "codeyard doctor"))
            });
            known.lock().insert(key, Entry::Found(found, Instant::now()));
        });
        async move { drop(task.await) }.boxed().shared()
    }
}
