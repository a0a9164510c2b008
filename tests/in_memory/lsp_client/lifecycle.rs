//! The handshake and the stop sequence, with paused time.

use std::path::PathBuf;
use std::time::Duration;

use codeyard_lsp::client::lifecycle::{InitializeError, InitializeSpec, StopPace, StopStage, initialize, stop};
use codeyard_process::launch::ProcessExit;
use serde_json::{Value, json};

use crate::fake_server::*;
use crate::lsp_client::support::connect;

fn spec() -> InitializeSpec {
    InitializeSpec {
        root: PathBuf::from("/w/a b"),
        folders: vec!["/w/a b".into(), "/".into()],
        process_id: Some(42),
        initialization_options: Some(json!({"fast": true})),
        encodings: vec!["utf-8".into(), "utf-16".into()],
        settings: Some(json!({"python": {}})),
    }
}

#[tokio::test(start_paused = true)]
async fn the_handshake_negotiates_capabilities() {
    let capabilities = json!({"hoverProvider": true, "positionEncoding": "utf-8"});
    let fake = FakeServer::new().capabilities(capabilities).launcher();
    let connected = connect(&fake).await;
    let initialized = initialize(&connected.client, &spec()).await.unwrap();
    assert_eq!(initialized.encoding, "utf-8");
    assert!(initialized.capabilities.supports("textDocument/hover"));
    assert!(connected.client.capabilities().supports("textDocument/hover"), "the same view");
    fake.wait_for("workspace/didChangeConfiguration", 1).await;
    assert_eq!(fake.record().methods(), ["initialize", "initialized", "workspace/didChangeConfiguration"]);
    assert_eq!(fake.record().params("workspace/didChangeConfiguration"), [json!({"settings": {"python": {}}})]);

    let params = fake.record().params("initialize").remove(0);
    assert_eq!(params["processId"], 42);
    assert_eq!(params["rootUri"], "file:///w/a%20b");
    assert_eq!(params["rootPath"], "/w/a b");
    assert_eq!(
        params["workspaceFolders"],
        json!([{"uri": "file:///w/a%20b", "name": "a b"}, {"uri": "file:///", "name": "root"}])
    );
    assert_eq!(params["initializationOptions"], json!({"fast": true}));
    for (pointer, value) in [
        ("/general/positionEncodings", json!(["utf-8", "utf-16"])),
        ("/textDocument/documentSymbol/hierarchicalDocumentSymbolSupport", json!(true)),
        ("/textDocument/hover/contentFormat", json!(["markdown", "plaintext"])),
        ("/textDocument/definition/linkSupport", json!(true)),
        ("/textDocument/publishDiagnostics/versionSupport", json!(true)),
        ("/textDocument/publishDiagnostics/relatedInformation", json!(true)),
        ("/textDocument/diagnostic/dynamicRegistration", json!(true)),
        ("/textDocument/diagnostic/relatedDocumentSupport", json!(true)),
        ("/workspace/diagnostics/refreshSupport", json!(true)),
        ("/workspace/didChangeWatchedFiles/relativePatternSupport", json!(true)),
        ("/workspace/configuration", json!(true)),
        ("/workspace/workspaceFolders", json!(true)),
        ("/window/workDoneProgress", json!(true)),
        ("/experimental/serverStatusNotification", json!(true)),
        ("/workspace/applyEdit", json!(false)),
    ] {
        assert_eq!(params["capabilities"].pointer(pointer), Some(&value), "{pointer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_minimal_handshake_succeeds() {
    let fake = FakeServer::new().launcher();
    let connected = connect(&fake).await;
    let short = InitializeSpec {
        process_id: None,
        initialization_options: None,
        encodings: Vec::new(),
        settings: None,
        ..spec()
    };
    assert_eq!(initialize(&connected.client, &short).await.unwrap().encoding, "utf-16");
    fake.wait_for("initialized", 1).await;
    let params = fake.record().params("initialize").remove(0);
    assert_eq!(params["processId"], Value::Null);
    assert!(params.get("initializationOptions").is_none());
    assert_eq!(params["capabilities"]["general"]["positionEncodings"], json!(["utf-16"]));
    assert_eq!(fake.record().methods(), ["initialize", "initialized"]);
}

#[tokio::test(start_paused = true)]
async fn failed_handshakes_report_their_reason() {
    let malformed = [json!(null), json!({}), json!({"capabilities": []}), json!("x")];
    for answer in malformed {
        let fake = FakeServer::new().answer("initialize", answer.clone()).launcher();
        let connected = connect(&fake).await;
        let client = &connected.client;
        assert_eq!(initialize(client, &spec()).await.unwrap_err(), InitializeError::Malformed, "{answer}");
    }
    let odd = json!({"capabilities": {"positionEncoding": "ebcdic"}});
    let fake = FakeServer::new().answer("initialize", odd).launcher();
    let connected = connect(&fake).await;
    let client = &connected.client;
    assert_eq!(initialize(client, &spec()).await.unwrap_err(), InitializeError::Encoding);
    let fake = FakeServer::new().on("initialize", [exit(1)]).launcher();
    let connected = connect(&fake).await;
    let client = &connected.client;
    assert!(matches!(initialize(client, &spec()).await, Err(InitializeError::Request(_))));
}

#[tokio::test(start_paused = true)]
async fn the_stop_sequence_ends_a_server_at_each_stage() {
    let code = |code| Some(ProcessExit::of_code(code));
    let signal = |signal| Some(ProcessExit::of_signal(signal));
    let stubborn = || FakeServer::new().ignores_closed_input().on("exit", []);
    type Case = (&'static str, FakeServer, StopStage, Option<ProcessExit>, bool, u64);
    let table: [Case; 8] = [
        ("polite", FakeServer::new(), StopStage::Exit, code(0), true, 0),
        ("slow", FakeServer::new().on("exit", [wait_ms(500), exit(1)]), StopStage::Exit, code(1), true, 500),
        ("no answer", FakeServer::new().never("shutdown"), StopStage::Exit, code(0), false, 2_000),
        ("refuses shutdown", FakeServer::new().on("shutdown", [fail(-32600, "x")]), StopStage::Exit, code(0), true, 0),
        (
            "dies of shutdown",
            FakeServer::new().on("shutdown", [wait_ms(30), exit(7)]),
            StopStage::Exit,
            code(7),
            false,
            30,
        ),
        ("stays", stubborn(), StopStage::Term, signal(15), true, 1_000),
        ("hangs", stubborn().never("shutdown").ignores_terminate(), StopStage::Kill, signal(9), false, 5_000),
        ("leaves an orphan", FakeServer::new().leaves_an_orphan(), StopStage::Kill, code(0), true, 0),
    ];
    for (name, script, rung, exit, answered, took) in table {
        let fake = script.launcher();
        let connected = connect(&fake).await;
        let report = stop(&connected.client, connected.process.as_ref(), StopPace::Patient).await;
        assert_eq!((report.stage, report.exit, report.answered_shutdown), (rung, exit, answered), "{name}");
        assert!(report.group_empty, "{name}");
        assert_eq!(report.took, Duration::from_millis(took), "{name}");
        assert_eq!(fake.alive(), 0, "{name}");
        assert!(connected.client.is_closed(), "{name}");
        let again = stop(&connected.client, connected.process.as_ref(), StopPace::Patient).await;
        assert_eq!((again.stage, again.took), (StopStage::Gone, Duration::ZERO), "{name}");
    }
}
