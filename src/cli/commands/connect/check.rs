//! The test of a connection: a session as the host would open it.
//!
//! Invariants: a program that was started for the test has ended when the test has; the program, arguments and environment are those of
//! the entry, where the file has one.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tokio::process::{ChildStdin, ChildStdout};

use super::target::Target;
use super::template::Values;
use crate::Failure;
use crate::shared::mcp_client::{Client, ClientError};
use crate::shared::shell;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_process::sibling;

/// What a host starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Launch {
    /// The program of `values`.
    pub(super) fn of_values(values: &Values<'_>) -> Self {
        Self { program: values.program.to_owned(), arguments: values.arguments(), environment: Vec::new() }
    }

    /// What the entry of a file says: a program and its arguments in two members, or in one.
    pub(super) fn of_entry(entry: &Value) -> Option<Self> {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let words = |value: &Value| value.as_array()?.iter().map(word).collect::<Option<Vec<_>>>();
        let command = entry.get("command")?;
        let mut line = if command.is_array() { words(command)? } else { vec![word(command)?] };
        if let Some(more) = entry.get("args") {
            line.extend(words(more)?);
        }
        if line.is_empty() {
            return None;
        }
        // A value with a variable can't be known here.
        let variables = ["env", "environment"].into_iter().filter_map(|name| entry.get(name)?.as_object()).flatten();
        let environment = variables
            .filter_map(|(name, value)| {
                Some((name.clone(), value.as_str().filter(|value| !value.contains(['$', '{']))?.to_owned()))
            })
            .filter(|(name, _)| !name.is_empty() && !name.contains('='))
            .collect();
        Some(Self { program: line.remove(0), arguments: line, environment })
    }

    /// Whether it starts the program of `values` with its arguments.
    pub(super) fn is_of(&self, values: &Values<'_>) -> bool {
        self.program == values.program && self.arguments == values.arguments()
    }
}

/// Opens a session with `target` and lists its tools. Returns how, and what was found.
pub(super) async fn check(target: &Target, launch: &Launch, token: Option<&str>) -> Result<(String, String), Failure> {
    let started = Instant::now();
    let (tools, how) = match target {
        Target::Http { url, .. } => (tools(Client::over_http(url, token).await).await?, format!("over HTTP at {url}")),
        Target::Stdio => (over_stdio(launch).await?, "over stdio".to_owned()),
    };
    let names = tools.join(", ");
    let took = started.elapsed().as_secs_f64();
    let count = tools.len();
    let found = format!("{count} {} ({names})", if count == 1 { "tool" } else { "tools" });
    Ok((format!("{how}, in {took:.1} s"), found))
}

async fn tools(client: Result<Client, ClientError>) -> Result<Vec<String>, Failure> {
    let failed = |error: ClientError| Failure::new(error.to_string());
    let mut client = client.map_err(failed)?;
    let listed = client.tools().await;
    client.close().await;
    listed.map_err(failed)
}

async fn over_stdio(launch: &Launch) -> Result<Vec<String>, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("cannot start {}: {error}", launch.program));
    let mut command = sibling::command(Path::new(&launch.program));
    command.args(&launch.arguments);
    for (name, value) in &launch.environment {
        command.env(name, value);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(failed)?;
    let pipes = child.stdout.take().zip(child.stdin.take());
    let pipes = pipes
        .and_then(|(output, input)| Some((ChildStdout::from_std(output).ok()?, ChildStdin::from_std(input).ok()?)));
    let listed = match pipes {
        Some((output, input)) => tools(Client::over_stream(Box::new(tokio::io::join(output, input))).await).await,
        None => Err(Failure::new("the program has no pipes")),
    };
    // The end of its input ends the program.
    blocking::spawn(move || child.wait())
        .await
        .map_err(|_| Failure::new("the program did not end"))?
        .map_err(failed)?;
    listed.map_err(|failure| {
        let words = launch.arguments.iter().map(String::as_str);
        let line = shell::line([launch.program.as_str()].into_iter().chain(words));
        let message = format!("{}; to see why, run `{line}`", failure.message);
        Failure { message, ..failure }
    })
}
