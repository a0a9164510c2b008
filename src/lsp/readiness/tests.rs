//! Event sequences of real servers, with exact instants in ms.

use super::*;

/// A server with a clock that starts at 0 ms.
struct SimulatedServer {
    start: Instant,
    state: ReadinessTracker,
}

impl SimulatedServer {
    fn new(rule: ReadinessRule) -> Self {
        let start = Instant::now();
        Self { start, state: ReadinessTracker::new(&rule, start) }
    }

    fn initialized(rule: ReadinessRule) -> Self {
        let mut server = Self::new(rule);
        server.state.on_initialized(server.start);
        server
    }

    fn at(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }

    fn begin(&mut self, token: &str, title: &str, ms: u64) {
        let begin = WorkDoneProgress::Begin { title: title.into(), message: None, percentage: None };
        self.state.on_progress(token, &begin, self.at(ms));
    }

    fn report(&mut self, token: &str, message: &str, percentage: u32, ms: u64) {
        let report = WorkDoneProgress::Report { message: Some(message.into()), percentage: Some(percentage) };
        self.state.on_progress(token, &report, self.at(ms));
    }

    fn end(&mut self, token: &str, ms: u64) {
        self.state.on_progress(token, &WorkDoneProgress::End, self.at(ms));
    }

    fn ready(&self, ms: u64) -> bool {
        self.state.state(self.at(ms)) == ReadinessState::Ready
    }

    fn assumed(&self, ms: u64) -> bool {
        self.state.assumed(self.at(ms))
    }

    /// Not ready just before `ms`, ready from it on, and `next_check` says so.
    #[track_caller]
    fn becomes_ready_at(&self, since: u64, ms: u64) {
        assert!(!self.ready(ms - 1), "ready too early");
        assert!(self.ready(ms), "not ready");
        assert_eq!(self.state.next_check(self.at(since)), Some(self.at(ms)));
        assert_eq!(self.state.next_check(self.at(ms)), None);
    }

    fn progress(&self, ms: u64) -> Option<String> {
        match self.state.state(self.at(ms)) {
            ReadinessState::Indexing { progress } => progress,
            other => panic!("{other:?}"),
        }
    }
}

fn prefixes(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}

fn clangd() -> ReadinessRule {
    ReadinessRule {
        progress: prefixes(&["backgroundIndexProgress"]),
        expect_within_ms: 2_000,
        after_open: true,
        settle_ms: 300,
        ..ReadinessRule::default()
    }
}

fn ts_language_server() -> ReadinessRule {
    ReadinessRule {
        progress: prefixes(&["Initializing JS/TS language features"]),
        expect_within_ms: 1_500,
        after_open: true,
        settle_ms: 1_000,
        ..ReadinessRule::default()
    }
}

#[test]
fn without_conditions_a_server_is_ready_once_initialized() {
    let mut ty = SimulatedServer::new(ReadinessRule::default());
    assert_eq!(ty.state.state(ty.at(0)), ReadinessState::Starting);
    assert_eq!(ty.state.state(ty.at(999_999)), ReadinessState::Starting, "starting is never assumed to be over");
    assert_eq!(ty.state.next_check(ty.at(0)), None);
    ty.state.on_initialized(ty.at(200));
    assert!(ty.ready(200) && !ty.assumed(200) && !ty.assumed(999_999));
    ty.begin("anything", "Anything", 300);
    assert!(ty.ready(300), "unrelated progress doesn't matter");
}

#[test]
fn rust_analyzer_is_ready_when_its_progress_is_over_and_it_is_quiescent() {
    let mut ra = SimulatedServer::initialized(ReadinessRule {
        progress: prefixes(&["rustAnalyzer/"]),
        expect_within_ms: 1_000,
        settle_ms: 200,
        server_status: true,
        ..ReadinessRule::default()
    });
    ra.state.on_server_status(false, "ok", ra.at(20));
    ra.begin("rustAnalyzer/Fetching", "Fetching", 50);
    ra.end("rustAnalyzer/Fetching", 900);
    ra.begin("rustAnalyzer/cachePriming", "Indexing", 950);
    ra.report("rustAnalyzer/cachePriming", "120/324", 37, 3_000);
    assert_eq!(ra.progress(3_000).as_deref(), Some("Indexing 37% (120/324)"));
    ra.end("rustAnalyzer/cachePriming", 6_000);
    assert!(!ra.ready(60_000), "it has not reported that it is quiescent");
    ra.state.on_server_status(true, "warning", ra.at(6_100));
    assert_eq!(ra.state.health(), ReportedHealth::Warning);
    ra.becomes_ready_at(6_100, 6_200);
    ra.begin("rust-analyzer/flycheck/0", "cargo check", 7_000);
    assert!(ra.ready(7_000), "checking isn't indexing");
    ra.state.on_server_status(false, "error", ra.at(8_000));
    assert!(!ra.ready(8_000));
    assert_eq!(ra.state.health(), ReportedHealth::Error);
    ra.state.on_server_status(true, "ok", ra.at(9_000));
    assert!(ra.ready(9_000) && !ra.assumed(9_000));
    ra.begin("rustAnalyzer/Building CrateGraph", "Building CrateGraph", 10_000);
    assert!(!ra.ready(10_000), "ready may be lost again");
    ra.end("rustAnalyzer/Building CrateGraph", 10_500);
    ra.becomes_ready_at(10_500, 10_700);
}

#[test]
fn clangd_waits_for_its_index_after_the_first_opened_file() {
    let mut clangd = SimulatedServer::initialized(clangd());
    assert!(!clangd.ready(10_000));
    clangd.state.on_opened(clangd.at(10_000));
    clangd.becomes_ready_at(10_000, 12_000);
    clangd.begin("backgroundIndexProgress", "indexing", 10_400);
    for step in 1..100 {
        clangd.report("backgroundIndexProgress", &format!("{step}/100"), step as u32, 10_400 + step * 25_000);
        assert!(!clangd.ready(10_400 + step * 25_000 + 24_999), "progress keeps a server from the limit");
    }
    assert_eq!(clangd.progress(2_485_500).as_deref(), Some("indexing 99% (99/100)"));
    clangd.end("backgroundIndexProgress", 2_486_000);
    clangd.becomes_ready_at(2_486_000, 2_486_300);
    assert!(!clangd.assumed(2_486_300));
}

#[test]
fn clangd_with_an_index_on_disk_reports_nothing() {
    let mut clangd = SimulatedServer::initialized(clangd());
    clangd.state.on_opened(clangd.at(500));
    clangd.state.on_opened(clangd.at(1_500));
    clangd.becomes_ready_at(1_500, 2_500);
    assert!(!clangd.assumed(2_500));
}

#[test]
fn a_server_that_waits_for_a_document_is_assumed_ready_at_the_limit() {
    let clangd = SimulatedServer::initialized(clangd());
    clangd.becomes_ready_at(0, 120_000);
    assert!(clangd.assumed(120_000) && !clangd.assumed(119_999));
}

#[test]
fn ts_language_server_begins_and_ends_several_times() {
    let mut ts = SimulatedServer::initialized(ts_language_server());
    ts.state.on_opened(ts.at(100));
    let title = "Initializing JS/TS language features…";
    for (token, begin, end) in [("a", 400, 2_000), ("b", 2_300, 2_400), ("c", 3_399, 9_000)] {
        ts.begin(token, title, begin);
        assert_eq!(ts.progress(begin).as_deref(), Some(title));
        ts.end(token, end);
        assert!(!ts.ready(end + 999), "{token}");
    }
    ts.becomes_ready_at(9_000, 10_000);
    ts.begin("d", title, 20_000);
    assert!(!ts.ready(20_001));
    ts.end("d", 21_000);
    ts.becomes_ready_at(21_000, 22_000);
}

#[test]
fn titles_are_matched_at_the_beginning_and_reports_follow_the_token() {
    let mut ts = SimulatedServer::initialized(ts_language_server());
    ts.state.on_opened(ts.at(0));
    ts.begin("x", "Not Initializing JS/TS language features", 100);
    ts.becomes_ready_at(100, 1_500);
    ts.begin("y", "Initializing JS/TS language features…", 200);
    ts.report("y", "half", 50, 20_000);
    ts.becomes_ready_at(20_000, 50_000);
    ts.end("y", 21_000);
    ts.becomes_ready_at(21_000, 22_000);
}

#[test]
fn a_token_that_never_ends_expires_at_its_limit() {
    let rule = ReadinessRule {
        progress: prefixes(&["tsgo-loading-"]),
        token_limit_ms: 5_000,
        settle_ms: 100,
        ..ReadinessRule::default()
    };
    let mut ts7 = SimulatedServer::initialized(rule);
    assert!(ts7.ready(0), "no progress is expected");
    ts7.begin("tsgo-loading-1", "Loading", 50);
    ts7.begin("tsgo-loading-2", "Loading", 60);
    ts7.end("tsgo-loading-1", 900);
    ts7.becomes_ready_at(900, 5_060);
    ts7.report("tsgo-loading-2", "more", 10, 4_000);
    ts7.becomes_ready_at(4_000, 9_000);
    assert!(!ts7.assumed(9_000));
    ts7.report("tsgo-loading-2", "and on", 20, 15_000);
    assert_eq!(ts7.progress(15_000).as_deref(), Some("Loading 20% (and on)"));
    ts7.becomes_ready_at(15_000, 20_000);
}

#[test]
fn pyright_is_ready_when_its_log_says_so() {
    let rule = ReadinessRule { log_message: Some("source files".into()), ..ReadinessRule::default() };
    let mut pyright = SimulatedServer::initialized(rule);
    pyright.state.on_log_message("Pyright language server 1.1 starting", pyright.at(100));
    assert!(!pyright.ready(1_000));
    assert_eq!(pyright.progress(1_000), None);
    pyright.state.on_log_message("Found 34 source files", pyright.at(1_200));
    assert!(pyright.ready(1_200) && !pyright.assumed(1_200));
    assert_eq!(pyright.state.next_check(pyright.at(1_200)), None);
}

#[test]
fn each_project_that_joins_is_awaited() {
    let rule = ReadinessRule { log_message: Some("source file".into()), limit_ms: 10_000, ..ReadinessRule::default() };
    let mut pyright = SimulatedServer::initialized(rule);
    pyright.state.on_more_projects(2, pyright.at(0));
    let found = |pyright: &mut SimulatedServer, ms: u64| {
        pyright.state.on_log_message("Found 1 source file", pyright.at(ms));
        pyright.ready(ms)
    };
    let seen = [100, 200, 300].map(|ms| found(&mut pyright, ms));
    assert_eq!(seen, [false, false, true], "three projects");
    // A project that is read again doesn't stand for one that joins later.
    assert!(found(&mut pyright, 400));
    pyright.state.on_more_projects(1, pyright.at(500));
    assert!(!pyright.ready(500));
    assert!(found(&mut pyright, 600));
    // The limit counts from the join, and a project that was given up isn't awaited with the next one.
    pyright.state.on_more_projects(1, pyright.at(20_000));
    pyright.becomes_ready_at(20_001, 30_000);
    pyright.state.on_more_projects(1, pyright.at(31_000));
    assert!(!pyright.ready(31_000) && found(&mut pyright, 31_500));
    pyright.state.on_more_projects(0, pyright.at(31_600));
    assert!(pyright.ready(31_600));
    // Other rules don't depend on projects.
    let mut other = SimulatedServer::initialized(ReadinessRule::default());
    other.state.on_more_projects(3, other.at(1));
    assert!(other.ready(1));
}

#[test]
fn endless_logging_does_not_move_the_limit() {
    let rule = ReadinessRule { log_message: Some("source files".into()), limit_ms: 10_000, ..ReadinessRule::default() };
    let mut pyright = SimulatedServer::initialized(rule);
    for step in 1..20 {
        pyright.state.on_log_message("still here", pyright.at(step * 500));
    }
    pyright.becomes_ready_at(9_500, 10_000);
    assert!(pyright.assumed(10_000));
    pyright.state.on_log_message("still here", pyright.at(11_000));
    assert!(pyright.ready(11_000) && pyright.assumed(11_000));
    pyright.state.on_log_message("Found 34 source files", pyright.at(12_000));
    assert!(pyright.ready(12_000) && !pyright.assumed(12_000), "now it is known");
}

#[test]
fn all_conditions_must_hold() {
    let rule = ReadinessRule {
        progress: prefixes(&["load"]),
        expect_within_ms: 1_000,
        log_message: Some("done".into()),
        method: Some("workspace/diagnostic/refresh".into()),
        ..ReadinessRule::default()
    };
    let mut server = SimulatedServer::initialized(rule);
    server.state.on_method("workspace/configuration", server.at(5));
    server.state.on_log_message("all done", server.at(10));
    assert!(!server.ready(5_000));
    server.state.on_method("workspace/diagnostic/refresh", server.at(20));
    server.becomes_ready_at(20, 1_000);
    server.begin("load", "", 999);
    assert_eq!(server.progress(999), None);
    server.end("load", 1_400);
    assert!(server.ready(1_400));
}

#[test]
fn assumed_readiness_stays_unless_new_work_begins() {
    let rule = ReadinessRule {
        progress: prefixes(&["load"]),
        server_status: true,
        limit_ms: 1_000,
        settle_ms: 50,
        token_limit_ms: 100_000,
        ..ReadinessRule::default()
    };
    let mut server = SimulatedServer::initialized(rule);
    server.state.on_server_status(false, "ok", server.at(100));
    server.begin("load/1", "Loading", 200);
    server.becomes_ready_at(200, 1_200);
    server.begin("check", "Checking", 2_000);
    assert!(server.ready(2_000) && server.assumed(2_000), "unrelated work undoes nothing");
    server.begin("load/2", "Loading", 3_000);
    assert!(!server.ready(3_000) && !server.assumed(3_000));
    server.end("load/2", 3_100);
    server.becomes_ready_at(3_100, 3_150);
    server.state.on_server_status(false, "ok", server.at(4_000));
    assert!(!server.ready(4_000));
    server.state.on_server_status(true, "ok", server.at(4_500));
    assert!(server.ready(4_500) && !server.assumed(4_500));
}

#[test]
fn events_before_initialized_and_ends_without_beginning_are_harmless() {
    let mut server = SimulatedServer::new(ReadinessRule { settle_ms: 100, ..clangd() });
    server.end("backgroundIndexProgress", 1);
    server.state.on_opened(server.at(2));
    server.begin("backgroundIndexProgress", "indexing", 3);
    server.state.on_initialized(server.at(10));
    server.state.on_initialized(server.at(99));
    assert_eq!(server.progress(99).as_deref(), Some("indexing"));
    server.end("backgroundIndexProgress", 500);
    server.end("backgroundIndexProgress", 550);
    server.becomes_ready_at(550, 650);
}

#[test]
fn tokens_are_bounded_and_the_oldest_is_dropped_first() {
    let mut server =
        SimulatedServer::initialized(ReadinessRule { progress: prefixes(&["t"]), ..ReadinessRule::default() });
    for count in 0..MAX_PROGRESS_TOKENS as u64 + 10 {
        server.begin(&format!("t{count}"), "", count);
    }
    assert_eq!(server.state.tokens.len(), MAX_PROGRESS_TOKENS);
    assert!(!server.state.tokens.contains_key("t9") && server.state.tokens.contains_key("t10"));
}

#[test]
fn no_configured_number_overflows_an_instant() {
    let rule = ReadinessRule {
        progress: prefixes(&["t"]),
        expect_within_ms: u64::MAX,
        settle_ms: u64::MAX,
        token_limit_ms: u64::MAX,
        limit_ms: u64::MAX,
        ..ReadinessRule::default()
    };
    let mut server = SimulatedServer::initialized(rule);
    server.begin("t", "", 1);
    server.becomes_ready_at(1, MAX_MS + 1);
}

#[test]
fn a_change_is_loading_until_its_progress_ends_or_a_wait_has_passed() {
    let rule = ReadinessRule {
        progress: vec!["indexing".into()],
        after_change_ms: 800,
        settle_ms: 100,
        ..ReadinessRule::default()
    };
    let mut server = SimulatedServer::initialized(rule);
    assert!(server.ready(0));
    server.state.on_changes(server.at(1_000));
    // No progress comes.
    server.becomes_ready_at(1_000, 1_800);
    server.state.on_changes(server.at(2_000));
    server.begin("indexing", "indexing", 2_100);
    assert!(!server.ready(2_900));
    server.end("indexing", 2_950);
    server.becomes_ready_at(2_950, 3_050);
}

#[test]
fn without_progress_a_change_is_loading_for_a_time() {
    let mut server = SimulatedServer::initialized(ReadinessRule { after_change_ms: 800, ..ReadinessRule::default() });
    assert!(server.ready(0));
    server.state.on_changes(server.at(500));
    server.becomes_ready_at(500, 1_300);
}

#[test]
fn without_any_signal_the_server_is_waited_for() {
    let mut server =
        SimulatedServer::initialized(ReadinessRule { expect_within_ms: 1_500, ..ReadinessRule::default() });
    server.becomes_ready_at(0, 1_500);
    server.state.on_opened(server.at(2_000));
    assert!(server.ready(2_000));
}
