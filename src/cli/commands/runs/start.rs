//! `codeyard runs start`: starts a run from a configuration or an address, and follows it.

use std::io::Read;
use std::path::Path;

use codeyard_launch::request::config_text::{self, ConfigForm};
use codeyard_model::limits::MAX_REQUEST_BYTES;
use serde_json::{Value, json};

use super::follow::RunWatcher;
use super::{WORK_LIMIT, call, show, stdout_style, with_server};
use crate::Failure;
use crate::args::StartRunArgs;
use crate::shared::output;

pub(super) async fn run(args: StartRunArgs) -> Result<(), Failure> {
    let (tool, mut arguments) = request(&args)?;
    if let Some(key) = &args.key {
        arguments["idempotency_key"] = key.clone().into();
    }
    with_server(&args.target, async |server| {
        if args.no_follow && server.is_temporary() {
            let message =
                "no server runs that could go on with the run; start one with `codeyard serve`, or omit --no-follow";
            return Err(Failure::missing(message));
        }
        let mut client = server.client().await?.patient(WORK_LIMIT);
        let started = call(&mut client, tool, &arguments).await?;
        let run = started["run_id"].as_str().unwrap_or_default().to_owned();
        if started["replayed"] == true {
            output::eprint_line(format_args!("codeyard: the run {run} exists already, started with the same key"));
        }
        if args.no_follow {
            return output::print(format_args!("{run}\n"));
        }
        let mut watcher = RunWatcher::new(server.client().await?, &run, args.target.color);
        let status = watcher.until_settled().await?;
        output::print_styled(&show::status_text(&status, stdout_style(&args.target)))?;
        show::outcome(&status)
    })
    .await
}

fn request(args: &StartRunArgs) -> Result<(&'static str, Value), Failure> {
    match (&args.file, &args.product_url, &args.repository) {
        (_, Some(url), _) => Ok(("launch_start_run_from_product_url", json!({ "url": url }))),
        (_, _, Some(url)) => Ok(("launch_start_run_from_github_repo_url", json!({ "github_repo_url": url }))),
        (Some(file), ..) => Ok(("launch_start_run", json!({ "run_config": configuration(file)? }))),
        _ => Err(Failure::usage("name a configuration, or an address with --product-url or --repository")),
    }
}

/// The configuration in a file, or on standard input.
fn configuration(file: &Path) -> Result<Value, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("cannot read {}: {error}; name a readable file, or `-`", file.display()))
    };
    let limit = MAX_REQUEST_BYTES as u64;
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().take(limit).read_to_string(&mut text).map_err(failed)?;
    } else {
        std::fs::File::open(file).map_err(failed)?.take(limit).read_to_string(&mut text).map_err(failed)?;
    }
    let form = ConfigForm::of_name(&file.to_string_lossy());
    config_text::parse(&text, form).map_err(|why| {
        Failure::usage(format!("{} is no valid configuration: {why}; correct it, then start again", file.display()))
    })
}
