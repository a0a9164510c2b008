//! The client side of Streamable HTTP: one keep-alive connection, one request at a time.
//!
//! An `https://` server is checked against the system's authorities, or those of the file in `SSL_CERT_FILE`.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{ClientError, Stream};
use codeyard_protocol::revision::Revision;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
/// What helps if the certificate of a server is refused.
const AUTHORITIES: &str =
    "if a private authority has signed its certificate, name the file of that authority in SSL_CERT_FILE";
const NOT_JSON: &str = "the answer is not JSON; check that the URL is the endpoint of an MCP server";

pub(super) struct HttpConnection {
    authority: String,
    /// The name that the certificate of an `https://` server must have.
    tls_name: Option<ServerName<'static>>,
    /// The path with the query.
    target: String,
    bearer: Option<HeaderValue>,
    session: Option<HeaderValue>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl HttpConnection {
    /// A connection to `url`, opened by the first request. Errors are sentences.
    pub(super) fn new(url: &str, token: Option<&str>) -> Result<Self, String> {
        let wrong = || format!("`{url}` is not an endpoint; write http://127.0.0.1:3939/mcp or http://…/mcp/WORKSPACE");
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let host = uri.host().ok_or_else(wrong)?;
        let (port, tls_name) = match uri.scheme_str() {
            Some("http") => (80, None),
            Some("https") => {
                let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
                (443, Some(ServerName::try_from(name).map_err(|_| wrong())?))
            }
            _ => return Err(wrong()),
        };
        let bearer = token.map(|token| HeaderValue::from_str(&format!("Bearer {token}")));
        let mut bearer = bearer
            .transpose()
            .map_err(|_| "the token contains characters that are not allowed in a header".to_owned())?;
        if let Some(value) = &mut bearer {
            value.set_sensitive(true);
        }
        Ok(Self {
            authority: format!("{host}:{}", uri.port_u16().unwrap_or(port)),
            tls_name,
            target: target_of(&uri),
            bearer,
            session: None,
            sender: None,
        })
    }

    /// Posts a message and returns the message of the response, `null` for an empty one.
    ///
    /// # Errors
    /// [`ClientError::Unauthorized`] and [`ClientError::Connection`].
    pub(super) async fn post(&mut self, message: String, limit: usize) -> Result<Value, ClientError> {
        let response = self.send(Method::POST, message).await?;
        if let Some(session) = response.headers().get(SESSION) {
            self.session = Some(session.clone());
        }
        let status = response.status();
        let body = Limited::new(response.into_body(), limit).collect().await;
        let body = body.map_err(|error| format!("cannot read the answer: {error}"))?.to_bytes();
        if !status.is_success() {
            return Err(refusal(status, &body));
        }
        if body.is_empty() {
            return Ok(Value::Null);
        }
        Ok(serde_json::from_slice(&body).map_err(|_| NOT_JSON.to_owned())?)
    }

    /// Closes the session. Errors are ignored.
    pub(super) async fn close(mut self) {
        if self.session.is_some() {
            drop(self.send(Method::DELETE, String::new()).await);
        }
    }

    async fn send(&mut self, method: Method, body: String) -> Result<Response<hyper::body::Incoming>, String> {
        let mut request = Request::builder()
            .method(method)
            .uri(&self.target)
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer);
        }
        if let Some(session) = &self.session {
            request = request.header(SESSION, session).header(VERSION, Revision::DEFAULT.as_str());
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| error.to_string())?;
        let authority = self.authority.clone();
        let sender = self.connected().await?;
        sender.send_request(request).await.map_err(|error| format!("{authority}: {error}"))
    }

    async fn connected(&mut self) -> Result<&mut SendRequest<Full<Bytes>>, String> {
        let usable = match &mut self.sender {
            Some(sender) => sender.ready().await.is_ok(),
            None => false,
        };
        if !usable {
            self.sender = None;
        }
        let unreachable = |why: String| format!("no server at {}: {why}; `codeyard serve` starts one", self.authority);
        match &mut self.sender {
            Some(sender) => Ok(sender),
            none => {
                let stream =
                    TcpStream::connect(&self.authority).await.map_err(|error| unreachable(error.to_string()))?;
                let stream: Box<dyn Stream> = match &self.tls_name {
                    None => Box::new(stream),
                    Some(name) => {
                        let encrypted = encrypted(stream, name).await;
                        Box::new(encrypted.map_err(|error| format!("{}: {error}; {AUTHORITIES}", self.authority))?)
                    }
                };
                let made = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
                let (sender, connection) = made.map_err(|error| unreachable(error.to_string()))?;
                tokio::spawn(connection);
                Ok(none.insert(sender))
            }
        }
    }
}

/// A connection with TLS to the server of this name.
async fn encrypted(stream: TcpStream, name: &ServerName<'static>) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(io::Error::other)?.with_root_certificates(roots).with_no_client_auth();
    TlsConnector::from(Arc::new(config)).connect(name.clone(), stream).await
}

/// The path and the query of a request, which asks for both copies of a result in place of what the URL asks for.
fn target_of(uri: &Uri) -> String {
    let parts = uri.query().into_iter().flat_map(|query| query.split('&'));
    let kept = parts.filter(|part| !part.is_empty() && !part.starts_with("content="));
    let query: Vec<&str> = kept.chain(["content=both"]).collect();
    format!("{}?{}", uri.path(), query.join("&"))
}

fn refusal(status: StatusCode, body: &[u8]) -> ClientError {
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let why = message["error"]["message"].as_str().unwrap_or("no reason given");
    let advice = match status {
        StatusCode::UNAUTHORIZED => "; pass --token or set CODEYARD_TOKEN, `codeyard token add NAME` creates one",
        StatusCode::NOT_FOUND => "; `codeyard doctor` shows the workspaces of the running server",
        _ => "",
    };
    let sentence = format!("the server refused ({status}): {why}{advice}");
    if status == StatusCode::UNAUTHORIZED {
        ClientError::Unauthorized(sentence)
    } else {
        ClientError::Connection(sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_urls_are_parsed_or_refused() {
        let connection = HttpConnection::new("http://127.0.0.1:3939/mcp/a/lsp-v1", None).unwrap();
        assert_eq!(connection.authority, "127.0.0.1:3939");
        assert_eq!(connection.target, "/mcp/a/lsp-v1?content=both");
        let asked = HttpConnection::new("http://a/mcp?x=1&content=text&y", None).unwrap();
        assert_eq!(asked.target, "/mcp?x=1&y&content=both");
        assert_eq!(HttpConnection::new("http://[::1]/mcp", None).unwrap().authority, "[::1]:80");
        assert_eq!(HttpConnection::new("https://[::1]/mcp", None).unwrap().authority, "[::1]:443");
        for wrong in ["", "x", "ftp://a/mcp", "/mcp", "http://", "https://"] {
            assert!(HttpConnection::new(wrong, None).is_err(), "{wrong}");
        }
        assert!(HttpConnection::new("http://a/mcp", Some("a\nb")).is_err());
    }
}
