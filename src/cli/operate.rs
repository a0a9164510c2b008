//! The admin API in `serve`: what it stands on, where it listens, and who may come in there.

use std::sync::Arc;

use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::assemble::Service;
use super::serve::{open_tokens, resolve_address};
use super::{Failure, output};
use codeyard_base::clock::Instant;
use codeyard_config::Config;
use codeyard_protocol::names::SERVER_VERSION;
use codeyard_server::admin::api::{Api, ServiceFacts, probes};
use codeyard_server::admin::dispatch::Entrance;
use codeyard_server::admin::documents::CallCount;
use codeyard_server::admin::listen;
use codeyard_server::transport::http::HttpOptions;
use codeyard_server::transport::http::probes::Probes;
use codeyard_state::store::StateDir;
use codeyard_telemetry::Counts;

/// A TCP listener for operators.
pub(crate) struct Door {
    listener: TcpListener,
    entrance: Entrance,
    url: String,
}

/// The admin API while it is served.
pub(crate) struct Operating {
    shutdown: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

/// Binds what `[admin]` says. Makes the first token for operators where there is none, and shows it once.
pub(crate) async fn door(config: &Config, state: &StateDir, options: &HttpOptions) -> Result<Option<Door>, Failure> {
    let Some(listen) = &config.admin.listen else { return Ok(None) };
    let address = resolve_address(listen, false).await?;
    let failed = |error| Failure::new(format!("admin.listen: {address} can't be listened on: {error}; choose another"));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let url = format!("http://{}/admin/v1", listener.local_addr().map_err(failed)?);
    let again = "codeyard token add --admin NAME";
    let store = open_tokens(&state.admin_tokens(), again, |token| {
        output::show(format_args!("operators' token {token} (shown once; make another with `{again}`)"))
    })?;
    let (hosts, origins) = (options.allowed_hosts.clone(), options.allowed_origins.clone());
    Ok(Some(Door { listener, entrance: Entrance::Tcp { tokens: Arc::new(store), hosts, origins }, url }))
}

/// The probes of a service.
pub(crate) fn probes_of(service: &Service) -> Probes {
    let prometheus = service.prometheus.clone();
    probes(&service.engine.control(), Arc::new(move || prometheus.render()))
}

impl Operating {
    /// Serves operators on the local socket, and at the door if there is one.
    pub(crate) fn start(service: &Service, socket: UnixListener, door: Option<Door>, url: &str) -> Self {
        let counts = service.counts.clone();
        let facts = ServiceFacts {
            version: SERVER_VERSION,
            started: Instant::now(),
            listen: url.to_owned(),
            admin_listen: door.as_ref().map(|door| door.url.clone()),
            calls: Arc::new(move || calls(&counts)),
        };
        let api = Arc::new(Api::new(service.engine.control(), probes_of(service), facts));
        let shutdown = CancellationToken::new();
        let mut tasks = vec![tokio::spawn(listen::serve_local(socket, api.clone(), shutdown.clone()))];
        if let Some(Door { listener, entrance, url }) = door {
            output::complain(format_args!("operators at {url}"));
            tasks.push(tokio::spawn(listen::serve_tcp(listener, api, entrance, shutdown.clone())));
        }
        Self { shutdown, tasks }
    }

    /// Stops accepting operators, and lets what they have asked for end.
    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        for task in self.tasks {
            if task.await.is_err() {
                tracing::warn!("a listener for operators ended with an error");
            }
        }
    }
}

fn calls(counts: &Counts) -> Vec<CallCount> {
    let count = |((tool, outcome), count): ((Arc<str>, codeyard_telemetry::Outcome), u64)| CallCount {
        tool: tool.to_string(),
        outcome: outcome.as_str().to_owned(),
        count,
    };
    counts.calls().into_iter().map(count).collect()
}
