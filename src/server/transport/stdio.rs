//! MCP over a pair of byte streams: one message per line, answers in the order in which they are ready.
//!
//! One task serves the whole connection, so its end drops every call. `initialize` sets the revision of the connection's session; requests
//! of the stateless revision name their own. Invariants: only MCP messages are written; a cancelled request
//! gets no answer; while `MAX_STDIO_QUEUED_BYTES` of answers wait for a slow client, nothing is read; the end of input cancels the
//! calls in flight.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures::StreamExt;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::dispatch::{self, Caller};
use super::inflight::InFlightCalls;
use super::lines::{LineFrame, LineReader};
use super::pending::{AnswerForm, AnswerStep, Answered, PendingAnswer, PendingBatch};
use super::session_timer::SessionTimer;
use super::stateless;
use crate::limits::{DRAIN_MS, MAX_STDIO_IN_FLIGHT, MAX_STDIO_QUEUED_BYTES, MAX_STDIO_SUBSCRIPTIONS};
use codeyard_gateway::elicit::SessionClient;
use codeyard_gateway::service::{Endpoint, Principal, Service, ToolReply, TransportKind};
use codeyard_model::limits::Limits;
use codeyard_protocol::error::{Fault, MessageError};
use codeyard_protocol::id::RequestId;
use codeyard_protocol::message::{self, Message, Request};
use codeyard_protocol::names::{Method, NotificationKind};
use codeyard_protocol::revision::Revision;
use codeyard_protocol::{cancelled, write};

/// Time to write the remaining answers at the end of a stdio connection, in milliseconds.
const STDIO_FLUSH_MS: u64 = 2_000;

/// Serves one client until its input ends, or until `shutdown`.
///
/// # Errors
/// Those of the two streams.
pub async fn serve_stdio<R, W>(
    reader: R,
    writer: W,
    service: Arc<dyn Service>,
    endpoint: Endpoint,
    limits: &Limits,
    shutdown: CancellationToken,
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let lines = LineReader::new(reader, limits.max_request_bytes);
    serve_lines(lines, writer, service, endpoint, limits, shutdown).await
}

/// Like [`serve_stdio`], for a reader that may have been used for a handshake before.
pub(super) async fn serve_lines<R, W>(
    mut lines: LineReader<R>,
    mut writer: W,
    service: Arc<dyn Service>,
    endpoint: Endpoint,
    limits: &Limits,
    shutdown: CancellationToken,
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut connection = Connection::new(service, endpoint, limits);
    loop {
        let has_room = connection.out.bytes < MAX_STDIO_QUEUED_BYTES;
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return connection.drain(&mut writer).await,
            written = connection.out.write_some(&mut writer), if !connection.out.is_clean() => written?,
            Some(step) = connection.calls.next(), if has_room => connection.handle_step(step),
            line = lines.next(), if has_room => match line? {
                LineFrame::Text(line) => connection.handle_line(&line),
                LineFrame::TooLong => connection.reject(&Fault::TooLong.unnamed()),
                LineFrame::End => break,
            },
        }
    }
    connection.cancel_all().await;
    connection.flush(&mut writer).await
}

/// An answer that is being worked on, and its newest step.
type AnswerProgress = (PendingAnswer, AnswerStep);

struct Connection {
    service: Arc<dyn Service>,
    endpoint: Endpoint,
    principal: Principal,
    in_flight: Arc<InFlightCalls>,
    client: Arc<SessionClient>,
    /// The revision that `initialize` negotiated, or the default.
    revision: Revision,
    /// Whether there was an `initialize`.
    has_session: bool,
    /// The ids of the open subscriptions.
    subscriptions: Vec<RequestId>,
    calls: FuturesUnordered<BoxFuture<'static, AnswerProgress>>,
    out: OutgoingMessages,
    cap: usize,
    _timer: SessionTimer,
}

/// Messages that wait to be written.
#[derive(Default)]
struct OutgoingMessages {
    queue: VecDeque<Bytes>,
    bytes: usize,
    unflushed: bool,
}

impl Connection {
    fn new(service: Arc<dyn Service>, endpoint: Endpoint, limits: &Limits) -> Self {
        let tenant = endpoint.tenant.clone();
        Self {
            _timer: SessionTimer::start(service.metrics(), TransportKind::Pipe),
            service,
            endpoint,
            principal: Principal::local_in(tenant),
            in_flight: InFlightCalls::new(MAX_STDIO_IN_FLIGHT),
            client: Arc::default(),
            revision: Revision::DEFAULT,
            has_session: false,
            subscriptions: Vec::new(),
            calls: FuturesUnordered::new(),
            out: OutgoingMessages::default(),
            cap: limits.max_response_bytes,
        }
    }

    fn handle_line(&mut self, line: &[u8]) {
        match message::parse(line) {
            Ok(message) => match self.handle_message(message) {
                Ok(Some(Answered::Now(answer))) => self.out.push(answer.message),
                Ok(Some(Answered::Later(reply))) => self.calls.push(next_step(PendingAnswer::Call(reply))),
                Ok(None) => {}
                Err(error) => self.out.push(write::fault(&error)),
            },
            Err(error) if error.fault == Fault::Batch && self.revision.has_batches() => self.handle_batch(line),
            Err(error) => self.reject(&error),
        }
    }

    /// Handles an array of messages as if each came alone; its answers are one array.
    fn handle_batch(&mut self, line: &[u8]) {
        let messages = match message::parse_batch(line) {
            Ok(messages) => messages,
            Err(error) => return self.reject(&error),
        };
        let spoken = self.service.revisions(&self.endpoint);
        let batch = PendingBatch::handle(messages, self.form(self.revision), |message| match message {
            Message::Request(request) if request.method == Method::Initialize.as_str() => {
                Err(Fault::BatchedInitialize.of(&request.id))
            }
            Message::Request(request) if stateless::applies(&request, spoken, true) => {
                Err(Fault::Batch.of(&request.id))
            }
            message => self.handle_message(message),
        });
        if !batch.is_empty() {
            self.calls.push(next_step(PendingAnswer::Batch(batch)));
        }
    }

    fn handle_message(&mut self, message: Message<'_>) -> Result<Option<Answered>, MessageError> {
        match message {
            Message::Request(request) => self.handle_request(&request).map(Some),
            Message::Notification(notification) => {
                if NotificationKind::of(&notification.method) == NotificationKind::Cancelled
                    && let Some(id) = cancelled::request_id(notification.params)
                {
                    self.in_flight.cancel(&id);
                    self.subscriptions.retain(|open| *open != id);
                }
                Ok(None)
            }
            Message::Response(response) => {
                dispatch::handle_response(&self.client, &response);
                Ok(None)
            }
        }
    }

    /// Answers a line that is no valid message.
    fn reject(&mut self, error: &MessageError) {
        self.service.metrics().rejected(error.fault.reason());
        self.out.push(write::fault(error));
    }

    fn form(&self, revision: Revision) -> AnswerForm {
        AnswerForm { revision, cap: self.cap }
    }

    fn handle_request(&mut self, request: &Request<'_>) -> Result<Answered, MessageError> {
        let spoken = self.service.revisions(&self.endpoint);
        let (meta, revision) = match stateless::applies(request, spoken, self.has_session) {
            true => match stateless::check(request, spoken) {
                Ok((meta, revision)) => (Some(meta), revision),
                Err(rejection) => {
                    self.service.metrics().rejected(rejection.reason);
                    return Ok(Answered::Now(rejection.message.into()));
                }
            },
            false => (None, self.revision),
        };
        let method = dispatch::method(&*self.service, TransportKind::Pipe, request, revision)?;
        match method {
            Method::Initialize => return self.initialize(request),
            Method::Listen => return self.subscribe(request),
            _ => {}
        }
        let caller = Caller {
            service: &*self.service,
            endpoint: &self.endpoint,
            principal: &self.principal,
            session: None,
            header_traceparent: None,
            header_tracestate: None,
            transport: TransportKind::Pipe,
            peer: None,
            in_flight: &self.in_flight,
            // The stateless revision has no requests of the server.
            client: Some(&self.client).filter(|_| meta.is_none()),
            revision,
            meta: meta.as_ref(),
        };
        dispatch::serve(&caller, method, request, self.form(revision))
    }

    fn initialize(&mut self, request: &Request<'_>) -> Result<Answered, MessageError> {
        let service = &*self.service;
        let transport = TransportKind::Pipe;
        let (revision, result) = dispatch::initialize(service, &self.endpoint, transport, request, &self.client)?;
        (self.revision, self.has_session) = (revision, true);
        Ok(Answered::Now(dispatch::result(&request.id, &result, self.cap)))
    }

    /// Opens a subscription and returns its first message. None of the notifications is ever sent, so there is no other until it ends.
    fn subscribe(&mut self, request: &Request<'_>) -> Result<Answered, MessageError> {
        dispatch::check_listen(&*self.service, TransportKind::Pipe, request)?;
        if self.subscriptions.len() >= MAX_STDIO_SUBSCRIPTIONS {
            self.service.metrics().shed("subscription");
            let reply = dispatch::reply(&request.id, &ToolReply::overloaded(), self.form(self.revision));
            return Ok(Answered::Now(reply));
        }
        self.subscriptions.push(request.id.clone());
        Ok(Answered::Now(codeyard_protocol::stateless::acknowledgement(&request.id).into()))
    }

    fn handle_step(&mut self, progress: AnswerProgress) {
        let (pending, step) = progress;
        match step {
            AnswerStep::Message(message) => {
                self.out.push(message);
                self.calls.push(next_step(pending));
            }
            AnswerStep::Done(answer) => self.out.push(answer.message),
            AnswerStep::Cancelled => {}
        }
    }

    /// Lets the calls in flight end within `DRAIN_MS`, and writes their answers.
    async fn drain<W: AsyncWrite + Unpin>(mut self, writer: &mut W) -> io::Result<()> {
        self.client.close();
        for id in std::mem::take(&mut self.subscriptions) {
            self.out.push(write::result(&id, &codeyard_protocol::stateless::subscription_end(&id)));
        }
        let ended = async {
            while !self.calls.is_empty() {
                tokio::select! {
                    biased;
                    written = self.out.write_some(writer), if !self.out.is_clean() => written?,
                    Some(step) = self.calls.next() => self.handle_step(step),
                }
            }
            Ok::<(), io::Error>(())
        };
        tokio::time::timeout(Duration::from_millis(DRAIN_MS), ended).await.unwrap_or(Ok(()))?;
        self.cancel_all().await;
        self.flush(writer).await
    }

    /// Cancels the calls in flight. Messages that this causes, such as the withdrawal of a prompt, are still queued.
    async fn cancel_all(&mut self) {
        self.in_flight.cancel_all();
        while let Some(step) = self.calls.next().await {
            self.handle_step(step);
        }
    }

    async fn flush<W: AsyncWrite + Unpin>(mut self, writer: &mut W) -> io::Result<()> {
        let written = async {
            while !self.out.is_clean() {
                self.out.write_some(writer).await?;
            }
            Ok(())
        };
        tokio::time::timeout(Duration::from_millis(STDIO_FLUSH_MS), written).await.unwrap_or(Ok(()))
    }
}

impl OutgoingMessages {
    fn push(&mut self, message: Vec<u8>) {
        let mut line = write::one_line(message);
        line.push(b'\n');
        self.bytes += line.len();
        self.queue.push_back(line.into());
    }

    /// Whether all messages are written and flushed.
    fn is_clean(&self) -> bool {
        self.queue.is_empty() && !self.unflushed
    }

    /// Writes as much as the writer accepts at once, or flushes. Cancel-safe.
    async fn write_some<W: AsyncWrite + Unpin>(&mut self, writer: &mut W) -> io::Result<()> {
        let Some(front) = self.queue.front_mut() else {
            writer.flush().await?;
            self.unflushed = false;
            return Ok(());
        };
        let written = writer.write(front).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        front.advance(written);
        self.bytes -= written;
        self.unflushed = true;
        if front.is_empty() {
            self.queue.pop_front();
        }
        Ok(())
    }
}

fn next_step(mut pending: PendingAnswer) -> BoxFuture<'static, AnswerProgress> {
    async move {
        let step = pending.next().await;
        (pending, step)
    }
    .boxed()
}
