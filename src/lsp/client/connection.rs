//! The client's end of one connection to a language server: requests, notifications, and the two tasks that read and
//! write.
//!
//! It speaks JSON-RPC and answers the server's requests. It knows neither documents nor readiness nor processes.
//! Invariants: each request ends exactly once, also when the connection breaks or this code panics; reading never
//! waits for writing, waits for a slow consumer of events only once and briefly, and pauses only for a server that writes much
//! without having been asked; replies are not decoded here, and a late reply is discarded as soon as it is read.

use std::borrow::Cow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::capabilities::Capabilities;
use super::counters::{ConnectionCounters, LiveCounters, increment};
use super::events::{self, CloseReason, EventCloser, EventSender, ServerEvent, ServerEvents};
use super::frame::{Frame, FrameBudget, FrameError, FrameReader, stray_text};
use super::frame_budget::FramePermit;
use super::message::{self, ErrorObject, IncomingMessage};
use super::outgoing_queue::{OutgoingQueue, QueueShare, write_frames};
use super::pending_requests::{CancelAction, PendingReply, PendingRequests, RequestError, ServerReply};
use super::read_pace::ReadPace;
use super::server_requests::{self, ClientHost, Droppable};
use crate::limits;
use codeyard_base::clock::Instant;

/// What each message costs besides its bytes, in bytes: small ones keep a processor busy too.
const MESSAGE_COST_BYTES: usize = 512;

const METHOD_NOT_FOUND: i64 = -32601;

/// How to talk to a server.
pub struct ClientOptions {
    /// The name of the server in logs.
    pub label: String,
    /// Methods whose requests are dropped without `$/cancelRequest`.
    pub no_cancel: Vec<String>,
    /// Omit `params` where they are null.
    pub omit_null_params: bool,
    /// An error that contains this text means that the server is broken.
    pub restart_on_error: Option<String>,
    /// Answers the server's requests.
    pub host: Arc<dyn ClientHost>,
    /// The byte budget of frames, shared by all connections.
    pub frames: Arc<FrameBudget>,
}

/// A connection. Clones share it. When the last clone is dropped, the connection closes.
#[derive(Clone)]
pub struct LspClient {
    shared: Arc<ConnectionState>,
    _owner: Arc<CloseOnDrop>,
}

/// The state that the handles and both tasks share.
pub(super) struct ConnectionState {
    options: ClientOptions,
    pending: Arc<PendingRequests>,
    outgoing: Arc<OutgoingQueue>,
    counters: Arc<LiveCounters>,
    capabilities: Capabilities,
    events: EventCloser,
    closed: CancellationToken,
    reason: Mutex<Option<CloseReason>>,
}

/// Reads what happens on a connection, from any thread. It doesn't keep the connection open.
#[derive(Debug, Clone, Default)]
pub struct ConnectionReader {
    pending: Weak<PendingRequests>,
    counters: Weak<LiveCounters>,
}

impl ConnectionReader {
    /// The number of requests that wait for a reply; 0 once the connection is gone.
    pub fn pending(&self) -> usize {
        self.pending.upgrade().map_or(0, |pending| pending.len())
    }

    /// When the oldest of them was sent. `None`: there is none.
    pub fn oldest_pending(&self) -> Option<Instant> {
        self.pending.upgrade()?.oldest()
    }

    /// When the server last wrote anything. `None`: the connection is gone.
    pub fn last_byte_at(&self) -> Option<Instant> {
        Some(self.counters.upgrade()?.last_byte_at())
    }
}

/// Closes the connection when the last handle is gone.
struct CloseOnDrop(Arc<ConnectionState>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close(CloseReason::Ours);
    }
}

/// Closes the connection when its task ends, for whatever reason.
struct CloseOnTaskEnd(Arc<ConnectionState>);

impl Drop for CloseOnTaskEnd {
    fn drop(&mut self) {
        self.0.close(CloseReason::Internal);
    }
}

impl LspClient {
    /// Starts the reader and the writer of a connection. Must be called inside a tokio runtime.
    pub fn start<R, W>(reader: R, writer: W, options: ClientOptions) -> (LspClient, ServerEvents)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (sender, closer, events) = events::channel(options.frames.clone());
        let shared = Arc::new(ConnectionState {
            options,
            pending: Arc::default(),
            outgoing: Arc::default(),
            counters: Arc::new(LiveCounters::new()),
            capabilities: Capabilities::default(),
            events: closer,
            closed: CancellationToken::new(),
            reason: Mutex::new(None),
        });
        let frames = FrameReader::new(reader, &shared.options.frames, shared.counters.clone());
        tokio::spawn(read_task(shared.clone(), frames, sender));
        tokio::spawn(write_task(shared.clone(), writer));
        (LspClient { _owner: Arc::new(CloseOnDrop(shared.clone())), shared }, events)
    }

    /// Sends a request. Await the returned [`PendingReply`] for the reply.
    pub fn request<P: Serialize>(&self, method: &'static str, params: &P) -> Result<PendingReply, RequestError> {
        let shared = &self.shared;
        let cancellable = !shared.options.no_cancel.iter().any(|uncancellable| uncancellable == method);
        let (id, receiver) = shared.pending.open(method, cancellable)?;
        // From here on, dropping the handle frees the slot.
        let reply = PendingReply::new(id, receiver, shared.clone());
        let frame = message::request(id, method, params, shared.options.omit_null_params)
            .map_err(|_| RequestError::Malformed)?;
        shared.outgoing.push(frame, Some(id), QueueShare::Client).map_err(|_| RequestError::QueueFull)?;
        Ok(reply)
    }

    /// Sends a notification.
    pub fn notify<P: Serialize>(&self, method: &str, params: &P) -> Result<(), RequestError> {
        if self.is_closed() {
            return Err(RequestError::Closed(self.shared.close_reason()));
        }
        let frame = message::notification(method, params, self.shared.options.omit_null_params)
            .map_err(|_| RequestError::Malformed)?;
        self.shared.outgoing.push(frame, None, QueueShare::Client).map_err(|_| RequestError::QueueFull)
    }

    /// The server's capabilities: set by `initialize`, kept up to date by its registrations.
    pub fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    /// The number of requests that wait for a reply.
    pub fn pending(&self) -> usize {
        self.shared.pending.len()
    }

    /// Reads the connection later.
    pub fn reader(&self) -> ConnectionReader {
        let counters = Arc::downgrade(&self.shared.counters);
        ConnectionReader { pending: Arc::downgrade(&self.shared.pending), counters }
    }

    /// When the server last wrote anything.
    pub fn last_byte_at(&self) -> Instant {
        self.shared.counters.last_byte_at()
    }

    /// The counters of the connection.
    pub fn counters(&self) -> ConnectionCounters {
        self.shared.counters.snapshot()
    }

    /// Whether the connection is closed.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.is_cancelled()
    }

    /// Waits until the connection is closed.
    pub async fn closed(&self) -> CloseReason {
        self.shared.closed.cancelled().await;
        self.shared.close_reason()
    }

    /// Closes the connection: pending requests end, and both tasks stop.
    pub fn close(&self) {
        self.shared.close(CloseReason::Ours);
    }
}

impl ConnectionState {
    pub(super) fn close_reason(&self) -> CloseReason {
        self.reason.lock().unwrap_or(CloseReason::Internal)
    }

    /// Frees the slot of a dropped request and cancels it at the server where that is allowed.
    pub(super) fn abandon(&self, id: u64) {
        if self.pending.abandon(id) == CancelAction::Send
            && self.outgoing.push(message::cancellation(id), None, QueueShare::Client).is_ok()
        {
            increment(&self.counters.cancels);
        }
    }

    fn close(&self, reason: CloseReason) {
        let reason = *self.reason.lock().get_or_insert(reason);
        self.pending.close(reason);
        self.events.close(reason);
        self.closed.cancel();
    }

    /// Completes the request `id`, if something still waits for it. Returns whether something waited.
    fn complete(&self, id: u64, outcome: Result<&RawValue, &RawValue>, permit: &mut Option<FramePermit>) -> bool {
        let Some((method, sender)) = self.pending.take(id) else {
            let ours = self.pending.was_issued(id);
            increment(if ours { &self.counters.late_replies } else { &self.counters.unknown_replies });
            return false;
        };
        let outcome = match outcome {
            Ok(result) => Ok(ServerReply::new(result.to_owned(), self.events.position(), permit.take())),
            Err(error) => Err(self.server_error(method, error)),
        };
        // The receiver may have been dropped just now.
        let _ = sender.send(outcome);
        true
    }

    fn server_error(&self, method: &str, error: &RawValue) -> RequestError {
        let Ok(error) = serde_json::from_str::<ErrorObject<'_>>(error.get()) else { return RequestError::Malformed };
        if self.options.restart_on_error.as_deref().is_some_and(|text| error.message.contains(text)) {
            return RequestError::Broken;
        }
        if error.code == METHOD_NOT_FOUND {
            self.capabilities.mark_unsupported(method);
        }
        let text = &error.message;
        let mut end = text.len().min(limits::MAX_SERVER_ERROR_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        RequestError::Server { code: error.code, message: text[..end].to_owned() }
    }
}

async fn read_task<R: AsyncRead + Unpin>(shared: Arc<ConnectionState>, frames: FrameReader<R>, events: EventSender) {
    let _end = CloseOnTaskEnd(shared.clone());
    let mut reader = MessageReader { shared: &shared, events, pace: ReadPace::new(), pause: Duration::ZERO };
    tokio::select! {
        biased;
        () = shared.closed.cancelled() => {}
        reason = reader.run(frames) => {
            debug!(server = %shared.options.label, %reason, "language server connection ended");
            shared.close(reason);
        }
    }
}

async fn write_task<W: AsyncWrite + Unpin>(shared: Arc<ConnectionState>, writer: W) {
    let _end = CloseOnTaskEnd(shared.clone());
    let outgoing = shared.outgoing.clone();
    let pending = shared.pending.clone();
    let counters = shared.counters.clone();
    tokio::select! {
        biased;
        () = shared.closed.cancelled() => {}
        error = write_frames(writer, outgoing, pending, counters) => shared.close(CloseReason::Write(error.kind())),
    }
}

/// The reader's side of a connection.
struct MessageReader<'a> {
    shared: &'a ConnectionState,
    events: EventSender,
    pace: ReadPace,
    /// The pause before the next message.
    pause: Duration,
}

impl MessageReader<'_> {
    /// Reads until the stream ends. Returns the reason.
    async fn run<R: AsyncRead + Unpin>(&mut self, mut frames: FrameReader<R>) -> CloseReason {
        loop {
            if !self.pause.is_zero() {
                tokio::time::sleep(std::mem::take(&mut self.pause)).await;
            }
            let before = self.shared.counters.stray_bytes.load(Relaxed);
            let next = frames.next().await;
            self.pace.spend(stray_text::report(&self.shared.counters, before, &self.shared.options.label));
            let mut frame = match next {
                Ok(Some(frame)) => frame,
                Ok(None) => return CloseReason::EndOfOutput,
                Err(error) => {
                    self.shared.options.frames.count_rejected(Some(error));
                    return CloseReason::Frame(error);
                }
            };
            if matches!(frame, Frame::Skipped) {
                self.shared.options.frames.count_rejected(Some(FrameError::NoRoom));
                increment(&self.shared.counters.lost_events);
                self.events.lose();
                continue;
            }
            let mut permit = frame.take_permit();
            // A server may send text that isn't UTF-8 for some file. That must not end the connection.
            let text = match std::str::from_utf8(&frame) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(&frame),
            };
            if let Err(reason) = self.handle_message(&text, &mut permit).await {
                return reason;
            }
        }
    }

    async fn handle_message(&mut self, text: &str, permit: &mut Option<FramePermit>) -> Result<(), CloseReason> {
        let mut was_asked_for = false;
        match message::parse(text) {
            Ok(IncomingMessage::Response { id, outcome }) => was_asked_for = self.shared.complete(id, outcome, permit),
            Ok(IncomingMessage::Unmatched) => {
                increment(&self.shared.counters.unknown_replies);
            }
            Ok(IncomingMessage::Request { id, method, params }) => self.handle_request(id, &method, params).await?,
            Ok(IncomingMessage::Notification { method, params }) => self.handle_notification(&method, params).await,
            Err(_) => {
                self.shared.options.frames.count_rejected(None);
                if increment(&self.shared.counters.malformed) >= limits::MAX_MALFORMED_MESSAGES {
                    return Err(CloseReason::Malformed);
                }
            }
        }
        if !was_asked_for {
            self.pause = self.pace.spend(text.len() + MESSAGE_COST_BYTES);
        }
        Ok(())
    }

    async fn handle_request(
        &mut self,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), CloseReason> {
        let shared = self.shared;
        let (outcome, event) =
            server_requests::answer(shared.options.host.as_ref(), &shared.capabilities, method, params);
        let frame = message::response(id, &outcome);
        shared.outgoing.push(frame, None, QueueShare::Responses).map_err(|_| CloseReason::NotReading)?;
        increment(&shared.counters.answered);
        if let Some(event) = event {
            self.send_event(event, Droppable(false)).await;
        }
        Ok(())
    }

    async fn handle_notification(&mut self, method: &str, params: Option<&RawValue>) {
        let Some(droppable) = server_requests::wanted_notification(self.shared.options.host.as_ref(), method) else {
            increment(&self.shared.counters.ignored_notifications);
            return;
        };
        let event = ServerEvent::Notification { method: method.to_owned(), params: params.map(ToOwned::to_owned) };
        self.send_event(event, droppable).await;
    }

    async fn send_event(&mut self, event: ServerEvent, droppable: Droppable) {
        let size = event.bytes();
        if !self.events.send(event, size, droppable.0).await {
            increment(&self.shared.counters.lost_events);
        }
    }
}
