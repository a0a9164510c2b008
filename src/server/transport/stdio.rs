//! MCP over a pair of byte streams: one message a line, answers as they come.
//!
//! Everything runs in one task, so that its end drops every call. Invariants: only MCP messages are written; a
//! cancelled request gets no answer; when the reader of our answers is slow, nothing more is read; the end of input
//! cancels what is in flight.

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

use super::dispatch::{self, Caller, Outcome};
use super::inflight::InFlight;
use super::lines::{Line, Lines};
use super::running::{Running, Step};
use super::session_timer::SessionTimer;
use crate::limits::{DRAIN_MS, MAX_STDIO_IN_FLIGHT, MAX_STDIO_QUEUED_BYTES, STDIO_FLUSH_MS};
use codeyard_gateway::elicit::Client;
use codeyard_gateway::service::{Endpoint, Principal, Service, TransportKind};
use codeyard_model::limits::Limits;
use codeyard_protocol::error::{Error, Fault};
use codeyard_protocol::id::RequestId;
use codeyard_protocol::message::{self, Message, Request};
use codeyard_protocol::names::Notice;
use codeyard_protocol::{cancelled, write};

/// Serves one client until its input ends or `shutdown`.
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
    let lines = Lines::new(reader, limits.max_request_bytes);
    serve_lines(lines, writer, service, endpoint, limits, shutdown).await
}

/// The same, over lines of which some may have been read already.
pub(super) async fn serve_lines<R, W>(
    mut lines: Lines<R>,
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
        let room = connection.out.bytes < MAX_STDIO_QUEUED_BYTES;
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return connection.drain(&mut writer).await,
            written = connection.out.write_some(&mut writer), if !connection.out.is_clean() => written?,
            Some(step) = connection.calls.next(), if room => connection.step(step),
            line = lines.next(), if room => match line? {
                Line::Text(line) => connection.line(&line),
                Line::TooLong => connection.reject(&Fault::TooLong.unnamed()),
                Line::End => break,
            },
        }
    }
    connection.cancel_all().await;
    connection.flush(&mut writer).await
}

/// A running call, and what it did.
type Stepped = (RequestId, Running, Step);

struct Connection {
    service: Arc<dyn Service>,
    endpoint: Endpoint,
    principal: Principal,
    in_flight: Arc<InFlight>,
    client: Arc<Client>,
    calls: FuturesUnordered<BoxFuture<'static, Stepped>>,
    out: Outgoing,
    cap: usize,
    _timer: SessionTimer,
}

/// Messages waiting to be written.
#[derive(Default)]
struct Outgoing {
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
            in_flight: InFlight::new(MAX_STDIO_IN_FLIGHT),
            client: Arc::default(),
            calls: FuturesUnordered::new(),
            out: Outgoing::default(),
            cap: limits.max_response_bytes,
        }
    }

    fn line(&mut self, line: &[u8]) {
        let served = match message::parse(line) {
            Ok(Message::Request(request)) => self.request(&request),
            Ok(Message::Notification(notification)) => {
                if Notice::of(&notification.method) == Notice::Cancelled
                    && let Some(id) = cancelled::request_id(notification.params)
                {
                    self.in_flight.cancel(&id);
                }
                Ok(())
            }
            Ok(Message::Response(response)) => {
                dispatch::answered(&self.client, &response);
                Ok(())
            }
            Err(error) => return self.reject(&error),
        };
        if let Err(error) = served {
            self.out.push(write::fault(&error));
        }
    }

    /// Answers a line that is no message.
    fn reject(&mut self, error: &Error) {
        self.service.metrics().rejected(error.fault.reason());
        self.out.push(write::fault(error));
    }

    fn request(&mut self, request: &Request<'_>) -> Result<(), Error> {
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
            Outcome::Ready(result) => {
                self.out.push(write::bounded(write::result(&request.id, &result), &request.id, self.cap));
            }
            Outcome::Refused(reply) => self.out.push(dispatch::reply(&request.id, &reply, self.cap)),
            Outcome::Started(running) => self.calls.push(stepping(request.id.clone(), running)),
        }
        Ok(())
    }

    fn step(&mut self, (id, running, step): Stepped) {
        match step {
            Step::Message(message) => {
                self.out.push(message);
                self.calls.push(stepping(id, running));
            }
            Step::Done(reply) => self.out.push(dispatch::reply(&id, &reply, self.cap)),
            Step::Cancelled => {}
        }
    }

    /// Lets what is in flight end, for a while, and writes the answers.
    async fn drain<W: AsyncWrite + Unpin>(mut self, writer: &mut W) -> io::Result<()> {
        self.client.close();
        let ended = async {
            while !self.calls.is_empty() {
                tokio::select! {
                    biased;
                    written = self.out.write_some(writer), if !self.out.is_clean() => written?,
                    Some(step) = self.calls.next() => self.step(step),
                }
            }
            Ok::<(), io::Error>(())
        };
        tokio::time::timeout(Duration::from_millis(DRAIN_MS), ended).await.unwrap_or(Ok(()))?;
        self.cancel_all().await;
        self.flush(writer).await
    }

    /// Cancels what is in flight. What it has left to say, such as that a question is withdrawn, is still said.
    async fn cancel_all(&mut self) {
        self.in_flight.cancel_all();
        while let Some(step) = self.calls.next().await {
            self.step(step);
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

impl Outgoing {
    fn push(&mut self, message: Vec<u8>) {
        let mut line = write::one_line(message);
        line.push(b'\n');
        self.bytes += line.len();
        self.queue.push_back(line.into());
    }

    /// Whether everything is written and flushed.
    fn is_clean(&self) -> bool {
        self.queue.is_empty() && !self.unflushed
    }

    /// Writes what the writer takes at once, or flushes. May be dropped and called again.
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

fn stepping(id: RequestId, mut running: Running) -> BoxFuture<'static, Stepped> {
    async move {
        let step = running.next().await;
        (id, running, step)
    }
    .boxed()
}
