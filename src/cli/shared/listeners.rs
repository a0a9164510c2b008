//! The listeners of a serving process: HTTP for MCP clients, the local socket that `codeyard stdio` attaches to, and the admin API.
//! Also what must be ready before they open: the lock of the state directory, the address, the tokens.
//!
//! Invariants: the sockets exist only while the lock of the state directory is held; without tokens only a loopback address is bound.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::Failure;
use crate::shared::admin_listener::{AdminListeners, AdminTcpListener, service_probes};
use crate::shared::assemble::{self, AssembledService, error_chain};
use crate::shared::first_token::open_tokens;
use codeyard_config::{Config, ServerSection, TlsSection};
use codeyard_engine::supervisor::directory::Directory;
use codeyard_gateway::service::{Endpoint, Principal, Service as _};
use codeyard_server::proxies::TrustedProxies;
use codeyard_server::tls::{CertificateCallers, CertificateFiles, ServerTls};
use codeyard_server::transport::attach::{self, Hello, ResolveEndpoint};
use codeyard_server::transport::http::probes::{ProbeAccess, Probes};
use codeyard_server::transport::http::{self, HttpOptions};
use codeyard_state::{ServeLock, ServeLockError, StateDir, TokenAudience, TokenStore};
use codeyard_telemetry::Observers;

/// Longest time that a stopping process waits for the tasks of a listener, in milliseconds.
const LISTENER_END_MS: u64 = 4_000;

/// Locks the state directory for this process. The failure names the process that holds the lock.
pub(crate) fn lock(state: &StateDir) -> Result<ServeLock, Failure> {
    state.lock().map_err(|error| match error {
        ServeLockError::Held(_) => Failure::new(format!(
            "{error}; `codeyard doctor` shows it: stop it, or use another --state-dir ({} is in use)",
            state.path().display()
        )),
        other => Failure::new(error_chain(&other)),
    })
}

/// The open listeners and their tasks.
pub(crate) struct Listeners {
    /// The MCP endpoint of the default workspace.
    pub url: String,
    shutdown: CancellationToken,
    http: tokio::task::JoinHandle<Result<(), http::HttpServerError>>,
    attach: tokio::task::JoinHandle<std::io::Result<()>>,
    admin: AdminListeners,
    tls: Option<Arc<ServerTls>>,
}

impl Listeners {
    /// Accepts clients on `listener` and on the sockets of the state directory, and operators on `admin` if there is one.
    pub(crate) fn start(
        service: &Arc<AssembledService>,
        listener: TcpListener,
        mut options: HttpOptions,
        admin: Option<AdminTcpListener>,
    ) -> Result<Self, Failure> {
        let bound = listener.local_addr().map_err(|error| Failure::new(error.to_string()))?;
        let url = format!("{}://{bound}/mcp", scheme(&options));
        let shutdown = CancellationToken::new();
        let tls = options.tls.clone();
        if let Some(tls) = &tls {
            tls.register_with(&Observers::new(&service.pipeline.meter()));
            tokio::spawn(shutdown.clone().run_until_cancelled_owned(tls.clone().follow()));
        }
        let gateway = service.gateway.clone();
        let bind = |path: PathBuf| {
            attach::listen(&path).map_err(|error| {
                Failure::new(format!("cannot create the socket {}: {error}; use a shorter --state-dir", path.display()))
            })
        };
        let attach_socket = bind(service.state.attach_socket())?;
        let admin_socket = bind(service.state.admin_socket())?;
        options.probes = Some(Probes { access: probe_access(service, &options)?, ..service_probes(service) });
        options.audit.clone_from(&service.audit);
        options.sign_on = service.sign_on.clone();
        let resolve = endpoint_resolver(service);
        let limits = service.config.limits.clone().clamped();
        let attached = attach::serve_attach(attach_socket, gateway.clone(), resolve, limits, shutdown.clone());
        let http = http::serve(listener, gateway, options, shutdown.clone());
        let admin = AdminListeners::start(service, admin_socket, admin, &url);
        Ok(Self { url, http: tokio::spawn(http), attach: tokio::spawn(attached), admin, tls, shutdown })
    }

    /// Applies the callers of a configuration that was read again, and reads the certificate's files. Blocks.
    pub(crate) fn reload_tls(&self, config: &Config) {
        if let Some((tls, section)) = self.tls.as_ref().zip(config.server.tls.as_ref()) {
            tls.set_callers(CertificateCallers::new(&section.callers));
            tls.reload();
        }
    }

    /// Waits until the listeners were stopped.
    pub(crate) async fn stopped(&self) {
        self.shutdown.cancelled().await;
    }

    /// Stops accepting, lets calls in flight finish, stops the language servers and the actors. The admin API answers until then;
    /// the sockets are removed last. The caller still holds the lock of the state directory.
    pub(crate) async fn shut_down(self, service: Arc<AssembledService>) {
        self.shutdown.cancel();
        // Connections on a thread that is stuck never end.
        let limit = Duration::from_millis(LISTENER_END_MS);
        let http = async { timeout(limit, self.http).await.is_ok_and(|done| matches!(done, Ok(Ok(())))) };
        let attach = async { timeout(limit, self.attach).await.is_ok_and(|done| matches!(done, Ok(Ok(())))) };
        if !matches!(tokio::join!(http, attach), (true, true)) {
            tracing::warn!("a listener ended with an error or not in time");
        }
        let sockets = [service.state.attach_socket(), service.state.admin_socket()];
        match Arc::try_unwrap(service) {
            Ok(service) => service.shut_down().await,
            // The tasks of the listeners have ended, and nothing else holds a reference.
            Err(_) => tracing::warn!("the service is still referenced at shutdown"),
        }
        if timeout(limit, self.admin.stop()).await.is_err() {
            tracing::warn!("the admin API did not end in time");
        }
        // This process still holds the lock, so no other process has bound these paths.
        for socket in sockets {
            drop(std::fs::remove_file(socket));
        }
    }
}

/// Who may read the probes: programs on this machine, the networks of the configuration, and holders of a token.
fn probe_access(service: &AssembledService, options: &HttpOptions) -> Result<ProbeAccess, Failure> {
    let tokens = TokenStore::open(assemble::open_store(&service.state)?, TokenAudience::Probes);
    let tokens = tokens.map_err(|error| Failure::new(error.to_string()))?;
    Ok(ProbeAccess {
        local: service.config.probes.local,
        networks: service.config.probes.networks(),
        hosts: options.allowed_hosts.clone(),
        tokens: Some(Arc::new(tokens)),
    })
}

/// The HTTP options for `config`. Creates the first token if there never was one, and hands it out.
pub(crate) fn http_options(config: &Config, state: &StateDir, no_auth: bool) -> Result<HttpOptions, Failure> {
    let auth = if no_auth { None } else { Some(Arc::new(open_tokens(state, TokenAudience::Mcp)?)) };
    let mut options = HttpOptions::new(auth);
    for host in &config.server.allowed_hosts {
        if !options.allowed_hosts.allow(host) {
            return Err(Failure::new(format!(
                "server.allowed_hosts: `{host}` is not a host name; write name or name:port"
            )));
        }
    }
    for origin in &config.server.allowed_origins {
        options.allowed_origins.allow(origin);
    }
    options.limits = config.limits.clone().clamped();
    options.tls = config.server.tls.as_ref().map(open_tls).transpose()?;
    options.proxies = Arc::new(TrustedProxies::new(config.server.proxies()));
    Ok(options)
}

/// The scheme of the URLs of the listeners.
pub(crate) fn scheme(options: &HttpOptions) -> &'static str {
    if options.tls.is_some() { "https" } else { "http" }
}

/// The TLS of a section. Blocks.
fn open_tls(section: &TlsSection) -> Result<Arc<ServerTls>, Failure> {
    let callers = CertificateCallers::new(&section.callers);
    let opened = ServerTls::open(certificate_files(section), callers);
    opened.map_err(|error| Failure::new(format!("server.tls: {error}")))
}

/// The files of a section.
pub(crate) fn certificate_files(section: &TlsSection) -> CertificateFiles {
    let TlsSection { certificate, key, client_ca, .. } = section.clone();
    CertificateFiles { certificate, key, client_ca }
}

/// Resolves `ADDR:PORT`. With `no_auth` the address must be a loopback address, and without TLS and proxies too.
pub(crate) async fn resolve_address(
    listen: &str,
    server: &ServerSection,
    no_auth: bool,
) -> Result<SocketAddr, Failure> {
    let mut found = tokio::net::lookup_host(listen).await.map_err(|error| {
        Failure::new(format!("cannot listen on `{listen}`: {error}; write ADDR:PORT, such as 127.0.0.1:3939"))
    })?;
    let address =
        found.next().ok_or_else(|| Failure::new(format!("`{listen}` resolves to no address; write ADDR:PORT")))?;
    if no_auth && !address.ip().is_loopback() {
        return Err(Failure::new(format!(
            "{address} is not a loopback address, and without tokens only loopback is allowed: drop --no-auth, or listen on 127.0.0.1"
        )));
    }
    match server.plain_beyond_loopback(address) {
        Some((problem, remedy)) => Err(Failure::new(format!("{problem}: {remedy}, or listen on 127.0.0.1"))),
        None => Ok(address),
    }
}

/// Finds the endpoint for an attaching `codeyard stdio`: by workspace name, or by roots.
fn endpoint_resolver(service: &Arc<AssembledService>) -> ResolveEndpoint {
    let gateway = service.gateway.clone();
    let directory = service.engine.directory();
    Arc::new(move |hello: &Hello| -> Option<Endpoint> {
        let workspace = match (&hello.workspace, hello.roots.as_slice()) {
            (Some(name), _) => Some(name.clone()),
            (None, []) => None,
            (None, roots) => Some(workspace_with_roots(&directory, roots)?),
        };
        let (caller, name) = Principal::local_for(workspace.as_deref());
        let mut endpoint = gateway.endpoint(&caller, name, hello.catalogs.as_deref())?;
        endpoint.content = hello.content.unwrap_or(endpoint.content);
        Some(endpoint)
    })
}

/// The workspace whose roots are exactly `wanted`, in any order.
fn workspace_with_roots(directory: &Directory, wanted: &[PathBuf]) -> Option<String> {
    let mut real: Vec<PathBuf> = wanted.iter().map(|path| path.canonicalize().ok()).collect::<Option<_>>()?;
    real.sort();
    real.dedup();
    let same = |roots: &[PathBuf]| {
        let mut roots = roots.to_vec();
        roots.sort();
        roots == real
    };
    let all = directory.all();
    all.iter().find(|handle| same(handle.gate.root_set().roots())).map(|handle| handle.name.to_string())
}
