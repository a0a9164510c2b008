//! The client end of one connection to a language server: requests, notifications, and the two tasks behind them.
//!
//! It speaks JSON-RPC and answers what a server asks; it knows neither documents nor readiness nor processes. Invariants:
//! each request ends exactly once, also when the connection breaks or our own code panics; reading never waits for
//! writing, and for a slow consumer of events only once and briefly; nothing of a reply is decoded here, and a late reply
//! is thrown away as read.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::capabilities::Capabilities;
use super::events::{self, CloseReason, Event, EventCloser, EventSender, Events};
use super::frame::{FrameBudget, FramePermit, FrameReader};
use super::inbound::{self, Disposable, Host};
use super::message::{self, ErrorObject, Message};
use super::meter::{Counters, Meter, count};
use super::outgoing::{Lane, Outgoing, write_frames};
use super::pending::{Abandoned, Pending, PendingReply, Reply, RequestError};
use crate::limits;
use codeyard_base::clock::Instant;

const METHOD_NOT_FOUND: i64 = -32601;

/// How to speak with a server.
pub struct ClientOptions {
    /// Name for logs.
    pub label: String,
    /// Methods whose requests are dropped without `$/cancelRequest`.
    pub no_cancel: Vec<String>,
    /// Leave `params` out where they are null.
    pub omit_null_params: bool,
    /// An error with this text means that the server is broken.
    pub restart_on_error: Option<String>,
    /// Who answers what the server asks.
    pub host: Arc<dyn Host>,
    /// The budget of frames, one for all connections.
    pub frames: Arc<FrameBudget>,
}

/// A connection. Clones share it; when the last one is dropped the connection closes.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    _owner: Arc<Owner>,
}

/// What the handles and both tasks share.
pub(super) struct Shared {
    options: ClientOptions,
    pending: Arc<Pending>,
    outgoing: Arc<Outgoing>,
    meter: Arc<Meter>,
    capabilities: Capabilities,
    events: EventCloser,
    closed: CancellationToken,
    reason: Mutex<Option<CloseReason>>,
    broken: AtomicBool,
}

/// Closes the connection when the last handle is gone.
struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.close(CloseReason::Ours);
    }
}

/// Closes the connection when its task ends, however it ends.
struct CloseAtEnd(Arc<Shared>);

impl Drop for CloseAtEnd {
    fn drop(&mut self) {
        self.0.close(CloseReason::Internal);
    }
}

impl Client {
    /// Starts the reader and the writer of a connection. Must be called inside a tokio runtime.
    pub fn start<R, W>(reader: R, writer: W, options: ClientOptions) -> (Client, Events)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (sender, closer, events) = events::channel();
        let shared = Arc::new(Shared {
            options,
            pending: Arc::default(),
            outgoing: Arc::default(),
            meter: Arc::new(Meter::new()),
            capabilities: Capabilities::default(),
            events: closer,
            closed: CancellationToken::new(),
            reason: Mutex::new(None),
            broken: AtomicBool::new(false),
        });
        let frames = FrameReader::new(reader, shared.options.frames.clone(), shared.meter.clone());
        tokio::spawn(read_task(shared.clone(), frames, sender));
        tokio::spawn(write_task(shared.clone(), writer));
        (Client { _owner: Arc::new(Owner(shared.clone())), shared }, events)
    }

    /// Sends a request. The reply is waited for by whoever holds the [`PendingReply`].
    pub fn request<P: Serialize>(&self, method: &'static str, params: &P) -> Result<PendingReply, RequestError> {
        let shared = &self.shared;
        let cancellable = !shared.options.no_cancel.iter().any(|fragile| fragile == method);
        let (id, receiver) = shared.pending.open(method, cancellable)?;
        // From here on the slot is freed by dropping the handle.
        let reply = PendingReply::new(id, receiver, shared.clone());
        let frame = message::request(id, method, params, shared.options.omit_null_params)
            .map_err(|_| RequestError::Malformed)?;
        shared.outgoing.push(frame, Some(id), Lane::Ours).map_err(|_| RequestError::QueueFull)?;
        Ok(reply)
    }

    /// Sends a notification.
    pub fn notify<P: Serialize>(&self, method: &str, params: &P) -> Result<(), RequestError> {
        if self.is_closed() {
            return Err(RequestError::Closed(self.shared.close_reason()));
        }
        let frame = message::notification(method, params, self.shared.options.omit_null_params)
            .map_err(|_| RequestError::Malformed)?;
        self.shared.outgoing.push(frame, None, Lane::Ours).map_err(|_| RequestError::QueueFull)
    }

    /// The name given at the start.
    pub fn label(&self) -> &str {
        &self.shared.options.label
    }

    /// What the server can do: filled by `initialize`, kept up to date by its registrations.
    pub fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    /// Requests that wait for a reply.
    pub fn pending(&self) -> usize {
        self.shared.pending.len()
    }

    /// Messages that wait to be written.
    pub fn queued(&self) -> usize {
        self.shared.outgoing.len()
    }

    /// When the server last wrote anything.
    pub fn last_byte_at(&self) -> Instant {
        self.shared.meter.last_byte_at()
    }

    /// The counters of the connection.
    pub fn counters(&self) -> Counters {
        self.shared.meter.snapshot()
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

    /// Whether the server has answered with the error that means a restart.
    pub fn is_broken(&self) -> bool {
        self.shared.broken.load(Relaxed)
    }

    /// Closes the connection: pending requests end, both tasks stop.
    pub fn close(&self) {
        self.shared.close(CloseReason::Ours);
    }
}

impl Shared {
    /// Why the connection closed.
    pub(super) fn close_reason(&self) -> CloseReason {
        self.reason.lock().unwrap_or(CloseReason::Internal)
    }

    /// Frees the slot of a dropped request and tells the server where that helps.
    pub(super) fn abandon(&self, id: u64) {
        if self.pending.abandon(id) == Abandoned::Cancel
            && self.outgoing.push(message::cancellation(id), None, Lane::Ours).is_ok()
        {
            count(&self.meter.cancels);
        }
    }

    fn close(&self, reason: CloseReason) {
        let reason = *self.reason.lock().get_or_insert(reason);
        self.pending.close(reason);
        self.events.close(reason);
        self.closed.cancel();
    }

    /// Completes the request `id`, if it is still wanted.
    fn complete(&self, id: u64, outcome: Result<&RawValue, &RawValue>, permit: &mut Option<FramePermit>) {
        let Some((method, sender)) = self.pending.take(id) else {
            let ours = self.pending.was_ours(id);
            count(if ours { &self.meter.late_replies } else { &self.meter.unknown_replies });
            return;
        };
        let outcome = match outcome {
            Ok(result) => Ok(Reply::new(result.to_owned(), self.events.mark(), permit.take())),
            Err(error) => Err(self.server_error(method, error)),
        };
        // The receiver may have been dropped just now.
        let _ = sender.send(outcome);
    }

    fn server_error(&self, method: &str, error: &RawValue) -> RequestError {
        let Ok(error) = serde_json::from_str::<ErrorObject<'_>>(error.get()) else { return RequestError::Malformed };
        if self.options.restart_on_error.as_deref().is_some_and(|text| error.message.contains(text)) {
            self.broken.store(true, Relaxed);
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

async fn read_task<R: AsyncRead + Unpin>(shared: Arc<Shared>, frames: FrameReader<R>, events: EventSender) {
    let _end = CloseAtEnd(shared.clone());
    let mut inbound = Inbound { shared: &shared, events };
    tokio::select! {
        biased;
        () = shared.closed.cancelled() => {}
        reason = inbound.run(frames) => {
            debug!(server = %shared.options.label, %reason, "language server connection ended");
            shared.close(reason);
        }
    }
}

async fn write_task<W: AsyncWrite + Unpin>(shared: Arc<Shared>, writer: W) {
    let _end = CloseAtEnd(shared.clone());
    let (outgoing, pending, meter) = (shared.outgoing.clone(), shared.pending.clone(), shared.meter.clone());
    tokio::select! {
        biased;
        () = shared.closed.cancelled() => {}
        error = write_frames(writer, outgoing, pending, meter) => shared.close(CloseReason::Write(error.kind())),
    }
}

/// The reader's side of a connection.
struct Inbound<'a> {
    shared: &'a Shared,
    events: EventSender,
}

impl Inbound<'_> {
    /// Reads until the stream ends; why it did.
    async fn run<R: AsyncRead + Unpin>(&mut self, mut frames: FrameReader<R>) -> CloseReason {
        loop {
            let mut frame = match frames.next().await {
                Ok(Some(frame)) => frame,
                Ok(None) => return CloseReason::EndOfOutput,
                Err(error) => {
                    self.shared.options.frames.reject(Some(error));
                    return CloseReason::Frame(error);
                }
            };
            let mut permit = frame.take_permit();
            // Text that isn't UTF-8 is a server's slip with some file: it must not cost the connection.
            let text = match std::str::from_utf8(&frame) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(&frame),
            };
            if let Err(reason) = self.take(&text, &mut permit).await {
                return reason;
            }
        }
    }

    async fn take(&mut self, text: &str, permit: &mut Option<FramePermit>) -> Result<(), CloseReason> {
        match message::parse(text) {
            Ok(Message::Response { id, outcome }) => self.shared.complete(id, outcome, permit),
            Ok(Message::Stray) => {
                count(&self.shared.meter.unknown_replies);
            }
            Ok(Message::Request { id, method, params }) => self.answer(id, &method, params).await?,
            Ok(Message::Notification { method, params }) => self.notified(&method, params).await,
            Err(_) => {
                self.shared.options.frames.reject(None);
                if count(&self.shared.meter.malformed) >= limits::MAX_MALFORMED_MESSAGES {
                    return Err(CloseReason::Malformed);
                }
            }
        }
        Ok(())
    }

    async fn answer(&mut self, id: &RawValue, method: &str, params: Option<&RawValue>) -> Result<(), CloseReason> {
        let shared = self.shared;
        let (outcome, event) = inbound::answer(shared.options.host.as_ref(), &shared.capabilities, method, params);
        let frame = message::answer(id, &outcome);
        shared.outgoing.push(frame, None, Lane::Answers).map_err(|_| CloseReason::NotReading)?;
        count(&shared.meter.answered);
        if let Some(event) = event {
            self.tell(event, method.len(), Disposable(false)).await;
        }
        Ok(())
    }

    async fn notified(&mut self, method: &str, params: Option<&RawValue>) {
        let Some(disposable) = inbound::wanted_notification(self.shared.options.host.as_ref(), method) else {
            count(&self.shared.meter.ignored_notifications);
            return;
        };
        let size = method.len() + params.map_or(0, |params| params.get().len());
        let event = Event::Notification { method: method.to_owned(), params: params.map(ToOwned::to_owned) };
        self.tell(event, size, disposable).await;
    }

    async fn tell(&mut self, event: Event, size: usize, disposable: Disposable) {
        if !self.events.send(event, size, disposable.0).await {
            count(&self.shared.meter.lost_events);
        }
    }
}
