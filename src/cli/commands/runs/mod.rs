//! `codeyard runs`: starts, shows, repairs and publishes launch runs.
//!
//! It calls the tools of the catalog `launch` and knows no run itself. Results go to standard output, progress to standard error. Invariants: a
//! run that works in this process is interrupted durably before the process ends; every message names the next command.

mod artifact;
mod demo;
mod diff;
mod event_line;
mod follow;
mod picture;
mod show;
mod start;

use std::io::IsTerminal;
use std::time::Duration;

use codeyard_catalog::CatalogId;
use codeyard_config::{LogFormat, LogLevel, LogSection};
use codeyard_launch::artifacts::patch::DiffReport;
use codeyard_runs::run_id::RunId;
use serde_json::{Value, json};

use self::follow::{RunWatcher, style};
use crate::Failure;
use crate::args::{OneRunArgs, RunTargetArgs, RunsCommand};
use crate::shared::mcp_client::Client;
use crate::shared::tool_session::{SessionTarget, ToolServer, call_failure};
use crate::shared::{assemble, logging, output};
use crate::terminal_style::TerminalStyle;

/// Longest wait for a stage of a run.
const WORK_LIMIT: Duration = Duration::from_secs(24 * 3_600);
/// Runs in one list.
const LIST_LIMIT: u64 = 200;

pub(crate) fn run(command: RunsCommand) -> Result<(), Failure> {
    let log = LogSection { format: LogFormat::Text, level: LogLevel::Error, ..LogSection::default() };
    let _flush = logging::install(&log);
    crate::runtime()?.block_on(async {
        match command {
            RunsCommand::Start(args) => start::run(args).await,
            RunsCommand::Demo { keep, color } => demo::run(keep, color).await,
            RunsCommand::List { state, product, limit, json, target } => {
                with_server(&target, async |server| {
                    let mut filter = json!({});
                    for (name, value) in [("state", state), ("product_slug", product)] {
                        if let Some(value) = value {
                            filter[name] = value.into();
                        }
                    }
                    list(server, &filter, limit, json).await
                })
                .await
            }
            RunsCommand::Show { run, follow, json } => {
                of_run(&run, async |session| session.show(follow, json).await).await
            }
            RunsCommand::Logs { run, follow, json } => {
                of_run(&run, async |session| session.logs(follow, json).await).await
            }
            RunsCommand::Artifact { run, name, output } => {
                of_run(&run, async |mut session| {
                    artifact::run(&mut session.client, &session.run, name.as_deref(), output.as_deref()).await
                })
                .await
            }
            RunsCommand::Diff { run, stat } => of_run(&run, async |session| session.diff(stat).await).await,
            RunsCommand::Validate { run } => of_run(&run, async |session| session.work("launch_validate").await).await,
            RunsCommand::Fix { run, all } => of_run(&run, async |session| session.fix(all).await).await,
            RunsCommand::Resume { run } => of_run(&run, async |session| session.work("launch_resume").await).await,
            RunsCommand::Cancel { run } => of_run(&run, async |session| session.work("launch_cancel").await).await,
            RunsCommand::OpenPr { run } => of_run(&run, async |session| session.work("launch_open_pr").await).await,
        }
    })
}

/// Does `work` with the server that the flags select. Ctrl-C ends it; a temporary server then interrupts its runs durably.
async fn with_server(
    target: &RunTargetArgs,
    work: impl AsyncFnOnce(&ToolServer) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let server = server_of(target).await?;
    let done = tokio::select! {
        done = work(&server) => done,
        _ = tokio::signal::ctrl_c() => {
            output::eprint_line(if server.is_temporary() {
                "codeyard: the run is interrupted; `codeyard runs resume latest` goes on with it"
            } else {
                "codeyard: the run goes on in the server; `codeyard runs show latest --follow` shows it"
            });
            // 128 and the number of the signal.
            Err(Failure { message: String::new(), code: 130 })
        }
    };
    server.shut_down().await;
    done
}

async fn server_of(target: &RunTargetArgs) -> Result<ToolServer, Failure> {
    if let Some(url) = &target.url {
        return Ok(ToolServer::Url { url: url.clone(), token: target.token.clone() });
    }
    let state = assemble::open_state(target.source.state_dir.as_deref())?;
    let session = SessionTarget {
        source: &target.source,
        workspace: target.workspace.as_deref(),
        file: None,
        catalogs: &|_| CatalogId::Launch.as_str(),
    };
    ToolServer::find(state, &session).await
}

struct RunSession<'s> {
    server: &'s ToolServer,
    client: Client,
    run: String,
    target: &'s RunTargetArgs,
}

async fn of_run(
    args: &OneRunArgs,
    work: impl AsyncFnOnce(RunSession<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    with_server(&args.target, async |server| {
        let mut client = server.client().await?.patient(WORK_LIMIT);
        let run = named_run(&mut client, &args.run).await?;
        work(RunSession { server, client, run, target: &args.target }).await
    })
    .await
}

/// The identifier of the run that `name` stands for.
async fn named_run(client: &mut Client, name: &str) -> Result<String, Failure> {
    if RunId::parse(name).is_some() {
        return Ok(name.to_owned());
    }
    let listed = call(client, "launch_list_runs", &json!({"limit": LIST_LIMIT})).await?;
    let all = listed["runs"].as_array().into_iter().flatten();
    let mut all = all.filter_map(|run| run["run_id"].as_str());
    let none =
        "there is no such run in this workspace; `codeyard runs list` shows its runs, --workspace selects another one";
    if name == "latest" {
        return all.next().map(str::to_owned).ok_or_else(|| Failure::missing(none));
    }
    let fitting: Vec<&str> = all.filter(|run| run.contains(name)).collect();
    match fitting.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(Failure::missing(none)),
        several => {
            let shown: Vec<&str> = several.iter().take(5).copied().collect();
            let message = format!(
                "{} runs have `{name}` in their identifier, such as {}; write more of it",
                several.len(),
                shown.join(", ")
            );
            Err(Failure::usage(message))
        }
    }
}

async fn call(client: &mut Client, tool: &str, arguments: &Value) -> Result<Value, Failure> {
    client.call(tool, arguments).await.map_err(|error| call_failure(&error))
}

/// The style of standard output.
fn stdout_style(target: &RunTargetArgs) -> TerminalStyle {
    style(target.color, std::io::stdout().is_terminal())
}

async fn list(server: &ToolServer, filter: &Value, limit: u64, json: bool) -> Result<(), Failure> {
    let mut client = server.client().await?;
    let listed = call(&mut client, "launch_list_runs", &json!({"filter": filter, "limit": limit})).await?;
    output::print_json_or(json, &listed, || {
        let runs = listed["runs"].as_array().map_or(&[][..], Vec::as_slice);
        if runs.is_empty() {
            return "no runs; `codeyard runs start` starts one, `codeyard runs demo` shows one\n".to_owned();
        }
        let head = ["RUN", "PRODUCT", "STATE", "STARTED", "FINISHED"].map(str::to_owned).to_vec();
        let text = |run: &Value, name: &str| run[name].as_str().unwrap_or("-").to_owned();
        let row = |run: &Value| {
            ["run_id", "product_slug", "state", "started_at", "finished_at"].map(|name| text(run, name)).to_vec()
        };
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(runs.iter().map(row)).collect();
        let more = if listed["next_cursor"].is_string() { "and more; --limit shows them\n" } else { "" };
        format!("{}{more}", output::columns(&rows))
    })
}

impl RunSession<'_> {
    fn id(&self) -> Value {
        json!({"run_id": self.run})
    }

    async fn watcher(&self) -> Result<RunWatcher, Failure> {
        Ok(RunWatcher::new(self.server.client().await?, &self.run, self.target.color))
    }

    async fn status(&mut self) -> Result<Value, Failure> {
        let id = self.id();
        Ok(call(&mut self.client, "launch_get_status", &id).await?["status"].take())
    }

    fn print_status(&self, status: &Value) -> Result<(), Failure> {
        output::print_styled(&show::status_text(status, stdout_style(self.target)))
    }

    async fn show(mut self, follow: bool, json: bool) -> Result<(), Failure> {
        if !follow {
            let status = self.status().await?;
            return if json { output::print_json(&status) } else { self.print_status(&status) };
        }
        let status = self.watcher().await?.until_settled().await?;
        if json {
            output::print_json(&status)?;
        } else {
            self.print_status(&status)?;
        }
        show::outcome(&status)
    }

    async fn logs(self, follow: bool, json: bool) -> Result<(), Failure> {
        let style = stdout_style(self.target);
        let mut watcher = self.watcher().await?;
        loop {
            let status = watcher.status().await?;
            for event in watcher.new_events().await? {
                match json {
                    true => output::print_json_line(&event.to_string())?,
                    false => output::print(format_args!("{}\n", style.safe(&event_line::event_line(&event))))?,
                }
            }
            if !follow || follow::is_settled(&status) || output::reader_is_gone() {
                return Ok(());
            }
            tokio::time::sleep(follow::POLL).await;
        }
    }

    async fn diff(mut self, stat: bool) -> Result<(), Failure> {
        let (content, _) = artifact::read(&mut self.client, &self.run, "diff_report.json").await?;
        let report: DiffReport = serde_json::from_slice(&content).map_err(|error| {
            Failure::new(format!(
                "diff_report.json can't be read: {error}; `codeyard runs validate {}` makes it anew",
                self.run
            ))
        })?;
        let style = stdout_style(self.target);
        output::print_styled(&if stat { diff::stat(&report, style) } else { diff::unified(&report, |_| true, style) })
    }

    /// Calls a tool that may take long, and shows the run meanwhile and afterwards.
    async fn work(mut self, tool: &str) -> Result<(), Failure> {
        self.watched(tool).await?;
        let status = self.status().await?;
        self.print_status(&status)?;
        show::outcome(&status)
    }

    async fn watched(&mut self, tool: &str) -> Result<Value, Failure> {
        let id = self.id();
        let mut watcher = self.watcher().await?;
        watcher.skip().await?;
        watcher.during(self.client.call(tool, &id)).await
    }

    async fn fix(mut self, all: bool) -> Result<(), Failure> {
        loop {
            let fixed = self.watched("launch_fix_next").await?;
            match fixed["fixed_issue_id"].as_str() {
                Some(issue) => output::eprint_line(format_args!("repaired {issue}")),
                None => output::eprint_line("an attempt has failed and is undone"),
            }
            let status = self.status().await?;
            if !all || status["state"] != "VALIDATING" || fixed["validation_report"]["ok"] == true {
                self.print_status(&status)?;
                return show::outcome(&status);
            }
        }
    }
}
