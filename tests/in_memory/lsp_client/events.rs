//! The event queue and its overflow policy.

use std::sync::Arc;
use std::time::Duration;

use codeyard_lsp::client::events::{CloseReason, ServerEvent};
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_lsp::limits;
use serde_json::{Value, json};

use crate::fake_server::*;
use crate::lsp_client::support::{connect, connect_with, options, settle};

#[tokio::test(start_paused = true)]
async fn wanted_notifications_arrive_in_order_and_unknown_ones_do_not() {
    let fake = FakeServer::new().launcher();
    let mut connected = connect(&fake).await;
    fake.push([
        progress_begin("t", "indexing"),
        notify("unheard/of", json!({})),
        notify("window/showMessage", json!({"type": 3, "message": "the queue isn't read"})),
        diagnostics("file:///a", Some(3), json!([])),
        notify("custom/wanted", json!([1])),
        notify("experimental/serverStatus", json!({"quiescent": true})),
        ask("workspace/diagnostic/refresh", Value::Null),
        ask("window/showMessageRequest", json!({"message": "m"})),
        progress_end("t"),
        exit(0),
    ]);
    let mut methods = Vec::new();
    while let Some(event) = connected.events.recv().await {
        methods.push(match event {
            ServerEvent::Notification { method, params } => {
                assert!(params.is_some(), "{method}");
                method
            }
            ServerEvent::Refresh { method } => method,
            ServerEvent::Closed(reason) => {
                assert_eq!(reason, CloseReason::EndOfOutput);
                "closed".into()
            }
            other => panic!("{other:?}"),
        });
    }
    let expected = [
        "$/progress",
        "textDocument/publishDiagnostics",
        "custom/wanted",
        "experimental/serverStatus",
        "workspace/diagnostic/refresh",
        "window/showMessageRequest",
        "$/progress",
        "closed",
    ];
    assert_eq!(methods, expected);
    assert_eq!(connected.client.counters().ignored_notifications, 2);
}

#[tokio::test(start_paused = true)]
async fn a_blocked_consumer_never_stops_the_reader() {
    let total = limits::MAX_EVENT_QUEUE + 500;
    let fake = FakeServer::new()
        .on("go", [flood(total, "$/progress", json!({"token": "{n}", "value": {}})), reply(json!("done"))])
        .launcher();
    let mut connected = connect(&fake).await;
    let began = tokio::time::Instant::now();
    connected.client.request("go", &json!({})).unwrap().await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_millis(limits::EVENT_WAIT_MS), "it waits once, then no more");
    assert_eq!(connected.client.counters().lost_events, 500);

    // In this order: an event before the gap, the gap, the event after it.
    let first = connected.events.recv().await.unwrap();
    assert!(matches!(&first, ServerEvent::Notification { params: Some(params), .. } if params.get().contains("\"0\"")));
    fake.push([progress_end("after")]);
    settle().await;
    let mut events = Vec::new();
    while let Some(event) = connected.events.try_recv() {
        events.push(event);
    }
    assert_eq!(events.len(), limits::MAX_EVENT_QUEUE + 1);
    let [.., lost, after] = events.as_slice() else { panic!() };
    assert!(matches!(lost, ServerEvent::Lost { count: 500 }), "{lost:?}");
    assert!(matches!(after, ServerEvent::Notification { params: Some(params), .. } if params.get().contains("after")));
}

#[tokio::test(start_paused = true)]
async fn a_slow_consumer_loses_nothing() {
    let total = limits::MAX_EVENT_QUEUE + 50;
    let fake = FakeServer::new().launcher();
    let mut connected = connect(&fake).await;
    fake.push([flood(total, "$/progress", json!({"token": "{n}"})), exit(0)]);
    let mut got = 0;
    while let Some(ServerEvent::Notification { .. }) = connected.events.recv().await {
        got += 1;
        if got < 100 {
            tokio::time::sleep(Duration::from_millis(limits::EVENT_WAIT_MS / 2)).await;
        }
    }
    assert_eq!((got, connected.client.counters().lost_events), (total, 0));
}

#[tokio::test(start_paused = true)]
async fn log_messages_are_dropped_first_and_without_waiting() {
    let total = limits::MAX_EVENT_QUEUE + 20;
    let fake = FakeServer::new()
        .on("go", [flood(total, "window/logMessage", json!({"message": "{n}"})), reply(json!(1))])
        .launcher();
    let mut connected = connect(&fake).await;
    let began = tokio::time::Instant::now();
    connected.client.request("go", &json!({})).unwrap().await.unwrap();
    assert!(began.elapsed().is_zero());
    assert_eq!(connected.client.counters().lost_events, 20);
    let mut lost = 0;
    while let Some(event) = connected.events.try_recv() {
        lost += u64::from(matches!(event, ServerEvent::Lost { .. }));
    }
    assert_eq!(lost, 0, "nothing is derived from logs");
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_bounded_in_bytes_and_takes_one_large_event() {
    let fat = "x".repeat(limits::MAX_EVENT_QUEUE_BYTES + 1);
    let fake = FakeServer::new().on("go", [reply(json!(1))]).launcher();
    let mut connected = connect(&fake).await;
    fake.push([notify("$/progress", json!({ "value": fat })), progress_end("t")]);
    connected.client.request("go", &json!({})).unwrap().await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(connected.client.counters().lost_events, 1);
    let first = connected.events.recv().await;
    assert!(
        matches!(first, Some(ServerEvent::Notification { params: Some(params), .. }) if params.get().len() > fat.len())
    );
    assert!(matches!(connected.events.recv().await, Some(ServerEvent::Lost { count: 1 })));
}

#[tokio::test(start_paused = true)]
async fn requests_work_without_a_consumer() {
    let fake = FakeServer::new()
        .on("go", [flood(3 * limits::MAX_EVENT_QUEUE, "$/progress", json!({})), reply(json!(1))])
        .launcher();
    let connected = connect(&fake).await;
    drop(connected.events);
    let began = tokio::time::Instant::now();
    connected.client.request("go", &json!({})).unwrap().await.unwrap();
    assert!(began.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn what_a_server_writes_unasked_is_read_at_a_pace_and_its_replies_are_not_slowed() {
    const SIZE: usize = 1_000_000;
    let count = (limits::UNASKED_BURST_BYTES + 2 * limits::UNASKED_BYTES_PER_S) / SIZE;
    let fat = || json!({"message": "x".repeat(SIZE)});
    let fake = FakeServer::new()
        .on("push", [flood(count, "window/logMessage", fat()), reply(json!(1))])
        .on("ask", [reply(fat())])
        .launcher();
    let connected = connect(&fake).await;
    drop(connected.events);
    let began = tokio::time::Instant::now();
    let mut replied = 0;
    while replied * SIZE < 2 * limits::UNASKED_BURST_BYTES {
        connected.client.request("ask", &json!({})).unwrap().await.unwrap();
        replied += 1;
    }
    assert!(began.elapsed().is_zero(), "{:?}", began.elapsed());
    connected.client.request("push", &json!({})).unwrap().await.unwrap();
    let took = began.elapsed();
    assert!((Duration::from_millis(1_800)..Duration::from_millis(2_200)).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn the_queues_of_all_connections_are_bounded_together_and_each_has_its_share() {
    let budget = Arc::new(FrameBudget::default());
    let with_budget = || {
        let mut options = options();
        options.frames = budget.clone();
        options
    };
    // What a flood holds: texts of requests and names of methods count like those of notifications.
    let text = "x".repeat(1 << 20);
    let floods = [
        notify("custom/wanted", json!({ "text": text })),
        ask("window/showMessageRequest", json!({ "message": text })),
        ask(&format!("workspace/{text}/refresh"), json!({})),
        register("id", &text, json!({})),
    ];
    let mut flooded = Vec::new();
    for number in 0..12 {
        let fake = FakeServer::new().launcher();
        let connected = connect_with(&fake, with_budget()).await;
        fake.push((0..30).flat_map(|_| [floods[number % 4].clone(), wait_ms(1)]));
        flooded.push((fake, connected));
    }
    tokio::time::sleep(Duration::from_secs(120)).await;
    let held = budget.queued_events();
    assert!(held > limits::MAX_QUEUED_EVENTS_BYTES / 2, "{held}");
    assert!(held <= limits::MAX_QUEUED_EVENTS_BYTES + 13 * limits::EVENT_QUEUE_SHARE_BYTES, "{held}");
    let lost: u64 = flooded.iter().map(|(_, connected)| connected.client.counters().lost_events).sum();
    assert!(lost > 0, "it is counted");

    let quiet = FakeServer::new().launcher();
    let mut connected = connect_with(&quiet, with_budget()).await;
    quiet.push([diagnostics("file:///a", None, json!([]))]);
    settle().await;
    assert!(matches!(connected.events.try_recv(), Some(ServerEvent::Notification { .. })), "it has its share");
    drop(flooded);
    settle().await;
    assert_eq!(budget.queued_events(), 0);
}
