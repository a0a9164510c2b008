//! The sections of a configuration for the whole service, with their defaults.
//!
//! `validate` checks the values. Invariant: each key's default is written once, here.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::tls::TlsSection;
use codeyard_base::words;
use codeyard_model::limits::DEFAULT_PAGE_CHARS;

/// `[server]`: the address of the service, and who may call it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSection {
    /// Address and port to listen on. Port 0 selects a free port. An address beyond loopback needs `[server.tls]` or `behind_proxy`.
    pub listen: String,
    /// Values of the `Host` header that are allowed in addition to the loopback names: `name`, or `name:port` for that port only.
    pub allowed_hosts: Vec<String>,
    /// Values of the `Origin` header that are allowed, such as `https://ide.example.org`. A call without the header is allowed.
    pub allowed_origins: Vec<String>,
    /// Require no bearer token. Only allowed while `listen` is a loopback address.
    pub no_auth: bool,
    /// The URL of the server as its clients write it, without `/mcp`: `https://code.example.org`, with a path if a proxy adds one. Needed by
    /// `[issuers]`: never taken from the `Host` of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// Networks of the proxies in front, such as `10.0.0.0/8` or `127.0.0.1`. Connections from other networks are closed, except those from
    /// loopback. The headers `Forwarded` and `X-Forwarded-For` count from these networks only.
    pub behind_proxy: Vec<String>,
    /// TLS on the listeners of this section and of `[admin]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSection>,
}

impl Default for ServerSection {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:3939".into(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            no_auth: false,
            public_url: None,
            behind_proxy: Vec::new(),
            tls: None,
        }
    }
}

impl ServerSection {
    /// The address of `listen`; `None` if it isn't one, which a checked configuration excludes.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listen.parse().ok()
    }

    /// The networks of the proxies in front. Entries that are none are left out, which a checked configuration excludes.
    pub fn proxies(&self) -> Vec<IpNet> {
        self.behind_proxy.iter().filter_map(|text| network(text)).collect()
    }

    /// Why `address` can't be listened on: it is beyond loopback, and nothing encrypts what clients send. A problem and its remedy.
    pub fn plain_beyond_loopback(&self, address: SocketAddr) -> Option<(String, &'static str)> {
        let is_plain = self.tls.is_none() && self.behind_proxy.is_empty() && !address.ip().is_loopback();
        is_plain.then(|| {
            let remedy = "set server.tls.certificate and server.tls.key, or name the networks of a proxy that ends TLS in server.behind_proxy (`--behind-proxy NETWORK`)";
            (format!("{address} is beyond loopback, where tokens and answers would be sent in plain text"), remedy)
        })
    }
}

/// `[admin]`: the admin API on TCP, in addition to the local socket of the state directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdminSection {
    /// Address and port of the admin API on TCP. It needs admin tokens (`codeyard token add --admin NAME`). Without this key, only the
    /// local socket serves the admin API. `allowed_hosts` and `allowed_origins` of `[server]` apply here too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
}

/// `[probes]`: who may read `/livez`, `/readyz` and `/metrics` of the main listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProbesSection {
    /// Networks whose clients need no token, such as `10.0.0.0/8`, `fd00::/8` or `192.0.2.7`. Requests through a proxy, and requests with
    /// a host name outside `server.allowed_hosts`, need a token (`codeyard token add --probes NAME`).
    pub networks: Vec<String>,
    /// Whether programs on this machine need no token. Set it to `false` if a proxy on this machine passes requests on without a header that
    /// shows it, such as nginx with `proxy_pass` alone: its clients look like programs on this machine.
    pub local: bool,
}

impl Default for ProbesSection {
    fn default() -> Self {
        Self { networks: Vec::new(), local: true }
    }
}

impl ProbesSection {
    /// The networks. Entries that are none are left out, which a checked configuration excludes.
    pub fn networks(&self) -> Vec<IpNet> {
        self.networks.iter().filter_map(|text| network(text)).collect()
    }
}

/// A network in CIDR notation, or one address.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    let network = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))?;
    Some(without_mapping(network).unwrap_or(network))
}

/// The IPv4 network of an IPv4-mapped IPv6 one, because the addresses of clients are compared without the mapping.
fn without_mapping(network: IpNet) -> Option<IpNet> {
    let IpNet::V6(mapped) = network else { return None };
    let prefix = mapped.prefix_len().checked_sub(96)?;
    IpNet::new(IpAddr::V4(mapped.addr().to_ipv4_mapped()?), prefix).ok()
}

words! {
    /// A revision of MCP.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum McpRevision {
        /// 2025-03-26.
        #[serde(rename = "2025-03-26")]
        V2025_03_26 => "2025-03-26",
        /// 2025-06-18.
        #[serde(rename = "2025-06-18")]
        V2025_06_18 => "2025-06-18",
        /// 2025-11-25.
        #[serde(rename = "2025-11-25")]
        V2025_11_25 => "2025-11-25",
        /// 2026-07-28, which has no sessions.
        #[serde(rename = "2026-07-28")]
        V2026_07_28 => "2026-07-28",
    }
    /// The revision's name in messages.
    fn as_str;
}

/// `[protocol]`: the revisions of MCP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProtocolSection {
    /// Revisions of MCP that endpoints with the catalog `lsp-v1` or `lsp-v1-safe` speak in addition to 2025-11-25: `2025-03-26`,
    /// `2025-06-18`, `2026-07-28`. All other endpoints speak these four.
    pub revisions: Vec<McpRevision>,
}

/// Which files are opened to get a workspace's diagnostics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sweep {
    /// None: only diagnostics that servers report by themselves.
    Off,
    /// Documents that are open for another reason.
    #[default]
    Open,
    /// Every source file once, in the background.
    All,
}

/// `[diagnostics]`: diagnostics of whole workspaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiagnosticsSection {
    /// Which files are opened to get a workspace's diagnostics: `off` none, `open` documents that are open for another reason, `all`
    /// every source file once, in the background. Servers also report diagnostics by themselves.
    pub sweep: Sweep,
}

/// When the embedded language server answers, by name only, in place of a language's own server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyntacticMode {
    /// Never.
    Off,
    /// If none of the language's servers is installed, or none is known.
    #[default]
    Fallback,
    /// Also while the language's server starts or indexes the workspace.
    WhileIndexing,
}

/// `[syntactic]`: the embedded language server, which answers by name from the code index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SyntacticSection {
    /// When it answers: `off` never, `fallback` for languages whose servers aren't installed and for what a language's server doesn't support,
    /// `while-indexing` also while a language's server starts or indexes the workspace. Its answers are marked.
    pub mode: SyntacticMode,
}

/// `[agent]`: answers of the catalog `agent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSection {
    /// The longest text of a page of the tool `lsp`, in code points: from 2000 to 40000. A call can ask for another length with `pageChars`.
    pub page_chars: usize,
}

impl Default for AgentSection {
    fn default() -> Self {
        Self { page_chars: DEFAULT_PAGE_CHARS }
    }
}

/// `[supervision]`: restarts and limits of language servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SupervisionSection {
    /// A language server stops after this many seconds without a request. 0 keeps it running.
    pub idle_stop_s: u64,
    /// Memory budget of all language servers together, in MiB. Above it, the servers that are idle longest stop first. 0 sets no budget.
    pub memory_budget_mib: u64,
    /// The most memory that one language server may use together with its child processes, in MiB, where its `memory_limit_mib` sets no other.
    /// A server that uses more is restarted. 0: three quarters of the memory of this machine or control group, at most 8192.
    pub server_memory_mib: u64,
    /// The most processes of one language server. A server that has more is ended.
    pub server_processes: u64,
    /// The most files that one process of a language server may have open.
    pub server_open_files: u64,
    /// The largest file that a language server may write, in MiB. A server that writes more is ended.
    pub server_file_mib: u64,
    /// Folders of toolchains outside of the system's folders, such as `/opt/go`. Servers of `restricted` workspaces may read them and run their
    /// programs.
    pub toolchains: Vec<PathBuf>,
    /// Language servers that start at once; further ones wait for their turn. A start includes loading the project, for at most 10 s.
    /// 0 means one per processor.
    pub max_starts: usize,
    /// How much lower than codeyard's own priority that of language servers is: their niceness, from 0 to 19.
    pub niceness: u8,
    /// A language server that makes no progress for this many seconds before it answers `initialize` is ended. Progress is output or
    /// work of its processes. With progress it may take `hang_with_progress_s`.
    pub start_timeout_s: u64,
    /// Wait before a restart, in milliseconds. The first restart of a server that was ready has no wait. Each further restart doubles it.
    pub backoff_initial_ms: u64,
    /// Longest wait before a restart, in milliseconds.
    pub backoff_max_ms: u64,
    /// More restarts than this within `restart_window_s` quarantine the server.
    pub max_restarts: u32,
    /// The period in which restarts are counted, in seconds.
    pub restart_window_s: u64,
    /// A quarantined server is started again after this many seconds.
    pub quarantine_s: u64,
    /// A server with expired requests that sends nothing and uses no processor for this many seconds counts as hung and is restarted.
    pub hang_s: u64,
    /// The same as `hang_s`, for a server that reports progress or uses a processor.
    pub hang_with_progress_s: u64,
}

impl Default for SupervisionSection {
    fn default() -> Self {
        Self {
            idle_stop_s: 900,
            memory_budget_mib: 0,
            server_memory_mib: 0,
            server_processes: 256,
            server_open_files: 65_536,
            server_file_mib: 4096,
            toolchains: Vec::new(),
            max_starts: 0,
            niceness: 5,
            start_timeout_s: 60,
            backoff_initial_ms: 500,
            backoff_max_ms: 60_000,
            max_restarts: 4,
            restart_window_s: 180,
            quarantine_s: 300,
            hang_s: 30,
            hang_with_progress_s: 600,
        }
    }
}

impl SupervisionSection {
    /// The settings that a running language server has from its start.
    pub(crate) fn children(&self) -> impl PartialEq + '_ {
        (self.server_memory_mib, self.server_processes, self.server_open_files, self.server_file_mib, &self.toolchains)
    }
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

words! {
    /// The least severe level that is logged.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum LogLevel {
        /// Failures only.
        Error => "error",
        /// Also events that may need attention.
        Warn => "warn",
        /// Also each call, starts, stops and reloads.
        #[default]
        Info => "info",
        /// Also details of connections.
        Debug => "debug",
        /// Also each message to and from a language server, without its texts.
        Trace => "trace",
    }
    /// The level's name, as a filter directive takes it.
    fn as_str;
}

/// `[log]`: log lines on standard error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogSection {
    /// Format of a line: `text` for people, `json` one object per line, `auto` text on a terminal and JSON elsewhere.
    pub format: LogFormat,
    /// The least severe level that is logged.
    pub level: LogLevel,
    /// Exceptions from the level, such as `codeyard::call=off,codeyard::engine=debug`.
    pub filter: String,
}
