//! `codeyard serve`: serves workspaces over HTTP until a signal or an error, and reloads the configuration on SIGHUP.

use std::sync::Arc;

use tokio::net::TcpListener;

use crate::Failure;
use crate::args::ServeArgs;
use crate::shared::admin_listener::AdminTcpListener;
use crate::shared::assemble::{self, AssembledService};
use crate::shared::exit_limit::ExitLimit;
use crate::shared::listeners::{self, Listeners};
use crate::shared::lock_watch::LockWatch;
use crate::shared::signals::{ControlSignal, ControlSignals, ignore_file_size_signal};
use crate::shared::workspace_folders::FolderFollower;
use crate::shared::{audit, logging, open_files, output};
use codeyard_audit::{AuditEvent, EventKind};
use codeyard_base::ids::WorkspaceName;
use codeyard_config::Config;
use serde_json::json;

/// Workspaces that the start names.
const MAX_NAMED_WORKSPACES: usize = 20;

/// Serves until SIGTERM, SIGINT, or an error.
pub(crate) fn run(args: ServeArgs) -> Result<(), Failure> {
    open_files::check()?;
    let config = configuration(&args)?;
    let _flush = logging::install(&config.log);
    ignore_file_size_signal()?;
    let runtime = crate::runtime()?;
    let done = runtime.block_on(serve(args, config));
    // A thread that is stuck doesn't hold up the exit.
    runtime.shutdown_background();
    done
}

/// The configuration of the flags. Its patterns of workspaces are not expanded.
fn configuration(args: &ServeArgs) -> Result<Config, Failure> {
    let mut config = match &args.source.config {
        Some(file) => assemble::read_config_file(file)?,
        None => assemble::load_config(&args.source)?,
    };
    config.warmset.enabled &= !args.no_prewarm;
    config.server.behind_proxy.extend(args.behind_proxy.iter().cloned());
    config.validate().map_err(|error| Failure::usage(error.to_string()))?;
    Ok(config)
}

async fn serve(args: ServeArgs, file: Config) -> Result<(), Failure> {
    // From here on signals are queued, so that a signal during startup is not lost.
    let mut signals = ControlSignals::new()?;
    let _limit = ExitLimit::watch()?;
    let (mut folders, config) = FolderFollower::start(file);
    let state = assemble::open_state(args.source.state_dir.as_deref())?;
    let lock = LockWatch::start(listeners::lock(&state)?);
    audit::configure(&state, &config)?;
    let listen = args.listen.clone().unwrap_or_else(|| config.server.listen.clone());
    let no_auth = args.no_auth || config.server.no_auth;
    if no_auth && !config.issuers.is_empty() {
        return Err(Failure::usage(
            "without authentication no access token is read; drop --no-auth, or remove the tables of [issuers]",
        ));
    }
    let address = listeners::resolve_address(&listen, &config.server, no_auth).await?;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::new(format!("cannot listen on {address}: {error}; choose another address with --listen ADDR:PORT"))
    })?;
    let options = listeners::http_options(&config, &state, no_auth)?;
    let admin = AdminTcpListener::bind(&config, &state, &options).await?;
    let service = assemble::assemble(state, config, args.source.server.clone()).await?;
    assemble::report_failures(&service.configured)?;
    let service = Arc::new(service);
    let listeners = Listeners::start(&service, listener, options, admin)?;
    output::eprint_line(format_args!("listening {}", listeners.url));
    output::eprint_line(format_args!("{}", served(&service)));
    let mut active = service.config.clone();
    let mut failure = None;
    loop {
        tokio::select! {
            signal = signals.next(&listeners) => match signal {
                ControlSignal::Stop => break,
                ControlSignal::Reload => {
                    reload(&service, &args, &mut folders, &mut active).await;
                    listeners.reload_tls(&active);
                }
            },
            () = lock.lost() => {
                failure = Some(Failure::new(
                    "the state directory was removed or replaced, or its folder `run`; another process may serve from it; start again",
                ));
                break;
            }
            config = folders.changed() => {
                apply(&service, config, &mut active, "workspace folders changed").await;
            }
        }
    }
    listeners.shut_down(service).await;
    failure.map_or(Ok(()), Err)
}

/// What is served, in one line.
fn served(service: &AssembledService) -> String {
    let started = &service.configured.started;
    let default = service.config.default_name();
    let shown = started.iter().take(MAX_NAMED_WORKSPACES);
    let mut names: Vec<String> =
        shown.map(|name| if Some(name) == default { format!("{name} (default)") } else { name.to_string() }).collect();
    if started.len() > names.len() {
        names.push(format!("{} more", started.len() - names.len()));
    }
    let failed = match service.configured.failed.len() {
        0 => String::new(),
        failed => format!("; {failed} could not be opened"),
    };
    match names.is_empty() {
        true => format!("serving no workspace{failed}; `codeyard workspaces put NAME --root PATH` adds one"),
        false => format!("serving {}{failed}", names.join(", ")),
    }
}

/// Applies the configuration file as it is now. A file that cannot be read or applied changes nothing.
async fn reload(service: &AssembledService, args: &ServeArgs, folders: &mut FolderFollower, active: &mut Config) {
    if args.source.config.is_none() {
        tracing::warn!("nothing to reload: the service was started without a configuration file");
        return;
    }
    let file = match configuration(args) {
        Ok(file) => file,
        Err(failure) => {
            tracing::error!(error = %failure.message, "configuration not reloaded; the old one stays active");
            if let Some(audit) = &service.audit {
                let arguments = Some(json!({ "error": failure.message }));
                let line = AuditEvent::new(EventKind::Configuration, "refused");
                audit.write(&AuditEvent { operation: Some("reload"), arguments, ..line });
            }
            return;
        }
    };
    for key in codeyard_config::needs_restart(active, &file) {
        tracing::warn!(key, "this change takes effect after a restart of codeyard");
    }
    let (next, config) = folders.replace(file);
    if apply(service, config, active, "configuration reloaded").await {
        *folders = next;
    }
}

/// Applies a configuration and logs what it changed. Returns whether it is in effect.
async fn apply(service: &AssembledService, config: Config, active: &mut Config, event: &'static str) -> bool {
    match service.engine.configure(config.clone()).await {
        Ok(done) => {
            service.gateway.set_quotas(config.quotas());
            service.sign_on.configure(&config);
            let sections = codeyard_config::changed_sections(active, &config);
            *active = config;
            if let Some(audit) = &service.audit {
                let names =
                    |names: &[WorkspaceName]| names.iter().map(|name| name.as_str().to_owned()).collect::<Vec<_>>();
                let failed: Vec<&str> = done.failed.iter().map(|(name, _)| name.as_str()).collect();
                let arguments = json!({
                    "sections": sections, "started": names(&done.started), "removed": names(&done.removed), "changed": names(&done.retuned),
                    "failed": failed,
                });
                let line = AuditEvent::new(EventKind::Configuration, "ok");
                audit.write(&AuditEvent { operation: Some("reload"), arguments: Some(arguments), ..line });
            }
            tracing::info!(
                started = done.started.len(),
                removed = done.removed.len(),
                retuned = done.retuned.len(),
                failed = done.failed.len(),
                "{event}"
            );
            true
        }
        Err(error) => {
            tracing::error!(error = %error, "configuration not reloaded; the old one stays active");
            false
        }
    }
}
