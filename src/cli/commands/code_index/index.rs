//! `codeyard index`: updates an index, watches for changes, prints statistics, verifies it, collects garbage.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration};
use serde_json::json;
use tokio::sync::Notify;

use super::{Extent, job_failure, open, refusal_failure, sync};
use crate::Failure;
use crate::args::{IndexArgs, IndexCommand, IndexLocationArgs};
use crate::shared::output;
use codeyard_base::clock::{Instant, wall_ns};
use codeyard_files::watch::{Subscription, WatchSpec, Watcher};
use codeyard_index::{JobSummary, Project};
use codeyard_model::code::IndexStatus;

/// Pause after a change, to handle further changes in the same job.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// Runs the subcommand; updates the index without one.
pub(crate) fn run(args: IndexArgs) -> Result<(), Failure> {
    match &args.command {
        Some(IndexCommand::Stats(location)) => stats(location),
        Some(IndexCommand::Verify(location)) => verify(location),
        Some(IndexCommand::Gc(location)) => collect_garbage(location),
        None => index(&args),
    }
}

fn index(args: &IndexArgs) -> Result<(), Failure> {
    let extent = if args.force { Extent::Any } else { Extent::Ordinary("index") };
    let project = Arc::new(open(&args.location, None, extent)?);
    let stopper = project.stop_signal();
    let runtime = crate::runtime()?;
    // Ctrl-C stops the job cleanly: what it published stays, and the next job continues from there.
    runtime.spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopper.set();
        }
    });
    let began = Instant::now();
    if args.watch {
        return runtime.block_on(watch_and_index(project, args.force, args.location.json));
    }
    let published = sync(&project, args.reference.as_deref(), args.force, true)?;
    print_result(&project, args.reference.as_deref(), &published, began.elapsed(), args.location.json)
}

fn print_result(
    project: &Project,
    reference: Option<&str>,
    published: &JobSummary,
    took: Duration,
    json: bool,
) -> Result<(), Failure> {
    let status = project.status(reference).map_err(|refusal| refusal_failure(&refusal))?;
    let left_out: serde_json::Map<String, serde_json::Value> =
        status.left_out.iter().map(|(why, files)| ((*why).to_owned(), (*files).into())).collect();
    let value = json!({
        "root": project.root(), "ref": status.metadata.reference, "files": published.files, "changed_files": published.changed,
        "symbols": published.symbols, "left_out": left_out, "passed_over": published.skipped, "seconds": took.as_secs_f64(),
    });
    output::print_json_or(json, &value, || {
        let mut text = format!(
            "indexed {} at {}: {} files ({} read), {} symbols, in {}\n",
            project.root().display(),
            status.metadata.reference,
            HumanCount(published.files),
            HumanCount(published.changed),
            HumanCount(published.symbols),
            shown(took)
        );
        let (unparsed, unsearched): (Vec<_>, Vec<_>) =
            status.left_out.iter().partition(|(why, _)| IndexStatus::UNPARSED.contains(why));
        for (what, files) in [("not searched", unsearched), ("searched, but not parsed", unparsed)] {
            let each: Vec<String> =
                files.iter().map(|(why, files)| format!("{files} {}", why.replace('_', " "))).collect();
            if !each.is_empty() {
                text.push_str(&format!("{what}: {}\n", each.join(", ")));
            }
        }
        if published.skipped > 0 {
            let what = "unreadable folders, file names that are not UTF-8, or files beyond the file limit";
            text.push_str(&format!("skipped: {} ({what})\n", published.skipped));
        }
        text
    })
}

fn shown(took: Duration) -> String {
    if took < Duration::from_secs(60) {
        format!("{:.1} s", took.as_secs_f64())
    } else {
        HumanDuration(took).to_string()
    }
}

/// Updates the index after every change, until Ctrl-C.
async fn watch_and_index(project: Arc<Project>, force: bool, json: bool) -> Result<(), Failure> {
    let change_signal = Arc::new(Notify::new());
    let subscription = watch(project.root(), change_signal.clone())?;
    let mut force = force;
    loop {
        let began = Instant::now();
        let done = tokio::task::spawn_blocking({
            let project = project.clone();
            move || {
                let published = sync(&project, None, force, !json)?;
                print_result(&project, None, &published, began.elapsed(), json)
            }
        });
        done.await.map_err(|_| Failure::new("the indexing task failed; run `codeyard index verify`"))??;
        force = false;
        loop {
            tokio::select! {
                () = change_signal.notified() => {}
                _ = tokio::signal::ctrl_c() => return Ok(()),
            }
            tokio::time::sleep(DEBOUNCE).await;
            subscription.barrier().await;
            let changes = subscription.take();
            if changes.is_empty() {
                continue;
            }
            // Where not all folders are watched, files may have changed without an event.
            if changes.bulk || changes.index_only_rescan || subscription.index_degraded().is_some() {
                project.mark_all_changed();
            }
            let below = |path: &Path| path.strip_prefix(project.root()).ok().and_then(Path::to_str).map(str::to_owned);
            let changed = changes.files.iter().map(|change| &change.path).chain(&changes.index_only);
            project.mark_changed(changed.filter_map(|path| below(path)));
            break;
        }
    }
}

fn watch(root: &Path, change_signal: Arc<Notify>) -> Result<Subscription, Failure> {
    let failed = |error: &dyn std::error::Error| {
        Failure::new(format!("cannot watch for changes: {error}; run `codeyard index` after changes instead"))
    };
    let spec = WatchSpec {
        roots: vec![root.to_owned()],
        is_source: Arc::new(|_| true),
        look: Arc::new(|_| None),
        since_ns: wall_ns(),
        follows_index: true,
        on_change: Arc::new(move || change_signal.notify_one()),
    };
    let watcher = Watcher::new(root).map_err(|error| failed(&error))?;
    watcher.subscribe(spec).map_err(|error| failed(&error))
}

fn stats(location: &IndexLocationArgs) -> Result<(), Failure> {
    let project = open(location, None, Extent::Any)?;
    let stats = project.stats().map_err(|refusal| refusal_failure(&refusal))?;
    let job = project.active_job();
    let manifests: Vec<serde_json::Value> = stats
        .manifests
        .iter()
        .map(|(name, files, symbols)| json!({"name": name, "files": files, "symbols": symbols}))
        .collect();
    let value = json!({
        "root": project.root(), "schema_status": project.schema().0.as_str(), "manifests": manifests,
        "contents": stats.contents.0, "loose_contents": stats.contents.1, "text_segments": stats.segments.0,
        "text_bytes": stats.segments.1, "bytes": stats.bytes, "active_job": job.as_ref().map(|job| &job.job_id),
    });
    output::print_json_or(location.json, &value, || {
        if stats.manifests.is_empty() && job.is_none() {
            return format!("no index for {}; run `codeyard index`\n", project.root().display());
        }
        let head = ["TREE OR REF", "FILES", "SYMBOLS"].map(str::to_owned).to_vec();
        let row = |(name, files, symbols): &(String, u64, u64)| {
            vec![name.clone(), HumanCount(*files).to_string(), HumanCount(*symbols).to_string()]
        };
        let mut text =
            output::columns(&std::iter::once(head).chain(stats.manifests.iter().map(row)).collect::<Vec<_>>());
        text.push_str(&format!(
            "{} file contents, {} of text index in {} segments, {} on disk\n",
            HumanCount(stats.contents.0),
            HumanBytes(stats.segments.1),
            stats.segments.0,
            HumanBytes(stats.bytes)
        ));
        if let Some(job) = &job {
            text.push_str(&format!("job {} is {}\n", job.job_id, job.status.as_str()));
        }
        text
    })
}

fn verify(location: &IndexLocationArgs) -> Result<(), Failure> {
    let project = open(location, None, Extent::Any)?;
    if let Some(message) = project.startup().message {
        return Err(Failure::new(message));
    }
    let wrong = project.verify().map_err(|refusal| refusal_failure(&refusal))?;
    output::print_json_or(location.json, &json!({"root": project.root(), "wrong": wrong}), || {
        match wrong.is_empty() {
            true => "the index is valid\n".to_owned(),
            false => wrong.iter().map(|line| format!("{line}\n")).collect(),
        }
    })?;
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new("the index is damaged; run `codeyard index --force`")) }
}

fn collect_garbage(location: &IndexLocationArgs) -> Result<(), Failure> {
    let project = open(location, None, Extent::Any)?;
    let removed = project.collect_garbage().map_err(|error| job_failure(&error))?;
    let Some(removed) = removed else {
        return Err(Failure::new("a job is writing the index; try again when `codeyard index stats` shows no job"));
    };
    let value = json!({"manifests": removed.manifests, "contents": removed.contents, "bytes": removed.bytes});
    output::print_json_or(location.json, &value, || {
        format!(
            "removed {} trees or refs and {} file contents; freed {}\n",
            removed.manifests,
            removed.contents,
            HumanBytes(removed.bytes)
        )
    })
}
