//! Tests of the log as a whole: its chain, its files, several processes, and processes that are killed.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::*;
use codeyard_config::{AuditFailure, AuditSection};
use serde_json::Value;

/// Names the folder to a child of the tests.
const FOLDER: &str = "CODEYARD_AUDIT_TEST_FOLDER";

fn settings() -> AuditSection {
    AuditSection { enabled: true, ..AuditSection::default() }
}

fn call(tool: &str) -> AuditEvent<'_> {
    AuditEvent { tool: Some(tool), ..AuditEvent::new(EventKind::Call, "ok") }
}

fn verified(folder: &Path) -> Result<Verification, String> {
    verify(&AuditFiles::in_folder(folder).unwrap(), None).map_err(|error| error.to_string())
}

fn lines(folder: &Path) -> Vec<Value> {
    let files = AuditFiles::in_folder(folder).unwrap();
    files.lines().map(|line| serde_json::from_slice(&line.unwrap().bytes).unwrap()).collect()
}

/// A log with its first line and these calls.
fn log_of(folder: &Path, calls: usize) -> AuditLog {
    let log = AuditLog::start(folder, &settings()).unwrap();
    for _ in 0..calls {
        log.append(&call("hover")).unwrap();
    }
    log
}

#[test]
fn lines_are_chained_and_a_command_continues_the_chain() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("audit");
    assert!(AuditLog::of_service(&folder).unwrap().is_none(), "no service keeps a log there");
    let log = log_of(&folder, 2);
    let command = AuditLog::of_service(&folder).unwrap().unwrap();
    command.append(&AuditEvent::new(EventKind::Token, "ok")).unwrap();
    let last = log.append(&call("hover")).unwrap();
    let found = verified(&folder).unwrap();
    assert_eq!((found.first, found.last, found.files, found.unfinished), (1, last, 1, 0));
    let events: Vec<String> = lines(&folder).iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(events, ["service", "call", "call", "token", "call"]);
    AuditLog::end(&folder).unwrap();
    assert!(AuditLog::of_service(&folder).unwrap().is_none());
    assert_eq!(lines(&folder).last().unwrap()["operation"], "audit_off");
}

#[test]
fn each_change_of_the_files_is_found() {
    let dir = tempfile::tempdir().unwrap();
    drop(log_of(dir.path(), 4));
    let path = dir.path().join("audit.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let all: Vec<&str> = whole.lines().collect();
    let intact = verified(dir.path()).unwrap().last;
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let changed = all[2].replace("hover", "definition");
    for (what, text, problem) in [
        ("a changed line", joined(&[all[0], all[1], &changed, all[3]]), "line 4: line 3 before it was changed"),
        ("a missing line", joined(&[all[0], all[1], all[3], all[4]]), "line 3: the lines 3 to 3 before it are missing"),
        (
            "lines that were swapped",
            joined(&[all[0], all[2], all[1], all[3]]),
            "line 2: the lines 2 to 2 before it are",
        ),
        ("a line twice", joined(&[all[0], all[1], all[1], all[2]]), "line 3: it has the number 2 instead of 3"),
        ("another text", joined(&[all[0], "hello", all[1]]), "line 2: no line of an audit log"),
        ("a new beginning", joined(&[&all[0].replace("\"seq\":1,", "\"seq\":2,"), all[1]]), "don't fit together"),
    ] {
        fs::write(&path, text).unwrap();
        let error = verified(dir.path()).unwrap_err();
        assert!(error.contains(problem), "{what}: {error}");
    }
    // The end alone can be cut off without a break in the chain: an anchor shows it.
    fs::write(&path, joined(&all[..3])).unwrap();
    assert_eq!(verified(dir.path()).unwrap().last.seq, 3);
    let anchor = |seq, hash: String| Anchor { seq, hash };
    let files = AuditFiles::in_folder(dir.path()).unwrap();
    let error = verify(&files, Some(&anchor(intact.seq, intact.hash_text()))).unwrap_err().to_string();
    assert_eq!(error, "there is no line 5; the log has 1 to 3");
    let error = verify(&files, Some(&anchor(2, "0".repeat(64)))).unwrap_err().to_string();
    assert!(error.starts_with("line 2 has the hash "), "{error}");
    fs::write(&path, whole).unwrap();
    verify(&files, Some(&anchor(intact.seq, intact.hash_text()))).unwrap();
}

#[test]
fn full_files_are_closed_and_the_chain_goes_on_in_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = chain_file::ChainFile::open(dir.path(), 600, None).unwrap();
    for _ in 0..20 {
        file.append(&call("hover")).unwrap();
    }
    let found = verified(dir.path()).unwrap();
    assert_eq!((found.first, found.last.seq), (1, 20));
    assert!(found.files >= 5, "{found:?}");
    // Another process finds the end of the chain in a closed file, if no other is there.
    let newest = AuditFiles::in_folder(dir.path()).unwrap();
    if dir.path().join("audit.jsonl").exists() {
        while AuditFiles::in_folder(dir.path()).unwrap().paths().count() == newest.paths().count() {
            file.append(&call("hover")).unwrap();
        }
    }
    let last = verified(dir.path()).unwrap().last;
    let mut other = chain_file::ChainFile::open(dir.path(), 600, None).unwrap();
    assert_eq!(other.append(&call("hover")).unwrap().0.seq, last.seq + 1);
    verified(dir.path()).unwrap();
    // Old files go, from the oldest on; what is left is intact, and says where it begins.
    let age = |path: &Path| {
        let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    };
    let closed: Vec<std::path::PathBuf> = AuditFiles::in_folder(dir.path()).unwrap().closed().to_vec();
    let keeping = chain_file::ChainFile::open(dir.path(), 600, Some(Duration::from_secs(86_400))).unwrap();
    age(&closed[2]);
    assert_eq!(keeping.remove_old(), [""; 0].map(std::path::PathBuf::from), "a gap would look like a removal");
    age(&closed[0]);
    assert_eq!(keeping.remove_old(), closed[..1]);
    closed[1..].iter().for_each(|path| age(path));
    assert_eq!(keeping.remove_old(), closed[1..closed.len() - 1], "the newest has the end of the chain");
    let found = verified(dir.path()).unwrap();
    assert!(found.first > 1 && found.last.seq > 20, "{found:?}");
}

#[test]
fn what_a_killed_process_began_to_write_is_cut_off_and_a_damaged_line_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    drop(log_of(dir.path(), 1));
    let path = dir.path().join("audit.jsonl");
    let append =
        |text: &str| fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
    append("{\"seq\":3,\"at\":");
    assert_eq!(verified(dir.path()).unwrap().unfinished, 14);
    let log = AuditLog::of_service(dir.path()).unwrap().unwrap();
    log.append(&call("hover")).unwrap();
    let found = verified(dir.path()).unwrap();
    assert_eq!((found.last.seq, found.unfinished), (3, 0));
    append("hello\n");
    let error = log.append(&call("hover")).unwrap_err().to_string();
    assert!(error.contains("is damaged; `codeyard audit verify` says where"), "{error}");
    assert!(!log.write(&call("hover")), "calls are refused");
}

#[test]
fn a_log_that_is_replaced_by_an_older_copy_shows_that_lines_are_missing() {
    let dir = tempfile::tempdir().unwrap();
    let log = log_of(dir.path(), 2);
    let path = dir.path().join("audit.jsonl");
    let older = fs::read(&path).unwrap();
    log.append(&call("definition")).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, older).unwrap();
    log.append(&call("hover")).unwrap();
    let error = verified(dir.path()).unwrap_err();
    assert!(error.ends_with("the lines 4 to 4 before it are missing"), "{error}");
}

#[test]
fn lines_that_cannot_be_written_stop_calls_or_are_counted() {
    for on_failure in [AuditFailure::Refuse, AuditFailure::Continue] {
        let dir = tempfile::tempdir().unwrap();
        let log = AuditLog::start(dir.path(), &AuditSection { on_failure, ..settings() }).unwrap();
        let path = dir.path().join("audit.jsonl");
        let moved = dir.path().join("moved");
        fs::rename(&path, &moved).unwrap();
        // A folder in its place can't be opened for writing, whoever the user is.
        fs::create_dir(&path).unwrap();
        let goes_on = on_failure == AuditFailure::Continue;
        assert_eq!([log.write(&call("hover")), log.write(&call("hover"))], [goes_on; 2]);
        let accepts = || codeyard_telemetry::CallAudit::accepts_calls(&log);
        assert_eq!(accepts(), goes_on);
        fs::remove_dir(&path).unwrap();
        fs::rename(&moved, &path).unwrap();
        assert!(log.write(&call("definition")) && accepts());
        verified(dir.path()).unwrap();
        let lost = lines(dir.path()).into_iter().find(|line| line["event"] == "lost").unwrap();
        assert_eq!(lost["count"], 2);
    }
}

#[test]
fn a_flood_of_refused_requests_has_few_lines_and_is_counted_for_who_sent_it() {
    let dir = tempfile::tempdir().unwrap();
    let log = log_of(dir.path(), 0);
    let nobody = AuditEvent::new(EventKind::Refused, "401");
    let ann = AuditEvent { tenant: Some("team-a"), principal: Some("ann"), ..nobody.clone() };
    for _ in 0..500 {
        log.write_bounded(&nobody);
    }
    log.write_bounded(&ann);
    log.stop();
    let lines = lines(dir.path());
    let of = |principal: Option<&str>| -> Vec<u64> {
        let refused = lines.iter().filter(|line| line["event"] == "refused" && line["principal"].as_str() == principal);
        refused.map(|line| line["count"].as_u64().unwrap_or(1)).collect()
    };
    assert_eq!((of(None).iter().sum::<u64>(), of(Some("ann"))), (500, vec![1]), "{lines:#?}");
    assert!(lines.len() < 250, "{}", lines.len());
}

#[test]
fn no_secret_and_no_endless_text_is_in_a_line_wherever_it_was_sent() {
    let dir = tempfile::tempdir().unwrap();
    let log = log_of(dir.path(), 0);
    let token = "cyd_0123456789abcdefghijklmnop";
    let arguments =
        serde_json::json!({"authorization": "hunter2", token: "a", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI"});
    let sent = AuditEvent { request: Some(token), tool: Some(token), arguments: Some(arguments), ..call("hover") };
    log.append(&sent).unwrap();
    let long: Vec<String> = (0..2_000).map(|at| format!("workspace-{at}\u{202e}")).collect();
    log.append(&AuditEvent { arguments: Some(serde_json::json!(long)), ..call("hover") }).unwrap();
    log.append(&AuditEvent { arguments: Some(serde_json::json!("\u{9b}31m\u{202e}\u{2028}")), ..call("hover") })
        .unwrap();
    let text = fs::read_to_string(dir.path().join("audit.jsonl")).unwrap();
    for secret in ["0123456789", "hunter2", "wJalrXUtnFEMI"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert!(text.lines().all(|line| line.len() < 2_048), "{text}");
    assert!(!text.contains(['\u{9b}', '\u{202e}', '\u{2028}']), "{text}");
    assert_eq!(lines(dir.path())[3]["arguments"], "\u{9b}31m\u{202e}\u{2028}", "it is the same JSON");
    verified(dir.path()).unwrap();
}

#[test]
fn a_line_stays_json_whatever_looks_like_a_secret_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let log = log_of(dir.path(), 0);
    for arguments in [
        serde_json::json!({"query": "Authorization: "}),
        serde_json::json!({"authorization": 1}),
        serde_json::json!({"query": "-----BEGIN PRIVATE KEY-----"}),
        serde_json::json!({"query": "x\ncyd_0123456789abcdefghijklmnop"}),
    ] {
        log.append(&AuditEvent { arguments: Some(arguments), request: Some("\"-----END \""), ..call("hover") })
            .unwrap();
    }
    let lines = lines(dir.path());
    let seen: Vec<_> = lines[1..].iter().map(|line| line["arguments"].to_string()).collect();
    assert_eq!(
        seen,
        [
            r#"{"query":"Authorization: "}"#,
            r#"{"authorization":"[redacted]"}"#,
            r#"{"query":"-----BEGIN PRIVATE KEY-----"}"#,
            r#"{"query":"x\ncyd_[redacted]"}"#
        ]
    );
    assert!(lines[1..].iter().all(|line| line["verdict"] == "ok" && line["request"] == "\"-----END \""), "{lines:#?}");
    verified(dir.path()).unwrap();
}

#[test]
fn a_service_that_goes_on_without_lines_starts_without_them_too() {
    for on_failure in [AuditFailure::Refuse, AuditFailure::Continue] {
        let dir = tempfile::tempdir().unwrap();
        // Folders can't be replaced by files, whoever the user is.
        for name in ["audit.jsonl", "settings.json"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let started = AuditLog::start(dir.path(), &AuditSection { on_failure, ..settings() });
        assert_eq!(started.is_ok(), on_failure == AuditFailure::Continue);
    }
}

#[test]
fn a_log_that_is_changed_under_a_running_service_is_not_adopted() {
    let changes: [fn(&str) -> String; 3] = [
        // The last line, of the same length.
        |text| text.replacen("definition", "definitioM", 1),
        // The last line is another one, and one follows that is well chained.
        |text| text.replacen("definition", "hover", 1),
        // All lines are written again, each with the hash of the one before.
        |text| {
            let mut last = ChainPoint::default();
            let again = text.lines().map(|line| {
                let changed = line.replace("hover", "harmless");
                let at = changed.rfind("\"previous\"").unwrap();
                let chained = format!("{}\"previous\":\"{}\"}}", &changed[..at], last.hash_text());
                last = ChainPoint::of_line(last.seq + 1, chained.as_bytes());
                chained + "\n"
            });
            again.collect()
        },
    ];
    for (at, change) in changes.iter().enumerate() {
        for follows in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let log = log_of(dir.path(), 2);
            log.append(&call("definition")).unwrap();
            let path = dir.path().join("audit.jsonl");
            let changed = change(&fs::read_to_string(&path).unwrap());
            fs::remove_file(&path).unwrap();
            fs::write(&path, changed).unwrap();
            if follows {
                // A command finds the changed log, and can't know better.
                AuditLog::of_service(dir.path()).unwrap().unwrap().append(&call("references")).unwrap();
            }
            log.append(&call("hover")).unwrap();
            assert!(verified(dir.path()).is_err(), "change {at}, {follows}");
        }
    }
}

#[test]
fn a_process_that_holds_the_lock_is_waited_for_once() {
    let dir = tempfile::tempdir().unwrap();
    let log = log_of(dir.path(), 1);
    let held = fs::File::open(dir.path()).unwrap();
    held.lock().unwrap();
    let error = log.append(&call("hover")).unwrap_err().to_string();
    assert!(error.contains("another process holds the lock"), "{error}");
    // Each would wait a tenth of a second.
    let began = codeyard_base::clock::Instant::now();
    (0..100).for_each(|_| assert!(log.append(&call("hover")).is_err()));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    held.unlock().unwrap();
    log.append(&call("hover")).unwrap();
    assert_eq!(lines(dir.path())[2]["count"], 101);
    verified(dir.path()).unwrap();
}

#[test]
fn a_log_that_is_written_and_rotated_is_read_without_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = chain_file::ChainFile::open(dir.path(), 2_000, None).unwrap();
    file.append(&call("hover")).unwrap();
    let ends = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                file.append(&call("hover")).unwrap();
            }
        });
        let mut before = 0;
        for _ in 0..100 {
            let found = verified(dir.path()).unwrap_or_else(|error| {
                ends.store(true, std::sync::atomic::Ordering::Relaxed);
                panic!("{error}")
            });
            assert!(found.last.seq >= before, "{found:?}");
            before = found.last.seq;
            // As `tail --follow` reads on: nothing is left out.
            let later = AuditFiles::in_folder(dir.path()).unwrap().from_line(before);
            let first = later.lines().next().unwrap().unwrap();
            assert!(serde_json::from_slice::<chain_file::Link>(&first.bytes).unwrap().seq <= before);
        }
        ends.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn lines_are_copied_to_the_log_of_the_system_and_a_missing_daemon_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("log");
    let syslog_socket = Some(socket.display().to_string());
    let log = AuditLog::start(dir.path(), &AuditSection { syslog_socket, ..settings() }).unwrap();
    let daemon = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    daemon.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    log.append(&call("hover")).unwrap();
    let mut buffer = [0; 4_096];
    let read = daemon.recv(&mut buffer).unwrap();
    let text = std::str::from_utf8(&buffer[..read]).unwrap();
    let line = text.strip_prefix(&format!("<86>codeyard-audit[{}]: ", std::process::id())).unwrap();
    assert!(fs::read_to_string(dir.path().join("audit.jsonl")).unwrap().ends_with(&format!("{line}\n")));
}

/// Starts this program again as a process that appends lines, and prints the number of each one that was written.
fn writer(folder: &Path) -> Child {
    #[expect(clippy::disallowed_methods, reason = "the test's own program, which the test kills")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    let words = ["--exact", "tests::appends_until_it_is_killed", "--ignored", "--nocapture"];
    command.args(words).env(FOLDER, folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[test]
#[ignore = "a part of the tests of killed processes"]
fn appends_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let log = AuditLog::of_service(Path::new(&folder)).unwrap().unwrap();
    let mut out = std::io::stdout().lock();
    loop {
        let point = log.append(&call("hover")).unwrap();
        writeln!(out, "written {}", point.seq).unwrap();
    }
}

/// Kills two writers at a time after a different number of lines each.
fn kill_writers(kills: usize) {
    let dir = tempfile::tempdir().unwrap();
    let section = AuditSection { max_file_mib: 1, ..settings() };
    drop(AuditLog::start(dir.path(), &section).unwrap());
    let mut written = 0;
    for round in 0..kills / 2 {
        let mut pair = [writer(dir.path()), writer(dir.path())];
        for (at, child) in pair.iter_mut().enumerate() {
            let mut out = BufReader::new(child.stdout.take().unwrap());
            let mut text = String::new();
            // Not a time: a number of lines differs from one machine to the next no more than the place in a line at which it ends.
            for _ in 0..3 + (round * 7 + at * 3) % 23 {
                out.read_line(&mut text).unwrap();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            out.read_to_string(&mut text).unwrap();
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let acknowledged = whole.lines().filter_map(|line| line.strip_prefix("written ")?.parse::<u64>().ok());
            written = acknowledged.max().unwrap().max(written);
        }
        let found = verified(dir.path()).unwrap();
        assert!(found.last.seq >= written, "line {written} was acknowledged: {found:?}");
    }
    assert!(written > kills as u64);
}

#[test]
fn killed_processes_leave_a_whole_chain_with_all_acknowledged_lines() {
    kill_writers(40);
}

#[test]
#[ignore = "slow: a thousand processes"]
fn a_thousand_killed_processes_leave_a_whole_chain() {
    kill_writers(1_000);
}
