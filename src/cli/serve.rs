//! `codeyard serve`: HTTP for many clients, and the local socket that `codeyard stdio` attaches to.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::args::ServeArgs;
use super::assemble::{self, Service, chain};
use super::operate::{self, Door, Operating};
use super::signals::{Signal, Signals, outlive_file_limits};
use super::{Failure, logging, output};
use codeyard_config::Config;
use codeyard_engine::directory::Directory;
use codeyard_gateway::service::{Endpoint, Principal, Service as _};
use codeyard_server::transport::attach::{self, Hello, Resolve};
use codeyard_server::transport::http::{self, HttpOptions};
use codeyard_state::auth::{Error, TokenStore};
use codeyard_state::store::{LockError, ServeLock, StateDir};

/// Serves until SIGTERM, SIGINT, or an error.
pub(crate) fn run(args: ServeArgs) -> Result<(), Failure> {
    let mut config = assemble::load_config(&args.source)?;
    config.warmset.enabled &= !args.no_prewarm;
    let _flush = logging::install(&config.log);
    outlive_file_limits()?;
    super::runtime()?.block_on(serve(args, config))
}

async fn serve(args: ServeArgs, config: Config) -> Result<(), Failure> {
    // From here on a signal waits until it is looked at, so that one that comes early isn't lost.
    let mut signals = Signals::new()?;
    let state = assemble::open_state(args.source.state_dir.as_deref())?;
    let _lock = lock(&state)?;
    let listen = args.listen.clone().unwrap_or_else(|| config.server.listen.clone());
    let no_auth = args.no_auth || config.server.no_auth;
    let address = resolve_address(&listen, no_auth).await?;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::new(format!("{address} can't be listened on: {error}; choose another with --listen ADDR:PORT"))
    })?;
    let options = http_options(&config, &state.tokens(), no_auth)?;
    let door = operate::door(&config, &state, &options).await?;
    let service = assemble::assemble(state, config, args.source.server.clone()).await?;
    assemble::report_failures(&service.configured)?;
    let service = Arc::new(service);
    let running = Running::start(&service, listener, options, door)?;
    output::complain(format_args!("listening {}", running.url));
    let mut in_force = service.config.clone();
    while signals.next(&running).await == Signal::Reload {
        reload(&service, &args, &mut in_force).await;
    }
    running.end(service).await;
    Ok(())
}

/// Claims the state directory, or says who has it.
pub(crate) fn lock(state: &StateDir) -> Result<ServeLock, Failure> {
    state.lock().map_err(|error| match error {
        LockError::Held(_) => Failure::new(format!(
            "{error}; `codeyard doctor` shows it: stop it, or use another --state-dir ({} is taken)",
            state.path().display()
        )),
        other => Failure::new(chain(&other)),
    })
}

/// The parts that accept clients.
pub(crate) struct Running {
    /// The endpoint of the default workspace.
    pub url: String,
    shutdown: CancellationToken,
    http: tokio::task::JoinHandle<Result<(), http::Error>>,
    attach: tokio::task::JoinHandle<std::io::Result<()>>,
    operating: Operating,
}

impl Running {
    /// Starts accepting on `listener`, on the state directory's sockets, and operators at the door.
    pub(crate) fn start(
        service: &Arc<Service>,
        listener: TcpListener,
        mut options: HttpOptions,
        door: Option<Door>,
    ) -> Result<Self, Failure> {
        let bound = listener.local_addr().map_err(|error| Failure::new(error.to_string()))?;
        let url = format!("http://{bound}/mcp");
        let shutdown = CancellationToken::new();
        let gateway = service.gateway.clone();
        let bind = |path: PathBuf| {
            attach::listen(&path).map_err(|error| {
                Failure::new(format!("{} can't be made: {error}; use a shorter --state-dir", path.display()))
            })
        };
        let (socket, admin) = (bind(service.state.attach_socket())?, bind(service.state.admin_socket())?);
        options.probes = Some(operate::probes_of(service));
        let resolve = resolver(service);
        let limits = service.config.limits.clone().clamped();
        let attached = attach::serve_attach(socket, gateway.clone(), resolve, limits, shutdown.clone());
        let http = http::serve(listener, gateway, options, shutdown.clone());
        let operating = Operating::start(service, admin, door, &url);
        let (http, attach) = (tokio::spawn(http), tokio::spawn(attached));
        Ok(Self { url, http, attach, operating, shutdown })
    }

    /// Ends when it was stopped.
    pub(crate) async fn stopped(&self) {
        self.shutdown.cancelled().await;
    }

    /// Stops accepting, lets what is in flight end, stops the language servers and the actors. Operators may look on to the
    /// end; then the sockets are taken away. The caller still holds the lock of the state directory.
    pub(crate) async fn end(self, service: Arc<Service>) {
        self.shutdown.cancel();
        for ended in [self.http.await.map(|done| done.is_ok()), self.attach.await.map(|done| done.is_ok())] {
            if !matches!(ended, Ok(true)) {
                tracing::warn!("a listener ended with an error");
            }
        }
        let sockets = [service.state.attach_socket(), service.state.admin_socket()];
        match Arc::try_unwrap(service) {
            Ok(service) => service.end().await,
            // The listeners' tasks have ended, and nothing else keeps one.
            Err(_) => tracing::warn!("the service is still in use at its end"),
        }
        self.operating.stop().await;
        // The state directory is still ours, so they are, too.
        for socket in sockets {
            drop(std::fs::remove_file(socket));
        }
    }
}

/// How HTTP is served under `config`. Makes the first token where there is none, and shows it once.
pub(crate) fn http_options(config: &Config, tokens: &Path, no_auth: bool) -> Result<HttpOptions, Failure> {
    let auth = if no_auth {
        None
    } else {
        let again = "codeyard token add NAME";
        Some(Arc::new(open_tokens(tokens, again, |token| {
            output::show(format_args!("token {token} (shown once; make another with `{again}`)"))
        })?))
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

/// The tokens of a file; where there is none, it begins with one that is shown. `again` is the command that makes another.
pub(crate) fn open_tokens(
    file: &Path,
    again: &str,
    show: impl FnOnce(&str) -> std::io::Result<()>,
) -> Result<TokenStore, Failure> {
    TokenStore::open_or_show(file, |token| show(token.reveal())).map_err(|error| match error {
        Error::NotShown(_) => {
            Failure::new(format!("{error}, so none was made; make one with `{again}`, then start again"))
        }
        error => Failure::new(error.to_string()),
    })
}

/// The address of a text; without tokens it must be loopback.
pub(crate) async fn resolve_address(listen: &str, no_auth: bool) -> Result<SocketAddr, Failure> {
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
fn resolver(service: &Arc<Service>) -> Resolve {
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

/// Takes the configuration file over as it is now. One that can't be read, or doesn't fit, changes nothing.
async fn reload(service: &Service, args: &ServeArgs, in_force: &mut Config) {
    let Some(file) = args.source.config.as_deref() else {
        tracing::warn!("nothing to reload: the service was started without a configuration file");
        return;
    };
    let mut config = match assemble::read_config(file) {
        Ok(config) => config,
        Err(failure) => {
            tracing::error!(error = %failure.message, "the configuration was not reloaded; the old one stays");
            return;
        }
    };
    config.warmset.enabled &= !args.no_prewarm;
    for key in codeyard_config::needs_restart(in_force, &config) {
        tracing::warn!(key, "this change takes effect when codeyard is started again");
    }
    match service.engine.configure(config.clone()).await {
        Ok(done) => {
            *in_force = config;
            tracing::info!(
                started = done.started.len(),
                removed = done.removed.len(),
                retuned = done.retuned.len(),
                failed = done.failed.len(),
                "configuration reloaded"
            );
        }
        Err(error) => tracing::error!(error = %error, "the configuration was not reloaded; the old one stays"),
    }
}
