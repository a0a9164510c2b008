//! `codeyard quickstart`: installs three language servers, serves the sample workspaces, calls each tool once over MCP, prints a
//! client configuration, and serves until Ctrl-C.

mod client_config;
mod questions;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use self::questions::{QUESTIONS, SampleQuestion};
use crate::Failure;
use crate::args::QuickstartArgs;
use crate::shared::assemble;
use crate::shared::listeners::{self, Listeners};
use crate::shared::logging;
use crate::shared::mcp_client::{Client, ClientError, TimedAnswer};
use crate::shared::output::print_line;
use crate::shared::render::Renderer;
use crate::shared::server_installation::{InstallContext, install_failure, install_kinds};
use crate::shared::signals::{ControlSignal, ControlSignals};
use codeyard_base::clock::Instant;
use codeyard_base::ids::PrincipalId;
use codeyard_config::{Config, LogFormat, LogLevel, LogSection, Prewarm, ServerSection, Sweep};
use codeyard_lsp::install::{InstallError, ProgramStatus};
use codeyard_lsp::registry::Registry;
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_server::transport::http::HttpOptions;
use codeyard_state::{StateDir, Token, TokenAudience, TokenError, TokenGrant, TokenStore};

/// The sample workspaces, each with the language server it needs.
const WORKSPACES: [(&str, &str); 3] = [("python", "ty"), ("typescript", "typescript"), ("c", "clangd")];
/// Longest time for one question, including the start of its language server.
const PATIENCE: Duration = Duration::from_secs(120);
/// The principal of the token that this command creates.
const PRINCIPAL: &str = "quickstart";
/// Most lines of an answer that are printed.
const SHOWN_LINES: usize = 14;

/// Installs, serves, asks and prints.
pub(crate) fn run(args: QuickstartArgs) -> Result<(), Failure> {
    crate::shared::open_files::check()?;
    let log = LogSection { format: LogFormat::Text, level: LogLevel::Warn, ..LogSection::default() };
    let _flush = logging::install(&log);
    let samples = samples()?;
    let state = assemble::open_state(args.state.state_dir.as_deref())?;
    let _lock = listeners::lock(&state)?;
    print_line(format_args!(
        "1. Installing language servers into {}",
        assemble::installer(&state).servers_dir().display()
    ));
    let context = InstallContext { registry: Registry::builtin(), installer: assemble::installer(&state) };
    for (_, kind) in WORKSPACES {
        install(&context, kind)?;
    }
    let runtime = crate::runtime()?;
    let done = runtime.block_on(serve_and_ask(&args, &samples, state));
    runtime.shutdown_background();
    done
}

async fn serve_and_ask(args: &QuickstartArgs, samples: &Path, state: StateDir) -> Result<(), Failure> {
    let mut signals = ControlSignals::new()?;
    let listener = listener(args.listen.as_deref()).await?;
    let (options, token) = tokens(&state)?;
    let chosen = WORKSPACES.iter().map(|(_, kind)| (*kind).to_owned()).collect();
    let service = Arc::new(assemble::assemble(state, configuration(samples), chosen).await?);
    assemble::report_failures(&service.configured)?;
    let listeners = Listeners::start(&service, listener, options, None)?;
    print_line(format_args!(
        "\n2. Serving the sample workspaces of {}\nlistening {}",
        samples.display(),
        listeners.url
    ));
    let asked = tokio::select! {
        right = ask_all(samples, &listeners.url, token.reveal()) => Some(right),
        _ = signals.next(&listeners) => None,
    };
    let result = match asked {
        None => Ok(()),
        Some(right) => {
            print_line(format_args!(
                "\n4. Client configuration to paste\n{}",
                client_config::text(&listeners.url, token.reveal(), samples, args)
            ));
            if !args.once {
                print_line(format_args!("\nServing until Ctrl-C."));
                while signals.next(&listeners).await != ControlSignal::Stop {}
            }
            if right == QUESTIONS.len() || !args.once {
                Ok(())
            } else {
                let missed = QUESTIONS.len() - right;
                Err(Failure::new(format!(
                    "{missed} of {} answers are not the expected ones; `codeyard doctor` shows the state of the language servers",
                    QUESTIONS.len()
                )))
            }
        }
    };
    listeners.shut_down(service).await;
    result
}

/// Asks all questions. Returns the number of right answers.
async fn ask_all(samples: &Path, url: &str, token: &str) -> usize {
    print_line(format_args!("\n3. Calling each tool once over MCP"));
    let mut right = 0;
    for (index, question) in QUESTIONS.iter().enumerate() {
        print_line(format_args!(
            "\n[{}/{}] {}\n      {} at {url}/{}",
            index + 1,
            QUESTIONS.len(),
            question.words,
            question.tool,
            question.workspace
        ));
        match ask(question, samples, url, token).await {
            Ok(answered) => right += usize::from(show(question, samples, &answered)),
            Err(why) => print_line(format_args!("      no answer: {why}")),
        }
    }
    print_line(format_args!("\n{right} of {} answers are right.", QUESTIONS.len()));
    right
}

/// Asks until the answer is right or the time is over: the diagnostics of a workspace are complete only after every file was checked.
async fn ask(question: &SampleQuestion, samples: &Path, url: &str, token: &str) -> Result<TimedAnswer, String> {
    let arguments = question.arguments(samples).map_err(|failure| failure.message)?;
    let endpoint = format!("{url}/{}", question.workspace);
    let text = |error: ClientError| error.to_string();
    let mut client = Client::over_http(&endpoint, Some(token)).await.map_err(text)?;
    let end = Instant::now() + PATIENCE;
    let mut retries = 0;
    let answered = loop {
        let left = end.saturating_duration_since(Instant::now());
        let answered = client.call_with_retry(question.tool, &arguments, left, &mut |_| ()).await.map_err(text)?;
        retries += answered.retries;
        let pause = Duration::from_millis(RETRY_AFTER_MS);
        if question.is_right(&answered.content) || !question.may_grow() || Instant::now() + pause >= end {
            break TimedAnswer { retries, ..answered };
        }
        retries += 1;
        tokio::time::sleep(pause).await;
    };
    client.close().await;
    Ok(answered)
}

/// Prints an answer. Returns whether it is right.
fn show(question: &SampleQuestion, samples: &Path, answered: &TimedAnswer) -> bool {
    let lines = Renderer::new(&samples.join(question.workspace)).answer(&answered.content);
    for line in lines.iter().take(SHOWN_LINES) {
        print_line(format_args!("      {line}"));
    }
    if lines.len() > SHOWN_LINES {
        print_line(format_args!("      … {} more lines", lines.len() - SHOWN_LINES));
    }
    let waited = match answered.retries {
        0 => String::new(),
        retries => format!(", after {retries} retries while the language server started"),
    };
    let right = question.is_right(&answered.content);
    let verdict = if right { "" } else { " — not the expected answer" };
    print_line(format_args!("      ({:.1} ms{waited}){verdict}", answered.took.as_secs_f64() * 1_000.0));
    right
}

/// The folder of the sample workspaces: in the source tree of this build, else below the current folder.
fn samples() -> Result<PathBuf, Failure> {
    let built = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workspaces"));
    let here = std::env::current_dir().unwrap_or_default().join("examples/workspaces");
    let whole = |folder: &PathBuf| WORKSPACES.iter().all(|(name, _)| folder.join(name).is_dir());
    let found = [built, here].into_iter().find(whole).and_then(|folder| folder.canonicalize().ok());
    found.ok_or_else(|| {
        Failure::missing(
            "cannot find the sample workspaces (examples/workspaces): run this in a clone of codeyard, or serve your own repository with `codeyard serve --root PATH`",
        )
    })
}

/// Installs a kind. Where the tool to install it is missing, a program on the `PATH` is used.
fn install(context: &InstallContext, kind: &str) -> Result<(), Failure> {
    match install_kinds(context, &[kind.to_owned()]) {
        Ok(_) => Ok(()),
        Err(error @ InstallError::MissingTool { .. }) => {
            let located = context.registry.servers.get(kind).map(|server| context.installer.locate(kind, server, None));
            match located {
                Some(ProgramStatus::Ready(program)) => {
                    print_line(format_args!(
                        "could not install {kind}: {error}; using {} instead",
                        program.program.display()
                    ));
                    Ok(())
                }
                _ => Err(install_failure(&error)),
            }
        }
        Err(error) => Err(install_failure(&error)),
    }
}

fn configuration(samples: &Path) -> Config {
    let roots: Vec<PathBuf> = WORKSPACES.iter().map(|(name, _)| samples.join(name)).collect();
    let mut config = Config::from_roots(&roots);
    config.diagnostics.sweep = Sweep::All;
    for workspace in &mut config.workspaces {
        workspace.prewarm = Prewarm::All(true);
    }
    config
}

/// Listens on the requested address; by default on the default port, or on a free one if that is in use.
async fn listener(asked: Option<&str>) -> Result<TcpListener, Failure> {
    let usual = Config::default().server.listen;
    let address = listeners::resolve_address(asked.unwrap_or(&usual), &ServerSection::default(), false).await?;
    match TcpListener::bind(address).await {
        Err(error) if asked.is_none() && error.kind() == std::io::ErrorKind::AddrInUse => {
            print_line(format_args!("{address} is in use; using a free port"));
            let free = TcpListener::bind((address.ip(), 0)).await;
            free.map_err(|error| {
                Failure::new(format!("no free port found: {error}; choose one with --listen ADDR:PORT"))
            })
        }
        bound => bound.map_err(|error| {
            Failure::new(format!("cannot listen on {address}: {error}; choose another address with --listen ADDR:PORT"))
        }),
    }
}

/// A token whose text is known: the first one of the state directory, else a new one that replaces that of the last quickstart.
fn tokens(state: &StateDir) -> Result<(HttpOptions, Token), Failure> {
    let failed =
        |error: TokenError| Failure::new(format!("{error}; check the state directory {}", state.path().display()));
    let (store, made) = TokenStore::open_or_create(assemble::open_store(state)?, TokenAudience::Mcp).map_err(failed)?;
    let token = match made {
        Some(token) => token,
        None => {
            store.remove(PRINCIPAL).map_err(failed)?;
            store.add(&TokenGrant::of(PrincipalId::new(PRINCIPAL))).map_err(failed)?
        }
    };
    Ok((HttpOptions::new(Some(Arc::new(store))), token))
}
