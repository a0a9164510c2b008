//! Tests of the reported diagnostics of one server.

use std::path::Path;
use std::time::Duration;

use super::*;
use codeyard_model::position::Range;

fn known_by(versioned: bool) -> Diagnostics {
    Diagnostics::of_server(versioned, Arc::default())
}

fn uri() -> CanonicalUri {
    CanonicalUri::of_gated_path(Path::new("/w/a.c"))
}

fn finding(message: &str) -> RawDiagnostic {
    RawDiagnostic {
        range: Range::new(0, 0, 0, 1),
        severity: Some(1),
        code: None,
        source: None,
        message: message.into(),
    }
}

#[test]
fn an_older_versions_push_is_not_taken() {
    let mut known = known_by(false);
    let now = Instant::now();
    known.synced(&uri(), 2, now);
    assert!(!known.pushed(&uri(), Some(1), Ok(vec![finding("old")]), now), "late word is no news");
    let PushState::Awaited(mut waits) = known.push_of(&uri(), Duration::ZERO, now) else { panic!("must wait") };
    assert!(known.pushed(&uri(), Some(2), Ok(vec![finding("new")]), now));
    assert_eq!(known.settle(Duration::ZERO, now), None);
    assert_eq!(waits.try_recv().unwrap().unwrap().unwrap()[0].message, "new");
}

#[test]
fn unversioned_pushes_must_follow_the_sync_and_be_quiet() {
    let mut known = known_by(false);
    let now = Instant::now();
    let settle = Duration::from_millis(100);
    known.pushed(&uri(), None, Ok(vec![finding("before")]), now);
    known.synced(&uri(), 1, now);
    let PushState::Awaited(mut waits) = known.push_of(&uri(), settle, now) else { panic!("must wait") };
    known.pushed(&uri(), None, Ok(vec![finding("after")]), now);
    assert_eq!(known.settle(settle, now), Some(now + settle));
    assert!(waits.try_recv().is_err());
    assert_eq!(known.settle(settle, now + settle), None);
    assert_eq!(waits.try_recv().unwrap().unwrap().unwrap()[0].message, "after");
}

#[test]
fn a_push_of_a_slow_server_settles_later_up_to_a_limit() {
    let settle = Duration::from_millis(100);
    for (taken_ms, wait_ms) in [(0, 100), (60, 100), (250, 250), (9_000, 400)] {
        let mut known = known_by(false);
        let sent = Instant::now();
        known.synced(&uri(), 1, sent);
        let PushState::Awaited(_) = known.push_of(&uri(), settle, sent) else { panic!("must wait") };
        let pushed = sent + Duration::from_millis(taken_ms);
        known.pushed(&uri(), None, Ok(vec![]), pushed);
        let waits = known.push_of(&uri(), settle, pushed);
        assert!(matches!(waits, PushState::Awaited(_)), "{taken_ms}");
        assert_eq!(known.settle(settle, pushed), Some(pushed + Duration::from_millis(wait_ms)), "{taken_ms}");
        known.pushed(&uri(), None, Ok(vec![finding("late")]), pushed + Duration::from_millis(wait_ms / 2));
        let PushState::Awaited(mut last) = waits else { continue };
        assert!(last.try_recv().is_err(), "{taken_ms}: the empty list isn't taken");
    }
}

#[test]
fn tidying_up_after_our_close_is_not_taken_for_an_empty_result() {
    let now = Instant::now();
    for (versioned, held_ms) in [(false, Some(300)), (true, None)] {
        let mut known = known_by(versioned);
        known.synced(&uri(), 1, now);
        known.pushed(&uri(), Some(1), Ok(vec![finding("a")]), now);
        known.closed(uri().as_str());
        known.synced(&uri(), 2, now);
        let PushState::Awaited(mut waits) = known.push_of(&uri(), Duration::ZERO, now) else { panic!("must wait") };
        known.pushed(&uri(), None, Ok(vec![]), now);
        let held = known.settle(Duration::ZERO, now);
        assert_eq!(held, held_ms.map(|ms| now + Duration::from_millis(ms)), "versioned: {versioned}");
        assert!(waits.try_recv().is_err());
        known.pushed(&uri(), None, Ok(vec![finding("b")]), now);
        assert_eq!(known.settle(Duration::ZERO, now), None);
        assert_eq!(waits.try_recv().unwrap().unwrap().unwrap()[0].message, "b");
    }
}

#[test]
fn changed_surroundings_outdate_a_push() {
    let mut known = known_by(false);
    let now = Instant::now();
    known.synced(&uri(), 1, now);
    known.pushed(&uri(), Some(1), Ok(vec![]), now);
    assert!(matches!(known.push_of(&uri(), Duration::ZERO, now), PushState::Current(_)));
    known.surroundings_changed();
    assert!(matches!(known.push_of(&uri(), Duration::ZERO, now), PushState::Outdated));
}

#[test]
fn only_a_different_canonical_list_is_news() {
    let mut known = known_by(false);
    let now = Instant::now();
    known.synced(&uri(), 1, now);
    assert!(!known.pushed(&uri(), None, Ok(vec![]), now), "nothing before, nothing now");
    assert!(known.pushed(&uri(), None, Ok(vec![finding("a"), finding("b")]), now));
    assert!(!known.pushed(&uri(), None, Ok(vec![finding("b"), finding("a"), finding("a")]), now));
    assert!(known.pushed(&uri(), None, Ok(vec![finding("b")]), now));
    known.closed(uri().as_str());
    assert!(!known.pushed(&uri(), None, Ok(vec![]), now), "clearing after our own close is not news");
    assert_eq!(known.reported().files.len(), 1);
    known.deleted(uri().as_str());
    assert!(known.reported().files.is_empty());
}

fn numbered(number: usize) -> CanonicalUri {
    CanonicalUri::of_gated_path(&Path::new("/w").join(format!("{number:05}.c")))
}

/// A list of about one megabyte.
fn megabyte() -> Vec<RawDiagnostic> {
    vec![finding(&"m".repeat(1 << 20))]
}

#[test]
fn over_the_budget_the_oldest_lists_of_closed_files_go_first_and_are_remembered() {
    let budget = Arc::<DiagnosticsBudget>::default();
    let mut known = Diagnostics::of_server(false, budget.clone());
    let now = Instant::now();
    known.synced(&numbered(0), 1, now);
    let count = 200;
    for number in 0..count {
        known.pushed(&numbered(number), None, Ok(megabyte()), now);
        assert!(budget.held() <= limits::MAX_SERVER_DIAGNOSTICS_BYTES);
    }
    let reported = known.reported();
    assert_eq!(reported.files.len() + reported.dropped.len(), count);
    let kept: Vec<&str> = reported.files.iter().map(|file| &*file.uri).collect();
    assert_eq!(kept[0], numbered(0).as_str(), "an open file");
    let first = count - (kept.len() - 1);
    assert!(kept.len() > 25 && kept[1..].iter().zip(first..).all(|(uri, number)| **uri == *numbered(number).as_str()));
    assert!(budget.dropped().contains(&("server_budget", reported.dropped.len() as u64)));
    assert!(known.pushed(&numbered(1), None, Ok(vec![finding("small")]), now), "it is reported again");
    assert!(!known.reported().dropped.contains(&numbered(1).text()));
    drop(known);
    assert_eq!(budget.held(), 0);
}

#[test]
fn a_dropped_list_of_an_open_file_is_asked_for_again_and_one_that_is_too_large_is_an_error() {
    let mut known = known_by(false);
    let now = Instant::now();
    known.synced(&numbered(0), 1, now);
    known.pushed(&numbered(0), None, Ok(megabyte()), now);
    assert!(matches!(known.push_of(&numbered(0), Duration::ZERO, now), PushState::Current(Ok(_))));
    for number in 1..100 {
        known.synced(&numbered(number), 1, now);
        known.pushed(&numbered(number), None, Ok(megabyte()), now);
    }
    assert!(matches!(known.push_of(&numbered(0), Duration::ZERO, now), PushState::Outdated));
    known.synced(&numbered(0), 2, now);
    assert!(matches!(known.push_of(&numbered(0), Duration::ZERO, now), PushState::Awaited(_)));
    known.pushed(&numbered(0), None, Ok(vec![finding("again")]), now);
    assert!(matches!(known.push_of(&numbered(0), Duration::ZERO, now), PushState::Current(Ok(_))));
    let many = vec![finding("x"); limits::MAX_DIAGNOSTICS_PER_FILE + 1];
    for too_large in [Ok(many), Ok(vec![finding(&"x".repeat(limits::MAX_FILE_DIAGNOSTICS_BYTES))])] {
        known.pushed(&numbered(0), None, too_large, now);
        let state = known.push_of(&numbered(0), Duration::ZERO, now);
        assert!(matches!(state, PushState::Current(Err(DropReason::FileTooLarge))), "never a part of it");
    }
}

#[test]
fn an_empty_report_makes_place_and_a_report_without_place_is_known() {
    let mut known = known_by(false);
    let now = Instant::now();
    known.pushed(&numbered(0), None, Ok(vec![]), now);
    for number in 1..=limits::MAX_DIAGNOSTIC_FILES {
        known.pushed(&numbered(number), None, Ok(vec![finding("x")]), now);
    }
    assert!(!known.reported().has_unknown_files);
    known.pushed(&numbered(0), None, Ok(vec![finding("x")]), now);
    let reported = known.reported();
    assert!(reported.has_unknown_files && reported.files.len() == limits::MAX_DIAGNOSTIC_FILES);
    let [one, other, third] = [1, 2, 3].map(|more| numbered(limits::MAX_DIAGNOSTIC_FILES + more));
    for file in [&one, &other, &third] {
        known.pushed(file, None, Ok(vec![finding("x")]), now);
    }
    // Each way in which nothing is missing any more.
    known.pushed(&one, None, Ok(vec![]), now);
    known.deleted(other.as_str());
    known.deleted(numbered(1).as_str());
    known.pushed(&third, None, Ok(vec![finding("x")]), now);
    assert!(known.reported().has_unknown_files, "file 0 has none yet");
    known.deleted(numbered(2).as_str());
    assert!(known.pushed(&numbered(0), None, Ok(vec![finding("x")]), now));
    let reported = known.reported();
    assert!(!reported.has_unknown_files && reported.files.len() == limits::MAX_DIAGNOSTIC_FILES);
}

#[test]
fn documents_that_were_open_once_take_no_places() {
    let mut known = known_by(false);
    let now = Instant::now();
    for number in 0..=limits::MAX_DIAGNOSTIC_FILES {
        known.synced(&numbered(number), 1, now);
        known.closed(numbered(number).as_str());
    }
    for number in 1..=limits::MAX_DIAGNOSTIC_FILES {
        known.pushed(&numbered(limits::MAX_DIAGNOSTIC_FILES + number), None, Ok(vec![finding("x")]), now);
    }
    let reported = known.reported();
    assert!(!reported.has_unknown_files && reported.files.len() == limits::MAX_DIAGNOSTIC_FILES);
    assert!(known.files.len() == limits::MAX_DIAGNOSTIC_FILES + 1 && known.silent.len() == 1);
}

#[test]
fn more_files_without_a_place_than_are_remembered_stay_missing() {
    let mut unkept = UnkeptFiles::default();
    for number in 0..=limits::MAX_UNKEPT_DIAGNOSTIC_FILES {
        unkept.insert(numbered(number).as_str());
    }
    for number in 0..=limits::MAX_UNKEPT_DIAGNOSTIC_FILES {
        unkept.remove(numbered(number).as_str());
    }
    assert!(!unkept.is_empty());
}

#[test]
fn lost_events_leave_no_list_that_may_be_out_of_date() {
    let budget = Arc::<DiagnosticsBudget>::default();
    let mut known = Diagnostics::of_server(false, budget.clone());
    let now = Instant::now();
    known.synced(&uri(), 1, now);
    known.pushed(&uri(), None, Ok(vec![finding("a")]), now);
    known.pushed(&numbered(1), None, Ok(vec![finding("b")]), now);
    known.events_lost();
    assert!(known.reported().files.is_empty() && budget.held() == 0);
    assert!(matches!(known.push_of(&uri(), Duration::ZERO, now), PushState::Outdated));
    assert!(budget.dropped().contains(&("events_lost", 2)));
}
