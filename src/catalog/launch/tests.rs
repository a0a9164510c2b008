//! Tests of the catalog `launch`: arguments, parts of artifacts, lists that don't fit, errors.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use codeyard_model::answer::Answer;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::launch::{ArtifactPart, LaunchAnswer, LaunchRefusal, LaunchRequest, LaunchSource, RunAction};
use codeyard_model::query::Query;

use crate::{CatalogId, CatalogSet, EncodedReply};

fn decode(tool: &str, arguments: &Value) -> Result<LaunchRequest, ToolError> {
    let raw = RawValue::from_string(arguments.to_string()).unwrap();
    match CatalogId::Launch.catalog().decode(tool, Some(&raw), 200)? {
        Query::Launch(request) => Ok(request),
        other => panic!("{other:?}"),
    }
}

fn result(answer: LaunchAnswer, cap: usize) -> (Value, bool) {
    read(&CatalogId::Launch.catalog().encode(Ok(&Answer::Launch(answer)), cap), cap)
}

fn read(reply: &EncodedReply, cap: usize) -> (Value, bool) {
    let (EncodedReply::Result(bytes) | EncodedReply::Refusal { result: bytes, .. }) = reply else {
        panic!("{reply:?}")
    };
    assert!(bytes.len() <= cap, "{} of {cap}", bytes.len());
    let reply: Value = serde_json::from_slice(bytes).unwrap();
    let text = reply["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), reply["structuredContent"]);
    assert_eq!(reply["structuredContent"]["ok"], json!(reply["isError"] == false));
    (reply["structuredContent"].clone(), reply["isError"] == true)
}

#[test]
fn the_list_is_small_and_the_alias_is_only_callable() {
    let set = CatalogSet::parse("launch").unwrap();
    assert!(set.list_json().len() <= 12 * 1024, "{} bytes", set.list_json().len());
    let listed: Value = serde_json::from_str(set.list_json()).unwrap();
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 11);
    assert!(!names.contains(&"launch_start_run_from_url") && set.find("launch_start_run_from_url").is_some());
    assert!(CatalogSet::parse("agent+code+launch").is_ok());
}

#[test]
fn arguments_are_decoded_and_checked() {
    let config = json!({"anything": [1, {"at": "all"}]});
    let request = decode("launch_start_run", &json!({"run_config": config, "idempotency_key": "k"})).unwrap();
    let expected = LaunchRequest::Start { source: LaunchSource::Config(config), idempotency_key: Some("k".into()) };
    assert_eq!(request, expected);
    let url = json!({"url": "https://x"});
    let by_name = decode("launch_start_run_from_product_url", &url).unwrap();
    assert_eq!(by_name, decode("launch_start_run_from_url", &url).unwrap());
    assert_eq!(by_name.tool(), "launch_start_run_from_product_url");
    let part = json!({"run_id": "r", "artifact_name": "a.json", "offset": 3, "length": 4});
    let action = RunAction::Artifact { name: "a.json".into(), offset: 3, length: Some(4) };
    let expected = LaunchRequest::Run { run_id: "r".into(), action };
    assert_eq!(decode("launch_get_artifact", &part).unwrap(), expected);
    let list = decode("launch_list_runs", &json!({"filter": {"state": "DONE"}, "limit": 5})).unwrap();
    assert!(matches!(list, LaunchRequest::List { state: Some(state), limit: Some(5), .. } if state == "DONE"));
    assert!(decode("launch_list_runs", &json!({})).is_ok());

    for (tool, arguments, path, reason) in [
        ("launch_start_run", json!({}), "run_config", "missing"),
        ("launch_start_run", json!({"run_config": "x"}), "run_config", "type"),
        ("launch_start_run", json!({"run_config": {}, "idempotency_key": ""}), "idempotency_key", "empty"),
        ("launch_start_run", json!({"run_config": {}, "idempotency_key": "x".repeat(201)}), "idempotency_key", "range"),
        ("launch_start_run", json!({"run_config": {}, "more": 1}), "more", "unknown"),
        ("launch_get_status", json!({"run_id": 5}), "run_id", "type"),
        ("launch_get_status", json!({"run_id": ""}), "run_id", "empty"),
        ("launch_get_artifact", json!({"run_id": "r", "artifact_name": "a", "length": 0}), "length", "range"),
        ("launch_list_runs", json!({"filter": {"name": "x"}}), "filter.name", "unknown"),
        ("launch_list_runs", json!({"limit": 201}), "limit", "range"),
    ] {
        let error = decode(tool, &arguments).unwrap_err();
        assert_eq!(
            (error.details["path"].as_str(), error.details["reason"].as_str()),
            (Some(path), Some(reason)),
            "{tool}"
        );
        let (sent, is_error) = read(&CatalogId::Launch.catalog().encode(Err(&error), 10_000), 10_000);
        assert!(is_error);
        assert_eq!(
            (&sent["error"]["code"], &sent["error"]["details"]["path"]),
            (&json!("INVALID_INPUT"), &json!(path))
        );
    }
}

fn part(content: &[u8], offset: u64, length: Option<u64>) -> LaunchAnswer {
    LaunchAnswer::Artifact(Box::new(ArtifactPart {
        run_id: "r".into(),
        name: "a.md".into(),
        content_type: "text/markdown",
        sha256: "0".repeat(64),
        content: content.to_vec(),
        offset,
        length,
    }))
}

#[test]
fn a_large_artifact_comes_in_parts_that_make_up_the_whole() {
    let text = "é\"\\\n€ plain text ".repeat(500);
    let binary: Vec<u8> = (0..5_000_u32).map(|number| (number * 37 % 256) as u8).collect();
    for (content, length) in
        [(text.as_bytes(), None), (text.as_bytes(), Some(7)), (&binary[..], None), (&binary[..], Some(1_000))]
    {
        let (mut read, mut offset, mut parts) = (Vec::new(), 0, 0);
        loop {
            let (sent, is_error) = result(part(content, offset, length), 4_000);
            assert!(!is_error, "{sent}");
            let artifact = &sent["artifact"];
            let piece = artifact["content"].as_str().unwrap();
            if artifact["content_type"] == "text/markdown" {
                read.extend_from_slice(piece.as_bytes());
            } else {
                assert_eq!(artifact["content_type"], "text/markdown;base64");
                read.extend(codeyard_base::base64_text::decode(piece).unwrap());
            }
            parts += 1;
            match artifact["next_offset"].as_u64() {
                Some(next) => offset = next,
                None => break,
            }
        }
        assert!(parts > 1 && read == content, "{parts} parts");
    }
    let (whole, _) = result(part(b"# T\n", 0, None), 4_000);
    let expected =
        json!({"name": "a.md", "content_type": "text/markdown", "sha256": "0".repeat(64), "content": "# T\n"});
    assert_eq!(whole["artifact"], expected);
    let (end, _) = result(part(b"abc", 3, None), 4_000);
    assert_eq!((&end["artifact"]["content"], &end["artifact"]["bytes_total"]), (&json!(""), &json!(3)));
    assert_eq!(result(part(b"abc", 99, None), 4_000).0["artifact"]["content"], "", "past the end");
    let (empty, is_error) = result(part(b"", 0, None), 4_000);
    assert!(!is_error && empty["artifact"]["content"] == "");
}

#[test]
fn a_list_that_does_not_fit_is_cut_and_says_its_length() {
    let issues: Vec<Value> = (0..100).map(|number| json!({"issue_id": number, "title": "t".repeat(50)})).collect();
    let report = json!({"ok": false, "issues": issues});
    let object = Map::from_iter([("run_id".to_owned(), json!("r")), ("validation_report".to_owned(), report)]);
    let answer = |object: &Map<String, Value>| LaunchAnswer::WithList {
        object: object.clone(),
        list: &["validation_report", "issues"],
        total: "issues_total",
    };
    let (sent, _) = result(answer(&object), 6_000);
    let report = &sent["validation_report"];
    let shown = report["issues"].as_array().unwrap();
    assert!((5..100).contains(&shown.len()) && shown[0]["issue_id"] == 0, "{}", shown.len());
    assert_eq!(report["issues_total"], 100);
    let (whole, _) = result(answer(&object), 100_000);
    assert!(whole["validation_report"].get("issues_total").is_none());
    assert_eq!(whole["validation_report"]["issues"].as_array().unwrap().len(), 100);
}

#[test]
fn errors_have_the_shape_of_the_contract() {
    let refusal = LaunchRefusal::new("ILLEGAL_STATE", "m").with("state", "DONE").for_run("r");
    let (sent, is_error) = result(LaunchAnswer::Refused(Box::new(refusal)), 4_000);
    let error = json!({"code": "ILLEGAL_STATE", "message": "m", "retryable": false, "details": {"state": "DONE"}});
    assert_eq!((sent, is_error), (json!({"ok": false, "run_id": "r", "error": error}), true));
    // Details that don't fit are left out; the code never is.
    let large = LaunchRefusal::new("INVALID_INPUT", "m").with("reason", "x").with("faults", "f".repeat(100_000));
    let (sent, _) = result(LaunchAnswer::Refused(Box::new(large)), 200_000);
    assert_eq!(sent["error"]["details"], json!({"reason": "x"}));
    let overloaded = ToolError::overloaded(250);
    let (sent, _) = read(&CatalogId::Launch.catalog().encode(Err(&overloaded), 4_000), 4_000);
    let expected = json!({"reason": "overloaded", "retryAfterMs": 250, "cause_class": "overloaded"});
    let error = &sent["error"];
    assert_eq!((&error["code"], &error["retryable"], &error["details"]), (&json!("INTERNAL"), &json!(true), &expected));
    let reply = CatalogId::Launch.catalog().encode(Err(&ToolError::internal()), 4_000);
    assert_eq!(reply.tool_code(), Some(ErrorCode::Internal));
    assert_eq!(read(&reply, 4_000).0["error"]["details"]["cause_class"], "defect");
}
