//! `codeyard serve`: HTTP for many clients, and the local socket that `codeyard stdio` attaches to.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::args::ServeArgs;
use super::assemble::{self, Service, chain};
use super::{Failure, logging};
use crate::auth::TokenStore;
use crate::config::Config;
use crate::engine::directory::Directory;
use crate::gateway::service::{Endpoint, Principal, Service as _};
use crate::store::LockError;
use crate::transport::attach::{self, Hello, Resolve};
use crate::transport::http::{self, HttpOptions};

/// Serves until SIGTERM, SIGINT, or an error.
pub fn run(args: ServeArgs) -> Result<(), Failure> {
    let config = assemble::load_config(&args.source)?;
    logging::install(&config.log);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("threads can't be started: {error}")))?;
    runtime.block_on(serve(args, config))
}

async fn serve(args: ServeArgs, config: Config) -> Result<(), Failure> {
    let state = assemble::open_state(args.source.state_dir.as_deref())?;
    let _lock = state.lock().map_err(|error| match error {
        LockError::Held(_) => {
            Failure::new(format!("{error}; stop it, or use another --state-dir ({} is taken)", state.path().display()))
        }
        other => Failure::new(chain(&other)),
    })?;
    let listen = args.listen.clone().unwrap_or_else(|| config.server.listen.clone());
    let no_auth = args.no_auth || config.server.no_auth;
    let address = resolve_address(&listen, no_auth).await?;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::new(format!("{address} can't be listened on: {error}; choose another with --listen ADDR:PORT"))
    })?;
    let options = http_options(&config, &state.tokens(), no_auth)?;
    let service = assemble::assemble(state, config, args.source.server.clone()).await?;
    assemble::report_failures(&service.configured)?;
    let bound = listener.local_addr().map_err(|error| Failure::new(error.to_string()))?;
    let running = Running::start(&service, listener, options)?;
    eprintln!("listening http://{bound}/mcp");
    let reload = args.source.config.clone();
    let config_roots = args.source.root.clone();
    wait_for_end(&service, reload, config_roots, &running).await;
    running.stop().await;
    service.engine.drain().await;
    Ok(())
}

/// The parts that accept clients.
pub struct Running {
    shutdown: CancellationToken,
    http: tokio::task::JoinHandle<Result<(), http::Error>>,
    attach: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Running {
    /// Starts accepting on `listener` and on the state directory's attach socket.
    pub fn start(service: &Service, listener: TcpListener, options: HttpOptions) -> Result<Self, Failure> {
        let shutdown = CancellationToken::new();
        let gateway = service.gateway.clone();
        let socket = attach::listen(&service.state.attach_socket()).map_err(|error| {
            Failure::new(format!("the attach socket can't be made: {error}; use a shorter --state-dir"))
        })?;
        let resolve = resolver(service);
        let limits = service.config.limits.clone().clamped();
        let attached = attach::serve_attach(socket, gateway.clone(), resolve, limits, shutdown.clone());
        let http = http::serve(listener, gateway, options, shutdown.clone());
        Ok(Self { http: tokio::spawn(http), attach: tokio::spawn(attached), shutdown })
    }

    /// Stops accepting, and lets what is in flight end.
    pub async fn stop(self) {
        self.shutdown.cancel();
        for ended in [self.http.await.map(|done| done.is_ok()), self.attach.await.map(|done| done.is_ok())] {
            if !matches!(ended, Ok(true)) {
                tracing::warn!("a listener ended with an error");
            }
        }
    }
}

/// How HTTP is served under `config`. Makes the first token where there is none, and shows it once.
pub fn http_options(config: &Config, tokens: &std::path::Path, no_auth: bool) -> Result<HttpOptions, Failure> {
    let auth = if no_auth {
        None
    } else {
        let (store, made) = TokenStore::open_or_create(tokens).map_err(|error| Failure::new(error.to_string()))?;
        if let Some(token) = made {
            eprintln!("token {} (shown once; make another with `codeyard token add NAME`)", token.reveal());
        }
        Some(Arc::new(store))
    };
    let mut options = HttpOptions::new(auth);
    for host in &config.server.allowed_hosts {
        if !options.allowed_hosts.allow(host) {
            return Err(Failure::new(format!("server.allowed_hosts: `{host}` is no host; write name or name:port")));
        }
    }
    for origin in &config.server.allowed_origins {
        options.allowed_origins.allow(origin);
    }
    options.limits = config.limits.clone().clamped();
    Ok(options)
}

async fn resolve_address(listen: &str, no_auth: bool) -> Result<SocketAddr, Failure> {
    let mut found = tokio::net::lookup_host(listen).await.map_err(|error| {
        Failure::new(format!("`{listen}` is no address to listen on: {error}; write ADDR:PORT, such as 127.0.0.1:3939"))
    })?;
    let address = found.next().ok_or_else(|| Failure::new(format!("`{listen}` has no address")))?;
    if no_auth && !address.ip().is_loopback() {
        return Err(Failure::new(format!(
            "without tokens only loopback may be listened on, and {address} isn't: drop --no-auth, or listen on 127.0.0.1"
        )));
    }
    Ok(address)
}

/// Finds the workspace that an attaching `codeyard stdio` means: by name, or by a root it covers.
fn resolver(service: &Service) -> Resolve {
    let (gateway, directory) = (service.gateway.clone(), service.engine.directory());
    Arc::new(move |hello: &Hello| -> Option<Endpoint> {
        let workspace = match (&hello.workspace, hello.roots.as_slice()) {
            (Some(name), _) => Some(name.clone()),
            (None, []) => None,
            (None, roots) => Some(covering(&directory, roots)?),
        };
        gateway.endpoint(&Principal::local(), workspace.as_deref(), hello.catalogs.as_deref())
    })
}

/// The workspace whose roots are exactly the wanted ones.
fn covering(directory: &Directory, wanted: &[PathBuf]) -> Option<String> {
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

/// Until a signal says to stop. SIGHUP reloads the configuration.
async fn wait_for_end(service: &Service, file: Option<PathBuf>, roots: Vec<PathBuf>, running: &Running) {
    let (Ok(mut term), Ok(mut int), Ok(mut hup)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()), signal(SignalKind::hangup()))
    else {
        tracing::error!("signals can't be received");
        return;
    };
    loop {
        tokio::select! {
            _ = term.recv() => return,
            _ = int.recv() => return,
            () = running.shutdown.cancelled() => return,
            _ = hup.recv() => reload(service, file.as_deref(), &roots).await,
        }
    }
}

async fn reload(service: &Service, file: Option<&std::path::Path>, roots: &[PathBuf]) {
    let Some(file) = file else {
        tracing::warn!(roots = roots.len(), "nothing to reload: the service was started without a configuration file");
        return;
    };
    match assemble::read_config(file) {
        Err(failure) => {
            tracing::error!(error = %failure.message, "the configuration was not reloaded; the old one stays")
        }
        Ok(config) => {
            for key in crate::config::needs_restart(&service.config, &config) {
                tracing::warn!(key, "this change takes effect when codeyard is started again");
            }
            match service.engine.configure(config).await {
                Ok(done) => tracing::info!(
                    started = done.started.len(),
                    removed = done.removed.len(),
                    retuned = done.retuned.len(),
                    failed = done.failed.len(),
                    "configuration reloaded"
                ),
                Err(error) => tracing::error!(error = %error, "the configuration was not reloaded; the old one stays"),
            }
        }
    }
}
