//! One HTTP/2 connection.
//!
//! Invariants: what bounds an HTTP/1.1 connection bounds this one too: heads in bytes, fields and time, the idle time, and the time for which
//! a client takes nothing of an answer; the requests in flight are bounded, and so are the resets and errors that a client causes; frames that
//! want a reply are read only as fast as the client takes the replies.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures::future::BoxFuture;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::Service;
use hyper::{Request, Response as HttpResponse};
use hyper_util::rt::TokioTimer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::MAX_HTTP_HEADERS;
use super::http2_activity::{ClosingReason, ConnectionActivity, PacedBody};
use super::options::ConnectionLimits;
use super::socket::HttpSocket;
use crate::limits::{MAX_HTTP_HEAD_BYTES, MAX_HTTP2_STREAMS};

/// Requests that a client has reset and that weren't handled yet. With more, the connection is closed.
const MAX_PENDING_RESETS: usize = 20;
/// Streams that were reset because of a client's errors. With more, the connection is closed.
const MAX_ERROR_RESETS: usize = 64;
/// Bytes of a request's body that a client may send before they are read.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;
/// The same, of all requests of a connection.
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;
/// Bytes of an answer that wait for the client to make room.
const SEND_BUFFER_BYTES: usize = 64 * 1024;

/// Runs the answers of one connection.
#[derive(Clone, Default)]
struct AnswerTasks(TaskTracker);

impl<F> Executor<F> for AnswerTasks
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, answer: F) {
        self.0.spawn(answer);
    }
}

/// A handler of requests, whose answers are paced.
struct PacedService<H> {
    handler: H,
    activity: Arc<ConnectionActivity>,
}

impl<H> Service<Request<Incoming>> for PacedService<H>
where
    H: Service<Request<Incoming>, Response = Response, Error = Infallible>,
    H::Future: Send + 'static,
{
    type Response = HttpResponse<PacedBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let answer = self.activity.begin();
        if request.headers().len() > MAX_HTTP_HEADERS {
            let mut refused = HttpResponse::new(PacedBody::new(Body::empty(), answer));
            *refused.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
            return Box::pin(std::future::ready(Ok(refused)));
        }
        name_host(&mut request);
        let response = self.handler.call(request);
        Box::pin(async move {
            let mut response = response.await?;
            // HTTP/2 has no such field: a stream ends by itself.
            response.headers_mut().remove(header::CONNECTION);
            Ok(response.map(|body| PacedBody::new(body, answer)))
        })
    }
}

/// Sets `Host` to what `:authority` says, where a client has sent that alone. All checks are of `Host`.
fn name_host(request: &mut Request<Incoming>) {
    let authority = request.uri().authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let (false, Some(authority)) = (request.headers().contains_key(header::HOST), authority) {
        request.headers_mut().insert(header::HOST, authority);
    }
}

/// Serves one connection to its end, or until `shutdown`; then the requests in flight are answered first.
pub(super) async fn serve_http2<S, H>(stream: S, handler: H, limits: &ConnectionLimits, shutdown: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Service<Request<Incoming>, Response = Response, Error = Infallible> + Send + 'static,
    H::Future: Send + 'static,
{
    let activity = Arc::new(ConnectionActivity::new());
    let tasks = AnswerTasks::default();
    let connection = http2::Builder::new(tasks.clone())
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_HTTP2_STREAMS)
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(MAX_ERROR_RESETS)
        // The handler refuses a head over the limit with a reason.
        .max_header_list_size(2 * MAX_HTTP_HEAD_BYTES as u32)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(SEND_BUFFER_BYTES)
        .serve_connection(HttpSocket::new(stream, limits.write), PacedService { handler, activity: activity.clone() });
    tokio::pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            // At most as long as the service waits for its connections.
            connection.await
        }
        reason = activity.must_close(limits) => {
            if reason == ClosingReason::Stalled {
                return tracing::debug!("closed a connection whose client takes no answer");
            }
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(limits.write, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended early");
    }
    tasks.0.close();
    tasks.0.wait().await;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::http::Version;
    use http_body_util::{BodyExt, Empty};
    use hyper::body::Bytes;
    use hyper::client::conn::http2::{self as client_http2, SendRequest};
    use hyper::service::service_fn;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio::task::JoinHandle;
    use tokio::time::{sleep, timeout};

    use super::*;
    use codeyard_base::clock::Instant;

    const LARGE: usize = 1_000_000;

    fn limits() -> ConnectionLimits {
        let head = Duration::from_secs(30);
        let write = Duration::from_secs(20);
        ConnectionLimits { head, write, ..ConnectionLimits::default() }
    }

    /// Serves one connection. `/large` has a large answer, `/never` none; others say the host, and how many fields there are.
    fn serve() -> (DuplexStream, JoinHandle<()>) {
        let (client, server) = tokio::io::duplex(64 * 1024);
        let handler = service_fn(async |request: Request<Incoming>| {
            assert_eq!(request.version(), Version::HTTP_2);
            let body = match request.uri().path() {
                "/large" => Body::from(vec![b'x'; LARGE]),
                "/never" => std::future::pending().await,
                _ => Body::from(format!("{:?} {}", request.headers().get("host"), request.headers().len())),
            };
            let mut response = Response::new(body);
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            Ok(response)
        });
        let handler = Boxed(handler);
        let served =
            tokio::spawn(async move { serve_http2(server, handler, &limits(), CancellationToken::new()).await });
        (client, served)
    }

    /// Names the future of a handler.
    struct Boxed<H>(H);

    impl<H> Service<Request<Incoming>> for Boxed<H>
    where
        H: Service<Request<Incoming>, Response = Response, Error = Infallible>,
        H::Future: Send + 'static,
    {
        type Response = Response;
        type Error = Infallible;
        type Future = BoxFuture<'static, Result<Response, Infallible>>;

        fn call(&self, request: Request<Incoming>) -> Self::Future {
            Box::pin(self.0.call(request))
        }
    }

    async fn connect(client: DuplexStream) -> SendRequest<Empty<Bytes>> {
        let mut builder = client_http2::Builder::new(TokioExecutor::new());
        // Small, so that an answer isn't in the buffers of the client as a whole.
        builder.initial_stream_window_size(65_535);
        let (sender, connection) = builder.handshake(TokioIo::new(client)).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    fn get(path: &str, fields: usize) -> Request<Empty<Bytes>> {
        let mut request = Request::get(format!("http://localhost:7{path}"));
        for field in 0..fields {
            request = request.header(format!("x-{field}"), "1");
        }
        request.body(Empty::new()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn requests_have_a_host_and_few_fields_and_answers_say_nothing_of_the_connection() {
        let (client, _served) = serve();
        let mut sender = connect(client).await;
        let answer = sender.send_request(get("/", 3)).await.unwrap();
        assert!(!answer.headers().contains_key(header::CONNECTION));
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "Some(\"localhost:7\") 4");
        let refused = sender.send_request(get("/", MAX_HTTP_HEADERS + 1)).await.unwrap();
        assert_eq!(refused.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_closed_and_one_with_an_open_answer_is_not() {
        let (client, served) = serve();
        let mut sender = connect(client).await;
        let open = tokio::spawn(sender.send_request(get("/never", 0)));
        sleep(limits().head * 10).await;
        assert!(!served.is_finished());
        open.abort();
        let before = Instant::now();
        served.await.unwrap();
        assert!(before.elapsed() >= limits().head && before.elapsed() < limits().head * 2);
        let (client, served) = serve();
        let silent = Instant::now();
        served.await.unwrap();
        assert!(silent.elapsed() < limits().head + limits().write * 2, "one that never sends a request is closed too");
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_of_an_answer_is_closed_and_a_slow_one_is_served() {
        let (client, served) = serve();
        let mut sender = connect(client).await;
        let mut slow = sender.send_request(get("/large", 0)).await.unwrap().into_body();
        let mut count = 0;
        while let Some(frame) = slow.frame().await {
            let part = frame.unwrap().into_data().unwrap().len();
            count += part;
            // In all six times as long as a write may be without progress.
            sleep(limits().write.mul_f64(6.0 * part as f64 / LARGE as f64)).await;
        }
        assert_eq!(count, LARGE);
        let stalled = sender.send_request(get("/large", 0)).await.unwrap();
        let before = Instant::now();
        served.await.unwrap();
        assert!(before.elapsed() < limits().write * 3, "{:?}", before.elapsed());
        assert!(stalled.into_body().collect().await.is_err());
    }

    /// A frame of HTTP/2.
    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    }

    #[tokio::test]
    async fn a_client_that_resets_its_requests_at_once_is_closed() {
        let (client, served) = serve();
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend(frame(4, 0, 0, &[]));
        for at in 0..500_u32 {
            // GET, http, `/never`, and `:authority` x, as HPACK writes them; then the reset.
            let head = [&[0x82, 0x86, 0x04, 6], &b"/never"[..], &[0x01, 1, b'x']].concat();
            bytes.extend(frame(1, 0x5, 2 * at + 1, &head));
            bytes.extend(frame(3, 0, 2 * at + 1, &8_u32.to_be_bytes()));
        }
        let (mut reader, mut writer) = tokio::io::split(client);
        let sent = tokio::spawn(async move { writer.write_all(&bytes).await.is_ok() });
        let mut answered = Vec::new();
        let read = timeout(Duration::from_secs(10), reader.read_to_end(&mut answered));
        read.await.expect("it is closed").ok();
        sent.await.ok();
        served.await.unwrap();
        // GOAWAY with the error ENHANCE_YOUR_CALM.
        let is_goodbye = |head: &[u8]| head[3] == 7 && head[13..17] == 11_u32.to_be_bytes();
        assert!(answered.windows(17).any(is_goodbye), "it says why");
    }
}
