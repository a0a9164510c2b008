//! `codeyard index`: making, following, describing, checking and sweeping an index.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration};
use serde_json::json;
use tokio::sync::Notify;

use super::{open, refused, sync, told};
use crate::args::{IndexArgs, IndexCommand, PlaceArgs};
use crate::{Failure, output};
use codeyard_base::clock::{Instant, wall_ns};
use codeyard_files::watch::{Subscription, WatchSpec, Watcher};
use codeyard_index::{Project, Published};

/// After a change so long is waited for more of them.
const GATHER: Duration = Duration::from_millis(50);

/// Does what the flags say.
pub(crate) fn run(args: IndexArgs) -> Result<(), Failure> {
    match &args.command {
        Some(IndexCommand::Stats(place)) => stats(place),
        Some(IndexCommand::Verify(place)) => verify(place),
        Some(IndexCommand::Gc(place)) => sweep(place),
        None => index(&args),
    }
}

fn index(args: &IndexArgs) -> Result<(), Failure> {
    let project = Arc::new(open(&args.place, None)?);
    let stopper = project.stopper();
    let runtime = crate::runtime()?;
    // Ctrl-C ends the job cleanly: what it published stays, and the next one goes on from there.
    runtime.spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopper.set();
        }
    });
    let began = Instant::now();
    if args.watch {
        return runtime.block_on(follow(project, args.force, args.place.json));
    }
    let published = sync(&project, args.reference.as_deref(), args.force, true)?;
    tell(&project, args.reference.as_deref(), &published, began.elapsed(), args.place.json)
}

fn tell(
    project: &Project,
    reference: Option<&str>,
    published: &Published,
    took: Duration,
    json: bool,
) -> Result<(), Failure> {
    let status = project.status(reference).map_err(|refusal| refused(&refusal))?;
    let left_out: serde_json::Map<String, serde_json::Value> =
        status.left_out.iter().map(|(why, files)| ((*why).to_owned(), (*files).into())).collect();
    let value = json!({
        "root": project.root(), "ref": status.metadata.reference, "files": published.files, "changed_files": published.changed,
        "symbols": published.symbols, "left_out": left_out, "passed_over": published.passed_over, "seconds": took.as_secs_f64(),
    });
    output::print_either(json, &value, || {
        let mut text = format!(
            "indexed {} at {}: {} files ({} read), {} symbols, in {}\n",
            project.root().display(),
            status.metadata.reference,
            HumanCount(published.files),
            HumanCount(published.changed),
            HumanCount(published.symbols),
            shown(took)
        );
        if !status.left_out.is_empty() {
            let each: Vec<String> =
                status.left_out.iter().map(|(why, files)| format!("{files} {}", why.replace('_', " "))).collect();
            text.push_str(&format!("not searched: {}\n", each.join(", ")));
        }
        if published.passed_over > 0 {
            let what = "folders that may not be read, or files with names that aren't UTF-8 or beyond the most";
            text.push_str(&format!("passed over: {} ({what})\n", published.passed_over));
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

/// Indexes, and then whatever changes, until it is stopped.
async fn follow(project: Arc<Project>, force: bool, json: bool) -> Result<(), Failure> {
    let bell = Arc::new(Notify::new());
    let subscription = watch(project.root(), bell.clone())?;
    subscription.follow_index();
    subscription.barrier().await;
    let mut force = force;
    loop {
        let began = Instant::now();
        let done = tokio::task::spawn_blocking({
            let project = project.clone();
            move || {
                let published = sync(&project, None, force, !json)?;
                tell(&project, None, &published, began.elapsed(), json)
            }
        });
        done.await.map_err(|_| Failure::new("indexing failed; run `codeyard index verify`"))??;
        force = false;
        loop {
            tokio::select! {
                () = bell.notified() => {}
                _ = tokio::signal::ctrl_c() => return Ok(()),
            }
            tokio::time::sleep(GATHER).await;
            subscription.barrier().await;
            let changes = subscription.take();
            if changes.is_empty() {
                continue;
            }
            // Where not everything is followed anything may have changed beside what is told.
            if changes.bulk || changes.aside_bulk || subscription.index_degraded().is_some() {
                project.changed_somehow();
            }
            let below = |path: &Path| path.strip_prefix(project.root()).ok().and_then(Path::to_str).map(str::to_owned);
            let changed = changes.files.iter().map(|change| &change.path).chain(&changes.aside);
            project.changed(changed.filter_map(|path| below(path)));
            break;
        }
    }
}

fn watch(root: &Path, bell: Arc<Notify>) -> Result<Subscription, Failure> {
    let failed = |error: &dyn std::error::Error| {
        Failure::new(format!("changes can't be followed: {error}; run `codeyard index` after changes instead"))
    };
    let spec = WatchSpec {
        roots: vec![root.to_owned()],
        is_source: Arc::new(|_| true),
        since_ns: wall_ns(),
        on_change: Arc::new(move || bell.notify_one()),
    };
    let watcher = Watcher::new(root).map_err(|error| failed(&error))?;
    watcher.subscribe(spec).map_err(|error| failed(&error))
}

fn stats(place: &PlaceArgs) -> Result<(), Failure> {
    let project = open(place, None)?;
    let stats = project.stats().map_err(|refusal| refused(&refusal))?;
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
    output::print_either(place.json, &value, || {
        if stats.manifests.is_empty() && job.is_none() {
            return format!("nothing is indexed of {}; run `codeyard index`\n", project.root().display());
        }
        let head = ["TREE OR REF", "FILES", "SYMBOLS"].map(str::to_owned).to_vec();
        let row = |(name, files, symbols): &(String, u64, u64)| {
            vec![name.clone(), HumanCount(*files).to_string(), HumanCount(*symbols).to_string()]
        };
        let mut text =
            output::columns(&std::iter::once(head).chain(stats.manifests.iter().map(row)).collect::<Vec<_>>());
        text.push_str(&format!(
            "{} contents, {} of text index in {} segments, {} on disk\n",
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

fn verify(place: &PlaceArgs) -> Result<(), Failure> {
    let project = open(place, None)?;
    if let Some(message) = project.startup().message {
        return Err(Failure::new(message));
    }
    let wrong = project.verify().map_err(|refusal| refused(&refusal))?;
    output::print_either(place.json, &json!({"root": project.root(), "wrong": wrong}), || match wrong.is_empty() {
        true => "the index is whole\n".to_owned(),
        false => wrong.iter().map(|line| format!("{line}\n")).collect(),
    })?;
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new("the index is damaged; run `codeyard index --force`")) }
}

fn sweep(place: &PlaceArgs) -> Result<(), Failure> {
    let project = open(place, None)?;
    let swept = project.sweep().map_err(|error| told(&error))?;
    let Some(swept) = swept else {
        return Err(Failure::new("a job is writing the index; try again when `codeyard index stats` shows none"));
    };
    let value = json!({"manifests": swept.manifests, "contents": swept.contents, "bytes": swept.bytes});
    output::print_either(place.json, &value, || {
        format!(
            "forgot {} trees or refs and {} contents; {} are free\n",
            swept.manifests,
            swept.contents,
            HumanBytes(swept.bytes)
        )
    })
}
