//! What a server whose index follows opened documents was sent and hasn't read yet.
//!
//! A push of a version's diagnostics says that it has read it. Other servers have nothing to wait for: for them this is empty.
//! Invariant: nothing is waited for longer than [`LIMIT`].

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::server_context::ServerContext;
use codeyard_base::clock::Instant;
use codeyard_files::watch::Changes;
use codeyard_model::uri::CanonicalUri;

/// A document that was sent is no longer waited for after this time without its push.
const LIMIT: Duration = Duration::from_secs(10);
/// With more changed files than this the server is started anew instead of being shown them.
const MAX_SHOWN: usize = 64;

/// See the module.
#[derive(Debug)]
pub(super) struct Unread {
    index_follows_open: bool,
    /// By document the version whose push is awaited, and since when.
    awaited: BTreeMap<CanonicalUri, (i32, Instant)>,
}

impl Unread {
    /// Nothing has been sent yet.
    pub(super) fn new(context: &ServerContext) -> Self {
        Self { index_follows_open: context.server.quirks.index_follows_open, awaited: BTreeMap::new() }
    }

    /// `version` of a document was sent.
    pub(super) fn sent(&mut self, uri: &CanonicalUri, version: i32, now: Instant) {
        if self.index_follows_open {
            self.awaited.insert(uri.clone(), (version, now));
        }
    }

    /// Diagnostics of a document were pushed. Says whether it was waited for.
    pub(super) fn pushed(&mut self, uri: &CanonicalUri, version: Option<i32>) -> bool {
        let read = |(awaited, _): &(i32, Instant)| version.is_none_or(|version| version >= *awaited);
        self.awaited.get(uri).is_some_and(read) && self.gone(uri.as_str())
    }

    /// A document was closed, or is gone. Says whether it was waited for.
    pub(super) fn gone(&mut self, uri: &str) -> bool {
        self.awaited.remove(uri).is_some()
    }

    /// Until when something is waited for; nothing if there is nothing.
    pub(super) fn until(&self, now: Instant) -> Option<Instant> {
        self.awaited.values().map(|(_, since)| *since + LIMIT).filter(|until| *until > now).max()
    }
}

/// Whether a file that changed on disk must be opened for the server to know.
pub(super) fn must_be_shown(context: &ServerContext, path: &Path) -> bool {
    context.server.quirks.index_follows_open
        && path.starts_with(&context.root)
        && context.servers.serves(&context.server, path)
}

/// Whether more changed than can be shown.
pub(super) fn is_beyond_showing(context: &ServerContext, changes: &Changes) -> bool {
    changes.files.iter().filter(|change| must_be_shown(context, &change.path)).count() > MAX_SHOWN
}
