//! Documents that may have crashed a server.
//!
//! A document is a suspect if a request about it was unanswered when the process ended by itself, or if it was opened for a request while the
//! process was not ready yet and has not become so. Such a request is asked again in a turn
//! of its own: while no other one of a suspect is at the server. So a second crash tells which document it was, and agents that ask about
//! others at the same time lose no answer. Invariants: a document is refused only if the server also ended in its own turn, and only until
//! its text changes or the quarantine time has passed; a server that was killed for its memory suspects no document, nor does one that was killed
//! from outside, but one that is killed whenever it has started may do that to itself; the suspects are bounded.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::oneshot;

use crate::server::actor::LanguageServer;
use crate::server::messages::PreparationEnd;
use crate::server::requests::expiry::REQUEST_ENDED;
use crate::server::requests::request::ServerRequest;
use crate::server::session::LiveServer;
use crate::status::server_failure::is_kill_from_outside;
use crate::status::server_state::Unavailable;
use codeyard_base::clock::Instant;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_model::uri::CanonicalUri;
use codeyard_process::launch::ProcessExit;

/// Largest number of crash suspects.
const MAX_CRASH_SUSPECTS: usize = 256;
/// Kills in a row that suspect no document.
const MAX_KILLS_WITHOUT_SUSPECTS: u32 = 2;
/// Largest number of requests about documents that are followed at a time; the latest ones.
const MAX_REQUESTS_FOLLOWED: usize = 256;

/// The crash suspects of a server.
#[derive(Default)]
pub(in crate::server) struct CrashSuspects {
    documents: HashMap<CanonicalUri, CrashSuspect>,
    /// The end of the latest turn. All that wait for it ask again then, and the first one has the next turn.
    turn: Option<PreparationEnd>,
}

/// A document with an open request when the server process ended.
struct CrashSuspect {
    hash: [u8; 32],
    at: Instant,
    /// The server ended also in its own turn.
    is_refused: bool,
    /// The methods that it was asked by then, and whether the server has survived them since.
    methods: HashMap<&'static str, Arc<AtomicBool>>,
}

/// The turn of a suspect. It ends when it is dropped.
pub(in crate::server) struct SuspectTurn {
    survived: Arc<AtomicBool>,
    _end: oneshot::Sender<()>,
}

/// A request about a document.
struct DocumentRequest {
    uri: CanonicalUri,
    hash: [u8; 32],
    method: &'static str,
    in_own_turn: bool,
    /// As of [`ExpiryGuard`](crate::server::requests::expiry::ExpiryGuard).
    state: Arc<AtomicU8>,
}

/// A document that was opened before the server was ready.
struct EarlyDocument {
    uri: CanonicalUri,
    hash: [u8; 32],
    /// Of the request that waits until the server is ready.
    method: &'static str,
    turn: Option<SuspectTurn>,
}

/// The unanswered requests about documents of a process.
#[derive(Default)]
pub(in crate::server) struct DocumentRequests {
    sent: VecDeque<DocumentRequest>,
    early: VecDeque<EarlyDocument>,
}

impl SuspectTurn {
    /// The request was answered, or the server still worked on it at its deadline: the next one by this method needs no turn.
    pub(in crate::server) fn survived(self) {
        self.survived.store(true, Ordering::Relaxed);
    }
}

impl DocumentRequests {
    /// Adds a request that begins.
    pub(in crate::server) fn add(
        &mut self,
        document: &DocumentInput,
        method: &'static str,
        in_own_turn: bool,
        state: Arc<AtomicU8>,
    ) {
        self.sent.retain(DocumentRequest::is_unanswered);
        if self.sent.len() >= MAX_REQUESTS_FOLLOWED {
            self.sent.pop_front();
        }
        let uri = document.source.uri.clone();
        self.sent.push_back(DocumentRequest { uri, hash: document.source.hash, method, in_own_turn, state });
    }

    /// A document was opened for a request that waits until the server is ready. Its turn lasts until then.
    pub(in crate::server) fn opened_early(
        &mut self,
        document: &DocumentInput,
        method: &'static str,
        turn: Option<SuspectTurn>,
    ) {
        let uri = document.source.uri.clone();
        let hash = document.source.hash;
        let is_known = |known: &EarlyDocument| (&known.uri, known.hash, known.method) == (&uri, hash, method);
        if let Some(known) = self.early.iter_mut().find(|known| is_known(known)) {
            known.turn = turn.or(known.turn.take());
            return;
        }
        if self.early.len() >= MAX_REQUESTS_FOLLOWED {
            self.early.pop_front();
        }
        self.early.push_back(EarlyDocument { uri, hash, method, turn });
    }

    /// The server is ready, so it has survived what was opened before.
    pub(in crate::server) fn server_is_ready(&mut self) {
        for early in self.early.drain(..) {
            if let Some(turn) = early.turn {
                turn.survived();
            }
        }
    }

    /// What was unanswered: document, hash of its text, method, and whether it was in its own turn.
    fn unanswered(&self) -> impl Iterator<Item = (&CanonicalUri, [u8; 32], &'static str, bool)> {
        let sent = self.sent.iter().filter(|request| request.is_unanswered());
        let sent = sent.map(|request| (&request.uri, request.hash, request.method, request.in_own_turn));
        sent.chain(self.early.iter().map(|early| (&early.uri, early.hash, early.method, early.turn.is_some())))
    }
}

impl DocumentRequest {
    fn is_unanswered(&self) -> bool {
        self.state.load(Ordering::Relaxed) != REQUEST_ENDED
    }
}

impl CrashSuspects {
    /// Forgets all suspects.
    pub(in crate::server) fn clear(&mut self) {
        self.documents.clear();
    }

    /// Records the requests that a process left unanswered.
    fn record(&mut self, requests: &DocumentRequests, now: Instant) {
        for (uri, hash, method, in_own_turn) in requests.unanswered() {
            let before = self.documents.get_mut(uri).filter(|before| before.hash == hash);
            if let Some(before) = before {
                before.at = now;
                before.is_refused |= in_own_turn;
                before.methods.insert(method, Arc::default());
                continue;
            }
            if self.documents.len() >= MAX_CRASH_SUSPECTS {
                self.documents.retain(|_, suspect| suspect.is_refused);
            }
            if self.documents.len() >= MAX_CRASH_SUSPECTS {
                self.documents.clear();
            }
            let methods = HashMap::from([(method, Arc::default())]);
            let suspect = CrashSuspect { hash, at: now, is_refused: false, methods };
            self.documents.insert(uri.clone(), suspect);
        }
    }

    /// Whether a document is refused now. A suspicion of another text, or from before the `quarantine` time, is over.
    fn is_refused(&mut self, document: &DocumentInput, quarantine: Duration) -> bool {
        let Some(suspect) = self.documents.get(&document.source.uri) else { return false };
        if suspect.hash != document.source.hash || suspect.at.elapsed() >= quarantine {
            self.documents.remove(&document.source.uri);
            return false;
        }
        suspect.is_refused
    }

    /// The turn of a request, if it needs one. `Err`: the end of the present turn, for which it waits.
    fn turn(&mut self, document: &DocumentInput, method: &'static str) -> Result<Option<SuspectTurn>, PreparationEnd> {
        let survived = self.documents.get(&document.source.uri).and_then(|suspect| suspect.methods.get(method));
        let Some(survived) = survived.filter(|survived| !survived.load(Ordering::Relaxed)) else { return Ok(None) };
        if let Some(ended) = self.turn.clone().filter(|ended| ended.clone().now_or_never().is_none()) {
            return Err(ended);
        }
        let (end, ended) = oneshot::channel();
        self.turn = Some(ended.map(drop).boxed().shared());
        Ok(Some(SuspectTurn { survived: survived.clone(), _end: end }))
    }
}

impl LanguageServer {
    /// Records which documents may have crashed the server; none if it was killed for its memory or, unless that happens again and again,
    /// from outside.
    pub(in crate::server) fn record_crash_suspects(&mut self, session: &LiveServer, exit: Option<ProcessExit>) {
        let is_killed = is_kill_from_outside(exit) && self.history.kills_in_a_row() < MAX_KILLS_WITHOUT_SUSPECTS;
        if !is_killed && exit.is_none_or(|exit| !exit.over_memory) {
            self.crash_suspects.record(&session.document_requests, Instant::now());
        }
    }

    /// Why the document of a request is refused.
    pub(in crate::server) fn refused_document(&mut self, request: &dyn ServerRequest) -> Option<Unavailable> {
        let quarantine = self.history.rule().quarantine;
        self.crash_suspects.is_refused(request.document()?, quarantine).then(|| {
            Unavailable::new(
                self.context.kind.as_str(),
                "crashed",
                "this document has crashed the language server twice; it is refused until it changes",
                "codeyard doctor",
            )
        })
    }

    /// The turn of a request about a suspect, if it needs one. `Err` as of [`CrashSuspects::turn`].
    pub(in crate::server) fn suspect_turn(
        &mut self,
        request: &dyn ServerRequest,
    ) -> Result<Option<SuspectTurn>, PreparationEnd> {
        request.document().map_or(Ok(None), |document| self.crash_suspects.turn(document, request.method()))
    }
}
