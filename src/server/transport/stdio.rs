//! MCP over a pair of byte streams: one message per line, answers in the order in which they are ready.
//!
//! One task serves the whole connection, so its end drops every call. Invariants: only MCP messages are written; a cancelled request
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

use super::dispatch::{self, Caller, RequestOutcome};
use super::inflight::InFlightCalls;
use super::lines::{LineFrame, LineReader};
use super::running::{CallStep, RunningCall};
use super::session_timer::SessionTimer;
use crate::limits::{DRAIN_MS, MAX_STDIO_IN_FLIGHT, MAX_STDIO_QUEUED_BYTES, STDIO_FLUSH_MS};
use codeyard_gateway::elicit::SessionClient;
use codeyard_gateway::service::{Endpoint, Principal, Service, TransportKind};
use codeyard_model::limits::Limits;
use codeyard_protocol::error::{Fault, MessageError};
use codeyard_protocol::id::RequestId;
use codeyard_protocol::message::{self, Message, Request};
use codeyard_protocol::names::NotificationKind;
use codeyard_protocol::{cancelled, write};

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

/// A running call and its newest step.
type CallStepResult = (RequestId, RunningCall, CallStep);

struct Connection {
    service: Arc<dyn Service>,
    endpoint: Endpoint,
    principal: Principal,
    in_flight: Arc<InFlightCalls>,
    client: Arc<SessionClient>,
    calls: FuturesUnordered<BoxFuture<'static, CallStepResult>>,
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
        Self {
            _timer: SessionTimer::start(service.metrics(), TransportKind::Pipe),
            service,
            endpoint,
            principal: Principal::local(),
            in_flight: InFlightCalls::new(MAX_STDIO_IN_FLIGHT),
            client: Arc::default(),
            calls: FuturesUnordered::new(),
            out: OutgoingMessages::default(),
            cap: limits.max_response_bytes,
        }
    }

    fn handle_line(&mut self, line: &[u8]) {
        let served = match message::parse(line) {
            Ok(Message::Request(request)) => self.handle_request(&request),
            Ok(Message::Notification(notification)) => {
                if NotificationKind::of(&notification.method) == NotificationKind::Cancelled
                    && let Some(id) = cancelled::request_id(notification.params)
                {
                    self.in_flight.cancel(&id);
                }
                Ok(())
            }
            Ok(Message::Response(response)) => {
                dispatch::handle_response(&self.client, &response);
                Ok(())
            }
            Err(error) => return self.reject(&error),
        };
        if let Err(error) = served {
            self.out.push(write::fault(&error));
        }
    }

    /// Answers a line that is no valid message.
    fn reject(&mut self, error: &MessageError) {
        self.service.metrics().rejected(error.fault.reason());
        self.out.push(write::fault(error));
    }

    fn handle_request(&mut self, request: &Request<'_>) -> Result<(), MessageError> {
        let method = dispatch::method(&*self.service, TransportKind::Pipe, request)?;
        let caller = Caller {
            service: &*self.service,
            endpoint: &self.endpoint,
            principal: &self.principal,
            session: None,
            header_traceparent: None,
            header_tracestate: None,
            transport: TransportKind::Pipe,
            in_flight: &self.in_flight,
            client: Some(&self.client),
        };
        match dispatch::serve(&caller, method, request)? {
            RequestOutcome::Ready(result) => {
                self.out.push(write::bounded(write::result(&request.id, &result), &request.id, self.cap));
            }
            RequestOutcome::Rejected(reply) => self.out.push(dispatch::reply(&request.id, &reply, self.cap)),
            RequestOutcome::Started(running) => self.calls.push(next_step(request.id.clone(), running)),
        }
        Ok(())
    }

    fn handle_step(&mut self, (id, running, step): CallStepResult) {
        match step {
            CallStep::Message(message) => {
                self.out.push(message);
                self.calls.push(next_step(id, running));
            }
            CallStep::Done(reply) => self.out.push(dispatch::reply(&id, &reply, self.cap)),
            CallStep::Cancelled => {}
        }
    }

    /// Lets the calls in flight end within `DRAIN_MS`, and writes their answers.
    async fn drain<W: AsyncWrite + Unpin>(mut self, writer: &mut W) -> io::Result<()> {
        self.client.close();
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

fn next_step(id: RequestId, mut running: RunningCall) -> BoxFuture<'static, CallStepResult> {
    async move {
        let step = running.next().await;
        (id, running, step)
    }
    .boxed()
}
