//! `codeyard quickstart`: installs three language servers, serves the sample workspaces, asks one question of each tool
//! over MCP, prints what to paste into a client, and goes on serving.

mod paste;
mod questions;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use self::questions::{QUESTIONS, Question};
use super::args::QuickstartArgs;
use super::assemble;
use super::client::{Answered, Client, Error};
use super::output::say;
use super::render::Renderer;
use super::serve::{self, Running};
use super::servers::{self, Shelf};
use super::signals::{Signal, Signals};
use super::{Failure, logging};
use codeyard_base::clock::Instant;
use codeyard_config::{Config, LogFormat, LogLevel, LogSection, Prewarm, Sweep};
use codeyard_lsp::install::{Error as InstallError, Located};
use codeyard_lsp::registry::Registry;
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_server::transport::http::HttpOptions;
use codeyard_state::auth::{Token, TokenStore};
use codeyard_state::store::StateDir;

/// The workspaces, each with the language server it needs.
const WORKSPACES: [(&str, &str); 3] = [("python", "ty"), ("typescript", "typescript"), ("c", "clangd")];
/// Longest time for one question, with everything that has to start first.
const PATIENCE: Duration = Duration::from_secs(120);
/// Whom the token of this command names.
const PRINCIPAL: &str = "quickstart";
/// Lines of an answer that are shown.
const SHOWN_LINES: usize = 14;

/// Runs all of it.
pub(crate) fn run(args: QuickstartArgs) -> Result<(), Failure> {
    let log = LogSection { format: LogFormat::Text, level: LogLevel::Warn, ..LogSection::default() };
    let _flush = logging::install(&log);
    let samples = samples()?;
    let state = assemble::open_state(args.state.state_dir.as_deref())?;
    let _lock = serve::lock(&state)?;
    say(format_args!("1. Language servers, into {}", assemble::installer(&state).servers_dir().display()));
    let shelf = Shelf { registry: Registry::builtin(), installer: assemble::installer(&state) };
    for (_, kind) in WORKSPACES {
        install(&shelf, kind)?;
    }
    super::runtime()?.block_on(serve_and_ask(&args, &samples, state))
}

async fn serve_and_ask(args: &QuickstartArgs, samples: &Path, state: StateDir) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let listener = listener(args.listen.as_deref()).await?;
    let (options, token) = tokens(&state)?;
    let chosen = WORKSPACES.iter().map(|(_, kind)| (*kind).to_owned()).collect();
    let service = Arc::new(assemble::assemble(state, configuration(samples), chosen).await?);
    assemble::report_failures(&service.configured)?;
    let running = Running::start(&service, listener, options, None)?;
    say(format_args!("\n2. Serving the sample workspaces of {}\nlistening {}", samples.display(), running.url));
    let asked = tokio::select! {
        right = ask_all(samples, &running.url, token.reveal()) => Some(right),
        _ = signals.next(&running) => None,
    };
    let result = match asked {
        None => Ok(()),
        Some(right) => {
            say(format_args!("\n4. Paste into a client\n{}", paste::text(&running.url, token.reveal(), samples, args)));
            if !args.once {
                say(format_args!("\nServing until Ctrl-C."));
                while signals.next(&running).await != Signal::End {}
            }
            if right == QUESTIONS.len() || !args.once {
                Ok(())
            } else {
                let missed = QUESTIONS.len() - right;
                Err(Failure::new(format!(
                    "{missed} of {} answers weren't right; `codeyard doctor` may say why",
                    QUESTIONS.len()
                )))
            }
        }
    };
    running.end(service).await;
    result
}

/// Asks all questions; how many answers were right.
async fn ask_all(samples: &Path, url: &str, token: &str) -> usize {
    say(format_args!("\n3. One question of each tool, over MCP"));
    let mut right = 0;
    for (index, question) in QUESTIONS.iter().enumerate() {
        say(format_args!(
            "\n[{}/{}] {}\n      {} at {url}/{}",
            index + 1,
            QUESTIONS.len(),
            question.words,
            question.tool,
            question.workspace
        ));
        match ask(question, samples, url, token).await {
            Ok(answered) => right += usize::from(show(question, samples, &answered)),
            Err(why) => say(format_args!("      no answer: {why}")),
        }
    }
    say(format_args!("\n{right} of {} answers are right.", QUESTIONS.len()));
    right
}

/// Asks until the answer is right: what is wrong in a whole workspace is only known when every file was looked at.
async fn ask(question: &Question, samples: &Path, url: &str, token: &str) -> Result<Answered, String> {
    let arguments = question.arguments(samples).map_err(|failure| failure.message)?;
    let endpoint = format!("{url}/{}", question.workspace);
    let told = |error: Error| error.to_string();
    let mut client = Client::over_http(&endpoint, Some(token)).await.map_err(told)?;
    let end = Instant::now() + PATIENCE;
    let mut retries = 0;
    let answered = loop {
        let left = end.saturating_duration_since(Instant::now());
        let answered = client.call_patiently(question.tool, &arguments, left).await.map_err(told)?;
        retries += answered.retries;
        let pause = Duration::from_millis(RETRY_AFTER_MS);
        if question.is_right(&answered.content) || !question.may_grow() || Instant::now() + pause >= end {
            break Answered { retries, ..answered };
        }
        retries += 1;
        tokio::time::sleep(pause).await;
    };
    client.close().await;
    Ok(answered)
}

/// Prints an answer; whether it is right.
fn show(question: &Question, samples: &Path, answered: &Answered) -> bool {
    let lines = Renderer::new(&samples.join(question.workspace)).answer(&answered.content);
    for line in lines.iter().take(SHOWN_LINES) {
        say(format_args!("      {line}"));
    }
    if lines.len() > SHOWN_LINES {
        say(format_args!("      … {} more lines", lines.len() - SHOWN_LINES));
    }
    let waited = match answered.retries {
        0 => String::new(),
        retries => format!(", after {retries} retries while the language server got ready"),
    };
    let right = question.is_right(&answered.content);
    let verdict = if right { "" } else { " — not the answer that was expected" };
    say(format_args!("      ({:.1} ms{waited}){verdict}", answered.took.as_secs_f64() * 1_000.0));
    right
}

/// The sample workspaces: those of the checkout this program was built from, else of the present folder.
fn samples() -> Result<PathBuf, Failure> {
    let built = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/workspaces"));
    let here = std::env::current_dir().unwrap_or_default().join("examples/workspaces");
    let whole = |folder: &PathBuf| WORKSPACES.iter().all(|(name, _)| folder.join(name).is_dir());
    let found = [built, here].into_iter().find(whole).and_then(|folder| folder.canonicalize().ok());
    found.ok_or_else(|| {
        Failure::missing(
            "the sample workspaces aren't here: run this in a clone of codeyard, or `codeyard serve --root PATH` on a repository of yours",
        )
    })
}

/// Installs a kind. Where its tool is missing, one of the `PATH` will do.
fn install(shelf: &Shelf, kind: &str) -> Result<(), Failure> {
    match servers::install_kinds(shelf, &[kind.to_owned()]) {
        Ok(_) => Ok(()),
        Err(error @ InstallError::MissingTool { .. }) => {
            let located = shelf.registry.servers.get(kind).map(|server| shelf.installer.locate(kind, server, None));
            match located {
                Some(Located::Ready(program)) => {
                    say(format_args!(
                        "{kind}: {} is used, because it can't be installed: {error}",
                        program.program.display()
                    ));
                    Ok(())
                }
                _ => Err(servers::failure(&error)),
            }
        }
        Err(error) => Err(servers::failure(&error)),
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

/// Listens where it was asked to; by default at the usual port, or at a free one if that is taken.
async fn listener(asked: Option<&str>) -> Result<TcpListener, Failure> {
    let usual = Config::default().server.listen;
    let address = serve::resolve_address(asked.unwrap_or(&usual), false).await?;
    match TcpListener::bind(address).await {
        Err(error) if asked.is_none() && error.kind() == std::io::ErrorKind::AddrInUse => {
            say(format_args!("{address} is taken; a free port is used"));
            let free = TcpListener::bind((address.ip(), 0)).await;
            free.map_err(|error| Failure::new(format!("no port is free: {error}; choose one with --listen ADDR:PORT")))
        }
        bound => bound.map_err(|error| {
            Failure::new(format!("{address} can't be listened on: {error}; choose another with --listen ADDR:PORT"))
        }),
    }
}

/// A token whose text is known: the first one, else a new one in the place of the last quickstart's.
fn tokens(state: &StateDir) -> Result<(HttpOptions, Token), Failure> {
    let failed =
        |error: codeyard_state::auth::Error| Failure::new(format!("{error}; look at {}", state.tokens().display()));
    let (store, made) = TokenStore::open_or_create(&state.tokens()).map_err(failed)?;
    let token = match made {
        Some(token) => token,
        None => {
            store.remove(PRINCIPAL).map_err(failed)?;
            store.add(PRINCIPAL).map_err(failed)?
        }
    };
    Ok((HttpOptions::new(Some(Arc::new(store))), token))
}
