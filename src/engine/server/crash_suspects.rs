//! Documents that may have crashed a server.
//!
//! A document that was open or asked about when the process ended by itself is a suspect. Invariants: a document that crashed the server
//! twice is refused until its text changes or the quarantine time has passed; a server that was killed from outside or for its memory
//! suspects no document; the suspects are bounded.

use crate::server::actor::LanguageServer;
use crate::server::request::ServerRequest;
use crate::server::session::LiveServer;
use crate::status::server_failure::is_kill_from_outside;
use crate::status::server_state::Unavailable;
use codeyard_base::clock::Instant;
use codeyard_process::launch::ProcessExit;

/// Number of crashes after which a document is refused until it changes or the quarantine time has passed.
const MAX_CRASHES_PER_DOCUMENT: u32 = 2;
/// Largest number of crash suspects.
const MAX_CRASH_SUSPECTS: usize = 256;

/// A document with an open request when the server process ended.
pub(super) struct CrashSuspect {
    hash: [u8; 32],
    crashes: u32,
    at: Instant,
}

impl LanguageServer {
    /// Records which documents may have crashed the server; none if it was killed from outside or for its memory.
    pub(super) fn record_crash_suspects(&mut self, session: &LiveServer, exit: Option<ProcessExit>) {
        if is_kill_from_outside(exit) || exit.is_some_and(|exit| exit.over_memory) {
            return;
        }
        let now = Instant::now();
        for (uri, hash) in session.suspect_documents() {
            if self.crash_suspects.len() >= MAX_CRASH_SUSPECTS {
                self.crash_suspects.clear();
            }
            let before = self.crash_suspects.get(&uri).filter(|before| before.hash == hash);
            let crashes = before.map_or(1, |before| before.crashes + 1);
            self.crash_suspects.insert(uri, CrashSuspect { hash, crashes, at: now });
        }
    }

    /// Why the document of a request is refused.
    pub(super) fn refused_document(&mut self, request: &dyn ServerRequest) -> Option<Unavailable> {
        let source = &request.document()?.source;
        let CrashSuspect { hash, crashes, at } = self.crash_suspects.get(&source.uri)?;
        let crashes = *crashes;
        if *hash != source.hash || at.elapsed() >= self.history.rule().quarantine {
            self.crash_suspects.remove(&source.uri);
            return None;
        }
        (crashes >= MAX_CRASHES_PER_DOCUMENT).then(|| {
            Unavailable::new(
                self.context.kind.as_str(),
                "crashed",
                "this document has crashed the language server twice; it is refused until it changes",
                "codeyard doctor",
            )
        })
    }
}
