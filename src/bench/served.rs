//! A codeyard that serves, as a process of its own, and the leanest HTTP client for it.
//!
//! One connection a client, kept alive, one request at a time; answers stay bytes until the clock has stopped.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::corpus::{self, Corpus};
use super::process::{self, Tree};
use super::questions::Ask;
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_lsp::install::{Installer, SERVERS_DIR_VARIABLE};
use codeyard_lsp::registry::Registry;
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_process::launch::Process;
use codeyard_process::sibling;
use codeyard_protocol::names::{REVISION, SERVER_VERSION};

/// The series that counts answers by where they came from.
const ANSWERS: &str = "codeyard_cache_answers_total";
/// Longest wait for the address.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// A serving codeyard.
pub(crate) struct Served {
    process: Arc<dyn Process>,
    address: String,
    _stdio: Box<dyn std::any::Any>,
}

impl Served {
    /// Serves `corpora`, each as a workspace of its name; `more` is added to the configuration and `env` to the environment.
    pub(crate) async fn start(
        corpora: &[&Corpus],
        installer: &Installer,
        folder: &Path,
        more: &str,
        env: &[(&str, String)],
    ) -> Result<Self, Failure> {
        // A line for each call would be read by the thread that measures.
        let mut text = format!("[log]\nlevel = \"warn\"\n{more}");
        let registry = Registry::builtin();
        for corpus in corpora {
            let (name, kind) = (workspace(corpus), corpus.language.kind);
            let root = toml::Value::String(corpus.root.display().to_string());
            // The bare side has one language server; of some repositories several could serve a part.
            let others = registry.servers.keys().filter(|other| *other != kind).cloned().map(toml::Value::String);
            let others = toml::Value::Array(others.collect());
            text.push_str(&format!(
                "\n[[workspace]]\nname = \"{name}\"\nroots = [{root}]\nservers = {{ prefer = [\"{kind}\"], disable = {others} }}\n"
            ));
        }
        let config = folder.join("codeyard.toml");
        corpus::write(&config, &text)?;
        let state = folder.join("s");
        let words = ["serve", "--listen", "127.0.0.1:0", "--no-auth", "--config"];
        let mut args: Vec<OsString> = words.iter().map(OsString::from).collect();
        args.extend([config.into(), "--state-dir".into(), state.into()]);
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
        Ok(Self { process: started.process, address, _stdio: stdio })
    }

    /// A client of a workspace.
    pub(crate) async fn client(&self, corpus: &Corpus) -> Result<Client, Failure> {
        self.client_of(corpus, "lsp-v1").await
    }

    /// A client of a workspace with these catalogs.
    pub(crate) async fn client_of(&self, corpus: &Corpus, catalogs: &str) -> Result<Client, Failure> {
        let name = workspace(corpus);
        let connected = Client::connect(&self.address, &format!("/mcp/{name}/{catalogs}")).await;
        connected.map_err(|why| Failure::new(format!("codeyard can't be asked: {why}")))
    }

    /// Clients of a workspace.
    pub(crate) async fn clients(&self, corpus: &Corpus, count: usize) -> Result<Vec<Client>, Failure> {
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(self.client(corpus).await?);
        }
        Ok(clients)
    }

    /// Answers from retained results so far, as `/metrics` tells.
    pub(crate) async fn retained_hits(&self) -> u64 {
        let told = exposition(&self.address).await.unwrap_or_default();
        let is_retained = |line: &&str| line.starts_with(ANSWERS) && line.contains("=\"retained\"");
        let counts = told.lines().filter(is_retained).filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        // A count: whole and far from the end of what fits.
        counts.sum::<f64>() as u64
    }

    /// Its processes.
    pub(crate) fn tree(&self) -> Result<Tree, Failure> {
        let tree = self.process.id().and_then(Tree::below);
        tree.ok_or_else(|| Failure::new("codeyard ended; its processes aren't there"))
    }

    /// Ends it and its language servers.
    pub(crate) async fn stop(self) {
        process::stop(&self.process).await;
    }
}

/// The workspace's name of a corpus.
fn workspace(corpus: &Corpus) -> String {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let letters = corpus.name.chars().map(|letter| letter.to_ascii_lowercase());
    let letters = letters.map(|letter| if fits(letter) { letter } else { '-' });
    format!("w{}", letters.take(40).collect::<String>())
}

/// What `/metrics` says.
async fn exposition(address: &str) -> std::io::Result<String> {
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
        let said = process.stderr_tail();
        let mut told = said.lines().filter_map(|line| line.strip_prefix("listening http://"));
        if let Some((address, _)) = told.next().and_then(|rest| rest.split_once('/')) {
            return Ok(address.to_owned());
        }
        if process.group_is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Err(Failure::new(format!("codeyard didn't start serving:\n{}", process.stderr_tail())))
}

/// A client over one connection.
pub(crate) struct Client {
    stream: TcpStream,
    /// The request's head up to the length.
    head: String,
    buffer: Vec<u8>,
    next_id: u64,
}

impl Client {
    async fn connect(address: &str, path: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n"
        );
        let mut client = Self { stream, head, buffer: Vec::with_capacity(READ_BYTES), next_id: 0 };
        let info = json!({"name": "codeyard-bench", "version": SERVER_VERSION});
        let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": info}).to_string();
        let (head, _) = client.post(&client.message("initialize", &params)).await?;
        let session = header(&head, "mcp-session-id").ok_or("no session was given")?.to_owned();
        client.head.push_str(&format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {REVISION}\r\n"));
        client.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
        Ok(client)
    }

    /// Asks: the whole response message.
    pub(crate) async fn ask(&mut self, ask: &Ask) -> Result<Vec<u8>, String> {
        let (tool, arguments) = ask.to_tool();
        self.call(tool, &arguments).await
    }

    /// Calls a tool with arguments that are JSON: the whole response message.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &str) -> Result<Vec<u8>, String> {
        self.next_id += 1;
        let message = self.message("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
        let exchanged = tokio::time::timeout(PATIENCE, self.post(&message)).await;
        exchanged.map_err(|_| "codeyard said nothing".to_owned())?.map(|(_, body)| body)
    }

    /// Asks until there is an answer, or an error that waiting doesn't mend. How often it was turned away, too.
    pub(crate) async fn ask_patiently(&mut self, ask: &Ask) -> Result<(Vec<u8>, u32), String> {
        let began = Instant::now();
        let mut refused = 0;
        loop {
            let body = self.ask(ask).await?;
            let said: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
            let Some(hint) = said["error"]["data"]["details"]["retryAfterMs"].as_u64() else {
                return Ok((body, refused));
            };
            if began.elapsed() > PATIENCE {
                return Err(said["error"]["message"].to_string());
            }
            refused += 1;
            tokio::time::sleep(Duration::from_millis(hint.min(RETRY_AFTER_MS))).await;
        }
    }

    fn message(&self, method: &str, params: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, self.next_id)
    }

    /// Head and body of the response.
    async fn post(&mut self, message: &str) -> Result<(String, Vec<u8>), String> {
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
