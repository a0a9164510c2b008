//! What can't be read once is read by the next job: files without permission, missing objects, and readers of git that are killed.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use super::*;
use crate::job::JobPhase;

/// Runs `work` on a thread, and on those that it starts, that may read a file only if its mode allows it.
fn without_privileges<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let run = || {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, sets).unwrap();
        work()
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}

/// Waits until stamps from before are old enough that the next job trusts them.
fn wait_until_stamps_are_trusted() {
    let time = std::time::Duration::from_millis(u64::from(codeyard_files::limits::FRESH_STAMP_MS) + 1_500);
    assert!(!crate::StopSignal::default().wait(time));
}

#[test]
fn a_file_that_was_unreadable_is_read_by_the_next_job_though_its_stamp_is_the_same() {
    let place = TestRoot::new(&[("a.rs", "fn readable() {}\n"), ("b.rs", "fn hidden() {}\n")]);
    let allow = |mode| fs::set_permissions(place.root.join("b.rs"), fs::Permissions::from_mode(mode)).unwrap();
    allow(0);
    wait_until_stamps_are_trusted();
    let project = place.project();
    let summary = without_privileges(|| sync(&project, None));
    assert_eq!((summary.files, summary.changed), (1, 1), "a file that isn't read doesn't count as read");
    assert_eq!(project.status(None).unwrap().left_out, [("unreadable", 1)]);
    // A privileged process may read it. For others its mode, and with it its stamp, must change.
    if fs::read(place.root.join("b.rs")).is_err() {
        allow(0o600);
    }
    project.watch();
    project.mark_changed(["a.rs".to_owned()]);
    assert_eq!(sync(&project, None).files, 2, "also by a job that looks at other files");
    assert_eq!(project.status(None).unwrap().left_out, []);
    assert_eq!(located(&project, LocateBy::Name("hidden".to_owned())).unwrap().rows.len(), 1);
}

#[test]
fn an_object_that_was_missing_is_read_by_the_next_job_of_the_same_commit() {
    for (name, is_forced) in [("main", false), ("main", true), ("same", false)] {
        let place = TestRoot::new(&[("a.rs", "fn readable() {}\n"), ("b.rs", "fn hidden() {}\n")]);
        place.git(&["init", "-q", "-b", "main"]);
        place.commit();
        place.git(&["branch", "same"]);
        let id = place.git(&["rev-parse", "main:b.rs"]);
        let object = place.root.join(".git/objects").join(&id[..2]).join(&id[2..]);
        let bytes = fs::read(&object).unwrap();
        let project = place.project();
        for damaged in [None, Some(b"no object".as_slice())] {
            fs::remove_file(&object).unwrap();
            damaged.iter().for_each(|bytes| fs::write(&object, bytes).unwrap());
            assert_eq!(sync(&project, Some("main")).files, 1);
            assert_eq!(project.status(Some("main")).unwrap().left_out, [("unreadable", 1)]);
            fs::remove_file(&object).ok();
            fs::write(&object, &bytes).unwrap();
            let ticket = project.prepare(Some(name), is_forced).unwrap_or_else(|active| panic!("{active:?}"));
            assert_eq!(project.run(&ticket).unwrap().files, 2, "{name} {is_forced}");
            assert_eq!(lines_at(&project, "hidden", Some(name)), ["b.rs:1:fn hidden() {}"], "{name} {is_forced}");
            assert_eq!(project.status(Some(name)).unwrap().left_out, []);
            fs::remove_dir_all(project.index_dir.folder()).unwrap();
        }
    }
}

/// The reader processes of the repository at `root`.
fn readers(root: &Path) -> Vec<Pid> {
    let is_reader = |folder: &Path| {
        let line = String::from_utf8_lossy(&fs::read(folder.join("cmdline")).unwrap_or_default()).into_owned();
        line.contains("__git-reader") && line.contains(root.to_str().unwrap())
    };
    let folders = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let number = |folder: PathBuf| folder.file_name()?.to_str()?.parse().ok().and_then(Pid::from_raw);
    folders.filter(|folder| is_reader(folder)).filter_map(number).collect()
}

/// Runs a job while all readers are killed again and again from the beginning of this phase on.
fn run_with_killed_readers(place: &TestRoot, project: &Project, phase: JobPhase) -> Result<u64, JobError> {
    let ticket = project.prepare(Some("main"), false).unwrap_or_else(|active| panic!("{active:?}"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                if ticket.progress.snapshot().phase == phase {
                    for reader in readers(&place.root) {
                        // It may have ended by itself.
                        let _ = rustix::process::kill_process(reader, Signal::KILL);
                    }
                }
            }
        });
        let done = project.run(&ticket).map(|summary| summary.symbols);
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

#[test]
fn a_job_whose_readers_of_git_are_killed_fails_and_the_next_one_has_everything() {
    const FILES: usize = 400;
    for phase in [JobPhase::Reading, JobPhase::Parsing] {
        let place = TestRoot::new(&[]);
        for at in 0..FILES {
            place.write(&format!("f{at}.rs"), &format!("fn of_{at}() {{}}\n"));
        }
        place.git(&["init", "-q", "-b", "main"]);
        place.commit();
        let project = place.project();
        match run_with_killed_readers(&place, &project, phase) {
            // Each process answered before it was killed.
            Ok(symbols) => assert_eq!(symbols, FILES as u64, "{phase:?}: symbols are missing from a published index"),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("'main'") && text.contains("try again") && text.contains("git fsck"), "{text}");
            }
        }
        let summary = sync(&project, Some("main"));
        assert_eq!((summary.files, summary.symbols), (FILES as u64, FILES as u64), "{phase:?}");
        assert_eq!(project.status(Some("main")).unwrap().left_out, [], "{phase:?}");
        assert_eq!(lines_at(&project, "of_399", Some("main")), ["f399.rs:1:fn of_399() {}"], "{phase:?}");
    }
}

#[test]
fn the_running_job_is_known_at_once_while_a_job_waits_for_the_repository() {
    let place = TestRoot::new(&[("a.rs", "fn readable() {}\n")]);
    place.git(&["init", "-q", "-b", "main"]);
    place.commit();
    let project = place.project();
    // As while a reader of the repository, or its file system, doesn't answer.
    let held = project.git.lock();
    let (began, has_begun) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let preparing = scope.spawn(|| {
            began.send(()).unwrap();
            project.prepare(Some("main"), false).unwrap_or_else(|active| panic!("{active:?}"))
        });
        has_begun.recv().unwrap();
        for _ in 0..200 {
            let progress = project.progress.try_lock_for(std::time::Duration::from_secs(5));
            assert!(progress.expect("the progress is locked while the repository is awaited").is_none());
            crate::StopSignal::default().wait(std::time::Duration::from_millis(1));
        }
        drop(held);
        let ticket = preparing.join().unwrap();
        assert!(project.running_job().is_some());
        project.run(&ticket).unwrap();
    });
}
