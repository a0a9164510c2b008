//! The test of a connection: a session as the host would open it.
//!
//! Invariant: a program that was started for the test has ended when the test has.

use std::process::Stdio;

use tokio::process::{ChildStdin, ChildStdout};

use super::target::Target;
use super::template::Values;
use crate::Failure;
use crate::shared::mcp_client::{Client, ClientError};
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_process::sibling;

/// Opens a session with `target` and lists its tools; returns a sentence.
pub(super) async fn check(target: &Target, values: &Values<'_>, token: Option<&str>) -> Result<String, Failure> {
    let started = Instant::now();
    let (tools, how) = match target {
        Target::Http { url, .. } => (tools(Client::over_http(url, token).await).await?, format!("over HTTP at {url}")),
        Target::Stdio => (over_stdio(values).await?, "over stdio".to_owned()),
    };
    let names = tools.join(", ");
    let took = started.elapsed().as_secs_f64();
    Ok(format!("{} {} ({names}) {how}, in {took:.1} s", tools.len(), if tools.len() == 1 { "tool" } else { "tools" }))
}

async fn tools(client: Result<Client, ClientError>) -> Result<Vec<String>, Failure> {
    let failed = |error: ClientError| Failure::new(error.to_string());
    let mut client = client.map_err(failed)?;
    let listed = client.tools().await;
    client.close().await;
    listed.map_err(failed)
}

async fn over_stdio(values: &Values<'_>) -> Result<Vec<String>, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("cannot start {}: {error}", values.program.display()));
    let mut command = sibling::command(values.program);
    command.args(values.arguments()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
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
        let arguments = values.arguments().join(" ");
        let message = format!("{}; to see why, run `codeyard {arguments}`", failure.message);
        Failure { message, ..failure }
    })
}
