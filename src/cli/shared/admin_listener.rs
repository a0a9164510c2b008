//! The listeners of the admin API: a local socket, and TCP where `[admin] listen` is configured.

use std::sync::Arc;

use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::Failure;
use crate::shared::assemble::AssembledService;
use crate::shared::first_token::open_tokens;
use crate::shared::listeners::{resolve_address, scheme};
use crate::shared::output;
use codeyard_base::clock::Instant;
use codeyard_config::Config;
use codeyard_gateway::service::Service as _;
use codeyard_protocol::names::SERVER_VERSION;
use codeyard_server::admin::api::{Api, ServiceFacts, probes};
use codeyard_server::admin::dispatch::Access;
use codeyard_server::admin::documents::CallCount;
use codeyard_server::admin::listen::{self, TcpOptions};
use codeyard_server::proxies::TrustedProxies;
use codeyard_server::tls::ServerTls;
use codeyard_server::transport::http::HttpOptions;
use codeyard_server::transport::http::probes::Probes;
use codeyard_state::{StateDir, TokenAudience};
use codeyard_telemetry::Counts;

/// A bound TCP listener of the admin API, not yet served.
pub(crate) struct AdminTcpListener {
    listener: TcpListener,
    access: Access,
    tls: Option<Arc<ServerTls>>,
    proxies: Arc<TrustedProxies>,
    url: String,
}

impl AdminTcpListener {
    /// Binds `[admin] listen`; `None` if it is not configured. Creates the first admin token if there
    /// never was one, and hands it out.
    pub(crate) async fn bind(
        config: &Config,
        state: &StateDir,
        options: &HttpOptions,
    ) -> Result<Option<Self>, Failure> {
        let Some(listen) = &config.admin.listen else { return Ok(None) };
        let address = resolve_address(listen, &config.server, false).await?;
        let failed = |error| {
            Failure::new(format!("admin.listen: cannot listen on {address}: {error}; configure another address"))
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let url = format!("{}://{}/admin/v1", scheme(options), listener.local_addr().map_err(failed)?);
        let store = open_tokens(state, TokenAudience::Admin)?;
        let hosts = options.allowed_hosts.clone();
        let origins = options.allowed_origins.clone();
        let access = Access::Tcp { tokens: Arc::new(store), hosts, origins };
        Ok(Some(Self { listener, access, tls: options.tls.clone(), proxies: options.proxies.clone(), url }))
    }
}

/// The liveness, readiness and metrics probes of a service.
pub(crate) fn service_probes(service: &AssembledService) -> Probes {
    let prometheus = service.prometheus.clone();
    probes(&service.engine.control(), &service.state, Arc::new(move || prometheus.render()))
}

/// The tasks that serve the admin API.
pub(crate) struct AdminListeners {
    shutdown: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

impl AdminListeners {
    /// Serves the admin API on the local socket, and on `tcp` if there is one. `url` is the MCP endpoint that the API reports.
    pub(crate) fn start(
        service: &AssembledService,
        socket: UnixListener,
        tcp: Option<AdminTcpListener>,
        url: &str,
    ) -> Self {
        let counts = service.counts.clone();
        let facts = ServiceFacts {
            version: SERVER_VERSION,
            started: Instant::now(),
            listen: url.to_owned(),
            admin_listen: tcp.as_ref().map(|tcp| tcp.url.clone()),
            calls: Arc::new(move || call_counts(&counts)),
        };
        let api = Api::new(service.engine.control(), service_probes(service), facts);
        let api = Arc::new(api.with_audit(service.audit.clone()));
        let shutdown = CancellationToken::new();
        let mut tasks = vec![tokio::spawn(listen::serve_local(socket, api.clone(), shutdown.clone()))];
        if let Some(AdminTcpListener { listener, access, tls, proxies, url }) = tcp {
            output::eprint_line(format_args!("admin API at {url}"));
            let options = TcpOptions { access, tls, proxies, metrics: service.gateway.metrics() };
            tasks.push(tokio::spawn(listen::serve_tcp(listener, api, options, shutdown.clone())));
        }
        Self { shutdown, tasks }
    }

    /// Stops accepting, and waits for the requests in flight.
    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        for task in self.tasks {
            if task.await.is_err() {
                tracing::warn!("an admin listener ended with an error");
            }
        }
    }
}

fn call_counts(counts: &Counts) -> Vec<CallCount> {
    let count = |((tool, outcome), count): ((Arc<str>, codeyard_telemetry::Outcome), u64)| CallCount {
        tool: tool.to_string(),
        outcome: outcome.as_str().to_owned(),
        count,
    };
    counts.calls().into_iter().map(count).collect()
}
