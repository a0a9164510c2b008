//! Tracks which documents a server has received but not indexed yet.
//!
//! Only for servers that index a document when it is opened; a push of the version's diagnostics shows that it is indexed. For other
//! servers this is empty. Invariant: no document is waited for longer than [`LIMIT`].

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::server::context::ServerContext;
use codeyard_base::clock::Instant;
use codeyard_files::watch::Changes;
use codeyard_model::uri::CanonicalUri;

/// Longest wait for the push of a document.
const LIMIT: Duration = Duration::from_secs(10);
/// With more changed files than this the server is restarted instead of opening them.
const MAX_OPENED_CHANGES: usize = 64;

/// Documents that were sent and are not indexed yet.
#[derive(Debug)]
pub(in crate::server) struct PendingIndexing {
    index_follows_open: bool,
    /// By document, the version whose push is awaited, and since when.
    awaited: BTreeMap<CanonicalUri, (i32, Instant)>,
}

impl PendingIndexing {
    /// Nothing has been sent yet.
    pub(in crate::server) fn new(context: &ServerContext) -> Self {
        Self { index_follows_open: context.server.quirks.index_follows_open, awaited: BTreeMap::new() }
    }

    /// `version` of a document was sent.
    pub(in crate::server) fn sent(&mut self, uri: &CanonicalUri, version: i32, now: Instant) {
        if self.index_follows_open {
            self.awaited.insert(uri.clone(), (version, now));
        }
    }

    /// Diagnostics of a document were pushed. Returns whether they were awaited.
    pub(in crate::server) fn pushed(&mut self, uri: &CanonicalUri, version: Option<i32>) -> bool {
        let read = |(awaited, _): &(i32, Instant)| version.is_none_or(|version| version >= *awaited);
        self.awaited.get(uri).is_some_and(read) && self.gone(uri.as_str())
    }

    /// A document was closed or deleted. Returns whether its push was awaited.
    pub(in crate::server) fn gone(&mut self, uri: &str) -> bool {
        self.awaited.remove(uri).is_some()
    }

    /// When the last wait ends; `None` if no document is awaited.
    pub(in crate::server) fn until(&self, now: Instant) -> Option<Instant> {
        self.awaited.values().map(|(_, since)| *since + LIMIT).filter(|until| *until > now).max()
    }
}

/// Whether a file that changed on disk must be opened for the server to index it.
pub(in crate::server) fn must_be_opened(context: &ServerContext, path: &Path) -> bool {
    let is_indexed = || context.server.quirks.index_follows_open && context.servers.serves(&context.server, path);
    path.starts_with(&context.root) && (is_indexed() || context.servers.is_opened_script(&context.server, path))
}

/// Whether more files changed than may be opened.
pub(in crate::server) fn exceeds_open_limit(context: &ServerContext, changes: &Changes) -> bool {
    changes.files.iter().filter(|change| must_be_opened(context, &change.path)).count() > MAX_OPENED_CHANGES
}
