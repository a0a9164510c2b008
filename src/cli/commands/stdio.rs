//! `codeyard stdio`: serves one client on standard input and output. Attaches to the running server if it has a workspace with the
//! same roots, else starts its own language servers.

use tokio_util::sync::CancellationToken;

use crate::Failure;
use crate::args::StdioArgs;
use crate::shared::{assemble, logging, output};
use codeyard_catalog::{CatalogId, CatalogSet};
use codeyard_config::Config;
use codeyard_gateway::service::{GROUP_CATALOG, Principal, Service as _};
use codeyard_server::transport::attach::{self, Hello};
use codeyard_server::transport::stdio::serve_stdio;

/// Serves until the end of standard input.
pub(crate) fn run(mut args: StdioArgs) -> Result<(), Failure> {
    crate::shared::open_files::check()?;
    let group = args.workspace.as_deref().is_some_and(|name| name.starts_with('@'));
    if group && args.catalog != GROUP_CATALOG {
        return Err(Failure::usage(format!(
            "--catalog {}: a group of workspaces serves the catalog {GROUP_CATALOG} only; add --catalog {GROUP_CATALOG}",
            args.catalog
        )));
    }
    let names_workspaces = args.source.config.is_some() || !args.source.root.is_empty();
    let only_attaches = group && !names_workspaces;
    if !names_workspaces {
        args.source.root.push(".".into());
    }
    let mut config = assemble::load_config(&args.source)?;
    config.warmset.enabled &= !args.no_prewarm;
    let _flush = logging::install(&config.log);
    crate::shared::signals::ignore_file_size_signal()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::new(format!("cannot start threads: {error}; check the limit `ulimit -u`")))?;
    let done = runtime.block_on(serve(args, config, only_attaches));
    // tokio reads standard input on a thread that cannot be cancelled; do not wait for it.
    runtime.shutdown_background();
    done
}

/// `only_attaches`: a group is named and no workspaces are, so that only a running server has it.
async fn serve(args: StdioArgs, config: Config, only_attaches: bool) -> Result<(), Failure> {
    if let Err(why) = CatalogSet::parse(&args.catalog) {
        let all = CatalogId::ALL.map(CatalogId::as_str).join(", ");
        return Err(Failure::usage(format!(
            "--catalog {}: {why}; valid catalogs are {all}, joined with +",
            args.catalog
        )));
    }
    let several = args.workspace.is_none() && args.source.root.len() > 1;
    if several {
        output::eprint_line(format_args!(
            "codeyard: each --root is a separate workspace; this session uses the first, --workspace NAME selects another"
        ));
    }
    let state = assemble::open_state(args.source.state_dir.as_deref())?;
    let hello = Hello {
        version: attach::VERSION,
        roots: if args.workspace.is_some() { vec![] } else { default_roots(&config) },
        workspace: args.workspace.clone(),
        catalogs: Some(args.catalog.clone()),
        content: None,
    };
    if !args.alone
        && let Some(stream) = attach::attach(&state.attach_socket(), &hello).await
    {
        tracing::info!("attached to the running server");
        let piped = attach::pipe(tokio::io::stdin(), tokio::io::stdout(), stream).await;
        return piped.map_err(|error| {
            Failure::new(format!("the connection to the running server failed: {error}; run the command again"))
        });
    }
    if only_attaches {
        return Err(Failure::missing(format!(
            "no running server has the group {}; start one with `codeyard serve`, or name workspaces with --config or --root",
            args.workspace.as_deref().unwrap_or_default()
        )));
    }
    let service = assemble::assemble(state, config, args.source.server.clone()).await?;
    assemble::report_failures(&service.configured)?;
    let (caller, name) = Principal::local_for(args.workspace.as_deref());
    let endpoint = service.gateway.endpoint(&caller, name, Some(&args.catalog));
    let Some(endpoint) = endpoint else {
        service.shut_down().await;
        return Err(Failure::new(format!(
            "there is no workspace {}; the configuration or --root defines them, see `codeyard stdio --help`",
            args.workspace.as_deref().unwrap_or("by default")
        )));
    };
    let shutdown = CancellationToken::new();
    let on_signal = shutdown.clone();
    let signals = tokio::spawn(async move {
        if let Ok(mut term) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            tokio::select! {
                _ = term.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            on_signal.cancel();
        }
    });
    let limits = service.config.limits.clone().clamped();
    let served =
        serve_stdio(tokio::io::stdin(), tokio::io::stdout(), service.gateway.clone(), endpoint, &limits, shutdown)
            .await;
    signals.abort();
    service.shut_down().await;
    served.map_err(|error| Failure::new(format!("standard input or output failed: {error}")))
}

fn default_roots(config: &Config) -> Vec<std::path::PathBuf> {
    let name = config.default_name();
    let found = name.and_then(|name| config.workspace(name.as_str()));
    found.map(|workspace| workspace.roots.clone()).unwrap_or_default()
}
