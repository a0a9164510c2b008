//! A codeyard server in a process of its own, and a minimal HTTP client for it.
//!
//! Each client has one keep-alive connection and one request at a time. Answers stay bytes until the clock has stopped.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::corpus::{self, Corpus};
use crate::process::{self, CodeyardProcesses};
use crate::questions::BenchQuestion;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_lsp::install::{Installer, SERVERS_DIR_VARIABLE};
use codeyard_lsp::registry::Registry;
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_process::launch::Process;
use codeyard_process::sibling;
use codeyard_protocol::names::SERVER_VERSION;
use codeyard_protocol::revision::Revision;

/// The metric that counts answers by their origin.
const ANSWERS: &str = "codeyard_cache_answers_total";
/// Longest wait for the server to print its address.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Size of the read buffer in bytes.
const READ_BYTES: usize = 64 * 1024;

pub(crate) struct CodeyardServer {
    process: Arc<dyn Process>,
    address: String,
    state: PathBuf,
    _stdio: Box<dyn std::any::Any>,
}

impl CodeyardServer {
    /// Starts a server with one workspace for each of `corpora`; those of one name share a workspace. `more` is appended to the configuration, `env` to the environment.
    pub(crate) async fn start(
        corpora: &[&Corpus],
        installer: &Installer,
        folder: &Path,
        more: &str,
        env: &[(&str, String)],
    ) -> Result<Self, Failure> {
        // With a log line for each call, the measuring thread would have to read it.
        let mut text = format!("[log]\nlevel = \"warn\"\n{more}");
        let registry = Registry::builtin();
        let mut workspaces: BTreeMap<String, Vec<&Corpus>> = BTreeMap::new();
        for corpus in corpora {
            workspaces.entry(workspace(corpus)).or_default().push(corpus);
        }
        for (name, corpora) in workspaces {
            let root = toml::Value::String(corpora[0].root.display().to_string());
            let kinds: Vec<&str> = corpora.iter().map(|corpus| corpus.language.kind).collect();
            // The bare side has one language server, so the others are disabled here.
            let others = registry.servers.keys().filter(|other| !kinds.contains(&other.as_str()));
            let others = toml::Value::Array(others.cloned().map(toml::Value::String).collect());
            let kinds = toml::Value::from(kinds);
            text.push_str(&format!(
                "\n[[workspace]]\nname = \"{name}\"\nroots = [{root}]\nservers = {{ prefer = {kinds}, disable = {others} }}\n"
            ));
        }
        let config = folder.join("codeyard.toml");
        corpus::write(&config, &text)?;
        let state = folder.join("s");
        let words = ["serve", "--listen", "127.0.0.1:0", "--no-auth", "--config"];
        let mut args: Vec<OsString> = words.iter().map(OsString::from).collect();
        args.extend([config.into(), "--state-dir".into(), state.clone().into()]);
        let inherited = std::env::vars_os().filter(|(name, _)| !name.to_string_lossy().starts_with("OTEL_"));
        let mut all: Vec<(OsString, OsString)> = inherited.collect();
        all.retain(|(name, _)| name != SERVERS_DIR_VARIABLE);
        all.push((SERVERS_DIR_VARIABLE.into(), installer.servers_dir().into()));
        all.extend(env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        let own =
            sibling::own().map_err(|error| Failure::new(format!("this program's own path can't be found: {error}")))?;
        let started = process::start("codeyard", &own, args, folder, all).await?;
        let address = address(&started.process).await?;
        let stdio = Box::new((started.reader, started.writer));
        Ok(Self { process: started.process, address, state, _stdio: stdio })
    }

    /// Connects a client to a workspace with the catalog `lsp-v1`.
    pub(crate) async fn client(&self, corpus: &Corpus) -> Result<McpHttpClient, Failure> {
        self.client_of(corpus, "lsp-v1").await
    }

    /// Connects a client to a workspace with the given catalogs.
    pub(crate) async fn client_of(&self, corpus: &Corpus, catalogs: &str) -> Result<McpHttpClient, Failure> {
        self.client_at(&format!("{}/{catalogs}", workspace(corpus))).await
    }

    /// Connects a client to an endpoint: `WORKSPACE/CATALOGS` or `@GROUP/code`.
    pub(crate) async fn client_at(&self, endpoint: &str) -> Result<McpHttpClient, Failure> {
        let connected = McpHttpClient::connect(&self.address, &format!("/mcp/{endpoint}")).await;
        connected.map_err(|why| Failure::new(format!("cannot connect to codeyard: {why}")))
    }

    /// Connects several clients to a workspace.
    pub(crate) async fn clients(&self, corpus: &Corpus, count: usize) -> Result<Vec<McpHttpClient>, Failure> {
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(self.client(corpus).await?);
        }
        Ok(clients)
    }

    /// Number of answers from retained results so far, from `/metrics`.
    pub(crate) async fn retained_hits(&self) -> u64 {
        let description = metrics_text(&self.address).await.unwrap_or_default();
        let is_retained = |line: &&str| line.starts_with(ANSWERS) && line.contains("=\"retained\"");
        let counts =
            description.lines().filter(is_retained).filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        // A small whole number, so the conversion is exact.
        counts.sum::<f64>() as u64
    }

    /// The id of the process that guards the server.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.process.id()
    }

    pub(crate) fn tree(&self) -> Result<CodeyardProcesses, Failure> {
        let tree = self.process.id().and_then(CodeyardProcesses::below);
        tree.ok_or_else(|| Failure::new("codeyard exited; its processes no longer exist"))
    }

    /// The socket of the admin API.
    pub(crate) fn admin_socket(&self) -> PathBuf {
        self.state.join("run").join("admin.sock")
    }

    /// Stops the server and its language servers.
    pub(crate) async fn stop(self) {
        process::stop(&self.process).await;
    }
}

/// The workspace name of a corpus.
fn workspace(corpus: &Corpus) -> String {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let letters = corpus.name.chars().map(|letter| letter.to_ascii_lowercase());
    let letters = letters.map(|letter| if fits(letter) { letter } else { '-' });
    format!("w{}", letters.take(40).collect::<String>())
}

/// The text of `/metrics`.
async fn metrics_text(address: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

async fn address(process: &Arc<dyn Process>) -> Result<String, Failure> {
    let began = Instant::now();
    while began.elapsed() < STARTS_WITHIN {
        let actual = process.stderr_tail();
        let mut description = actual.lines().filter_map(|line| line.strip_prefix("listening http://"));
        if let Some((address, _)) = description.next().and_then(|rest| rest.split_once('/')) {
            return Ok(address.to_owned());
        }
        if process.group_is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Err(Failure::new(format!("codeyard did not start:\n{}", process.stderr_tail())))
}

async fn open(address: &str) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    Ok(stream)
}

/// An MCP client over one HTTP connection.
pub(crate) struct McpHttpClient {
    address: String,
    stream: TcpStream,
    /// The head of each request, without the content length.
    head: String,
    buffer: Vec<u8>,
    next_id: u64,
}

impl McpHttpClient {
    async fn connect(address: &str, path: &str) -> Result<Self, String> {
        let stream = open(address).await?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n"
        );
        let address = address.to_owned();
        let mut client = Self { address, stream, head, buffer: Vec::with_capacity(READ_BYTES), next_id: 0 };
        let info = json!({"name": "codeyard-bench", "version": SERVER_VERSION});
        let params =
            json!({"protocolVersion": Revision::DEFAULT.as_str(), "capabilities": {}, "clientInfo": info}).to_string();
        let (head, _) = client.post(&client.message("initialize", &params)).await?;
        let session = header(&head, "mcp-session-id").ok_or("the server sent no session id")?.to_owned();
        client.head.push_str(&format!(
            "Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {}\r\n",
            Revision::DEFAULT.as_str()
        ));
        client.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
        Ok(client)
    }

    /// Asks a question and returns the response message.
    pub(crate) async fn ask(&mut self, ask: &BenchQuestion) -> Result<Vec<u8>, String> {
        let (tool, arguments) = ask.to_tool();
        self.call(tool, &arguments).await
    }

    /// Calls a tool with arguments as JSON and returns the response message.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &str) -> Result<Vec<u8>, String> {
        self.next_id += 1;
        let message = self.message("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
        let exchanged = tokio::time::timeout(TIMEOUT, self.post(&message)).await;
        exchanged.map_err(|_| "codeyard did not answer in time".to_owned())?.map(|(_, body)| body)
    }

    /// Asks until there is an answer or an error without a retry hint. Also returns the number of retries.
    pub(crate) async fn ask_with_retry(&mut self, ask: &BenchQuestion) -> Result<(Vec<u8>, u32), String> {
        let began = Instant::now();
        let mut refusal_failure = 0;
        loop {
            let body = self.ask(ask).await?;
            let actual: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
            let Some(hint) = actual["error"]["data"]["details"]["retryAfterMs"].as_u64() else {
                return Ok((body, refusal_failure));
            };
            if began.elapsed() > TIMEOUT {
                return Err(actual["error"]["message"].to_string());
            }
            refusal_failure += 1;
            tokio::time::sleep(Duration::from_millis(hint.min(RETRY_AFTER_MS))).await;
        }
    }

    /// Searches until the index has answered.
    pub(crate) async fn until_indexed(&mut self) -> Result<(), String> {
        let began = Instant::now();
        loop {
            let body = self.call("search_code", r#"{"query":"import"}"#).await?;
            let answer: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
            let content = &answer["result"]["structuredContent"];
            if content["results"].is_array() {
                return Ok(());
            }
            let Some(wait) = content["error"]["data"]["retryAfterMs"].as_u64().filter(|_| began.elapsed() < TIMEOUT)
            else {
                return Err(content["error"]["message"].to_string());
            };
            tokio::time::sleep(Duration::from_millis(wait)).await;
        }
    }

    fn message(&self, method: &str, params: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, self.next_id)
    }

    /// Posts a message and returns the head and the body of the response. If the server has closed the connection because it was idle, a new
    /// one is opened, as every HTTP client does.
    async fn post(&mut self, message: &str) -> Result<(String, Vec<u8>), String> {
        if self.is_closed() {
            self.stream = open(&self.address).await?;
        }
        let request = format!("{}Content-Length: {}\r\n\r\n{message}", self.head, message.len());
        self.stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
        self.buffer.clear();
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            self.fill().await?;
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let length = header(&head, "content-length").and_then(|text| text.parse::<usize>().ok());
        let length = match length {
            Some(length) => length,
            None if head.starts_with("HTTP/1.1 202") => 0,
            None => return Err(format!("a response without a length: {}", head.lines().next().unwrap_or_default())),
        };
        while self.buffer.len() < end + length {
            self.fill().await?;
        }
        Ok((head, self.buffer[end..end + length].to_vec()))
    }

    /// Whether the server has closed the connection. Between two messages it sends nothing else.
    fn is_closed(&self) -> bool {
        matches!(self.stream.try_read(&mut [0]), Ok(0))
    }

    async fn fill(&mut self) -> Result<(), String> {
        self.buffer.reserve(READ_BYTES);
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(0) => Err("codeyard closed the connection".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}
