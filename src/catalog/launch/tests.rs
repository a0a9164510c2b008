//! Tests of the catalog `launch`: arguments, parts of artifacts, lists that don't fit, errors, and the schemas of all of them.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use codeyard_model::answer::Answer;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::launch::{
    ArtifactPart, LaunchAnswer, LaunchRefusal, LaunchRequest, LaunchSource, RunAction, tools,
};
use codeyard_model::query::Query;

use super::TOOLS;
use crate::{CatalogId, CatalogSet, EncodedReply, PageSizes};

fn decode(tool: &str, arguments: &Value) -> Result<LaunchRequest, ToolError> {
    let raw = RawValue::from_string(arguments.to_string()).unwrap();
    match CatalogId::Launch.catalog().decode(tool, Some(&raw), PageSizes::of_entries(200))? {
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
        let mut read = Vec::new();
        let mut offset = 0;
        let mut parts = 0;
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

/// Arguments that `tool` accepts, with all optional ones.
fn accepted(tool: &str) -> Value {
    match tool {
        tools::START => json!({"run_config": {}, "idempotency_key": "k"}),
        tools::START_FROM_URL | tools::START_FROM_URL_ALIAS => json!({"url": "https://x", "idempotency_key": "k"}),
        tools::START_FROM_REPOSITORY => json!({"github_repo_url": "https://github.com/a/b", "idempotency_key": "k"}),
        tools::ARTIFACT => json!({"run_id": "r", "artifact_name": "a.json", "offset": 1, "length": 2}),
        tools::LIST => json!({"filter": {"product_slug": "p", "state": "DONE"}, "limit": 5, "cursor": "c"}),
        _ => json!({"run_id": "r"}),
    }
}

/// `base` with each of its members left out, and with each of `values` in its place.
fn changed(base: &Value, values: &[Value]) -> Vec<Value> {
    let mut all = vec![base.clone()];
    for name in base.as_object().unwrap().keys() {
        let mut without = base.clone();
        without.as_object_mut().unwrap().remove(name);
        all.push(without);
        all.extend(values.iter().map(|value| {
            let mut with = base.clone();
            with[name] = value.clone();
            with
        }));
        if base[name].is_object() {
            all.extend(changed(&base[name], values).into_iter().map(|inner| {
                let mut with = base.clone();
                with[name] = inner;
                with
            }));
        }
    }
    for name in ["", "more", "RUN_ID", "run_id ", "url", "run_id", "cursor"] {
        let mut with = base.clone();
        with[name] = "x".into();
        all.push(with);
    }
    all
}

#[test]
fn the_decoder_refuses_what_the_schema_refuses_and_nothing_else() {
    let long = |length: usize| json!("é".repeat(length));
    let mut values: Vec<Value> = ["", " ", "x", "0", "1", "\u{0}", "null"].map(Value::from).into();
    values.extend([200, 201, 2_048, 2_049].map(long));
    values.extend([json!(null), json!(true), json!([]), json!({}), json!(["r"]), json!({"more": 1})]);
    values.extend([-1, 0, 1, 199, 200, 201].map(Value::from));
    values.extend([-1.0, -0.0, 0.0, 0.5, 1.0, 1.5, 200.0, 200.5, 1e2, 1e18, 1e300].map(Value::from));
    values.extend([json!(u64::MAX), json!(i64::MIN)]);
    let mut good = 0;
    let mut bad = 0;
    for name in TOOLS.iter().map(|tool| tool.name).chain([tools::START_FROM_URL_ALIAS]) {
        let listed = if name == tools::START_FROM_URL_ALIAS { tools::START_FROM_URL } else { name };
        let tool = TOOLS.iter().find(|tool| tool.name == listed).unwrap();
        let mut schema: Value = serde_json::from_str(tool.input_schema).unwrap();
        if name == tools::START {
            // What is wrong in a configuration the workflow says, all of it at once.
            schema["properties"]["run_config"] = json!({"type": "object"});
        }
        let schema = jsonschema::draft202012::new(&schema).unwrap();
        let mut all = changed(&accepted(name), &values);
        all.extend(values.iter().cloned());
        for arguments in all {
            let decoded = decode(name, &arguments);
            assert_eq!(decoded.is_ok(), schema.is_valid(&arguments), "{name} {arguments} {decoded:?}");
            *(if decoded.is_ok() { &mut good } else { &mut bad }) += 1;
            if let Err(error) = decoded {
                assert_eq!(error.code, ErrorCode::InvalidParams, "{name} {arguments}");
            }
        }
    }
    assert!(good > 100 && bad > 500, "{good} {bad}");
}

/// An answer of each tool with all members that it can have.
fn full_answers() -> Vec<(&'static str, Value)> {
    let issue = json!({
        "issue_id": "iss_1", "gate": "Schema", "severity": "warn", "title": "t", "message": "m", "error_code": "C", "status": "OPEN",
        "location": {"path": "p.md", "line": 3}, "suggested_fix": "f", "fixable": true,
    });
    let gate = json!({"name": "SiteBuild", "ok": true, "skipped": "s", "log": "l"});
    let report = json!({
        "schema_version": "1.0", "ok": false, "profile": "local", "gates": [gate], "issues": [issue], "issues_total": 2,
    });
    let activity = json!({
        "stage": "draft", "attempt": 1, "items_done": 0, "items_total": 2, "message": "m", "queue_position": 1, "interrupted": true,
    });
    let status = json!({
        "run_id": "r", "state": "DRAFTING", "section_states": {"docs": "OUTLINED"}, "artifacts": [{"name": "a.json", "sha256": "0"}],
        "open_issues": [{"issue_id": "iss_1", "severity": "blocker", "gate": "Schema", "title": "t"}], "open_issues_total": 2,
        "activity": activity, "interrupted": "no space", "failure": {"code": "INTERNAL"}, "pr_url": "u",
    });
    let page = json!({"site": "s", "product_slug": "3d", "platform": "python", "locale": "en"});
    let repository = json!({
        "family": "3d", "target_platform": "python", "locales": ["en"], "layout_mode": "auto", "allow_inference": false,
        "github_repo_url": "u", "github_ref": "0",
    });
    let artifact = json!({
        "name": "a.json", "content_type": "application/json", "sha256": "0", "content": "", "offset": 1, "bytes_total": 3, "next_offset": 2,
    });
    let failed =
        json!({"issue_id": "iss_1", "reason": "NO_CHANGE", "message": "m", "attempts": 1, "max_fix_attempts": 3});
    let run = json!({"run_id": "r", "product_slug": "p", "state": "DONE", "started_at": "t", "finished_at": "t"});
    let started = |derived: Option<Value>| {
        let mut answer = json!({"run_id": "r", "state": "CREATED", "replayed": true});
        if let Some(derived) = derived {
            answer["derived_config"] = derived;
        }
        answer
    };
    vec![
        (tools::START, started(None)),
        (tools::START_FROM_URL, started(Some(page))),
        (tools::START_FROM_REPOSITORY, started(Some(repository))),
        (tools::STATUS, json!({"status": status})),
        (tools::ARTIFACT, json!({"run_id": "r", "artifact": artifact})),
        (tools::VALIDATE, json!({"run_id": "r", "validation_report": report})),
        (
            tools::FIX,
            json!({
                "run_id": "r", "fixed_issue_id": null, "applied_patch_ids": ["patch_002"], "remaining_blockers": 0, "summary": "s",
                "failed_attempt": failed, "validation_report": report,
            }),
        ),
        (tools::RESUME, json!({"status": status})),
        (tools::CANCEL, json!({"run_id": "r", "cancelled": true, "state": "CANCELLED"})),
        (tools::OPEN_PR, json!({"run_id": "r", "pr_url": "u", "branch": "b", "commit_sha": "0"})),
        (tools::LIST, json!({"runs": [run], "runs_total": 7, "next_cursor": "c"})),
    ]
}

/// Members that an answer may lack.
const OPTIONAL: [&str; 20] = [
    "replayed", "skipped", "log", "location", "suggested_fix", "issues_total", "message", "queue_position",
    "interrupted", "activity", "failure", "pr_url", "open_issues_total", "offset", "bytes_total", "next_offset",
    "finished_at", "runs_total", "next_cursor", "summary",
];

/// `value` without one member, for each member of each object in it but those whose names are free, with the member's name and its place.
fn thinned(value: &Value, at: &str) -> Vec<(String, Value)> {
    match value {
        Value::Object(members) => {
            let mut all = Vec::new();
            for (name, inner) in members {
                let place = format!("{at}/{name}");
                if !at.ends_with("section_states") && !at.ends_with("failure") && !at.ends_with("details") {
                    let mut without = members.clone();
                    without.remove(name);
                    all.push((place.clone(), without.into()));
                }
                all.extend(thinned(inner, &place).into_iter().map(|(place, inner)| {
                    let mut with = members.clone();
                    with[name] = inner;
                    (place, with.into())
                }));
            }
            all
        }
        Value::Array(items) => {
            let first = items.first().map(|item| thinned(item, at)).unwrap_or_default();
            first.into_iter().map(|(place, item)| (place, json!([item]))).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn the_schemas_of_answers_say_what_the_contract_requires() {
    let answers = full_answers();
    let listed: Value = serde_json::from_str(CatalogSet::parse("launch").unwrap().list_json()).unwrap();
    for (tool, entry) in TOOLS.iter().zip(listed["tools"].as_array().unwrap()) {
        let file = jsonschema::draft202012::new(&serde_json::from_str(tool.output_schema).unwrap()).unwrap();
        let listed = jsonschema::draft202012::new(&entry["outputSchema"]).unwrap();
        let is_valid = |answer: &Value| {
            let is_valid = file.is_valid(answer);
            assert!(!is_valid || listed.is_valid(answer), "{} lists less: {answer}", tool.name);
            (is_valid, listed.is_valid(answer))
        };
        let name = tool.name;
        let (_, answer) = answers.iter().find(|(of, _)| *of == name).unwrap();
        let mut answer = answer.clone();
        answer["ok"] = true.into();
        assert!(
            is_valid(&answer).0,
            "{name}: {:?}",
            file.iter_errors(&answer).map(|error| error.to_string()).collect::<Vec<_>>()
        );
        for (place, thin) in thinned(&answer, "") {
            let is_optional =
                place.ends_with("/failed_attempt") || OPTIONAL.contains(&place.rsplit('/').next().unwrap());
            // A message is optional where it says what an item does, and the address of a pull request where it may not exist yet.
            let is_required =
                place.ends_with("failed_attempt/message") || place.ends_with("issues/message") || place == "/pr_url";
            assert_eq!(is_valid(&thin).0, is_optional && !is_required, "{name} without {place}");
            let is_inner = place.matches('/').count() > 2;
            assert!(is_inner || is_valid(&thin).1 == is_valid(&thin).0, "{name} without {place} in the list");
        }
        for wrong in [json!({}), json!({"ok": true}), json!({"ok": false}), json!({"ok": 1}), json!([]), json!("ok")] {
            assert_eq!(is_valid(&wrong), (false, false), "{name} {wrong}");
        }
        let mut more = answer.clone();
        more["more"] = 1.into();
        assert!(!is_valid(&more).0, "{name}");
        answer["ok"] = false.into();
        assert_eq!(is_valid(&answer), (false, false), "{name}: what has failed has an error");
    }
}

#[test]
fn the_schemas_of_answers_accept_every_error_of_the_contract() {
    let codes = [
        "INVALID_INPUT", "SCHEMA_VALIDATION_FAILED", "RUN_NOT_FOUND", "ILLEGAL_STATE", "TOOLCHAIN_MISSING",
        "FIX_EXHAUSTED", "ALLOWED_PATHS_VIOLATION", "COMMIT_SERVICE_ERROR", "CANCELLED", "INTERNAL", "INVALID_URL",
        "UNSUPPORTED_SITE", "REPO_NOT_FOUND",
    ];
    let listed: Value = serde_json::from_str(CatalogSet::parse("launch").unwrap().list_json()).unwrap();
    for (tool, entry) in TOOLS.iter().zip(listed["tools"].as_array().unwrap()) {
        let file: Value = serde_json::from_str(tool.output_schema).unwrap();
        let written = file["properties"]["error"]["properties"]["code"]["enum"].as_array().unwrap().len();
        assert_eq!(written, codes.len(), "{}", tool.name);
        let file = jsonschema::draft202012::new(&file).unwrap();
        let listed = jsonschema::draft202012::new(&entry["outputSchema"]).unwrap();
        for code in codes {
            let refusal =
                LaunchRefusal { retryable: true, ..LaunchRefusal::new(code, "m") }.with("reason", json!(["x"]));
            for refusal in [refusal.clone(), refusal.for_run("r")] {
                let (sent, _) = result(LaunchAnswer::Refused(Box::new(refusal)), 4_000);
                assert!(file.is_valid(&sent) && listed.is_valid(&sent), "{} {sent}", tool.name);
                for (place, thin) in thinned(&sent, "") {
                    let is_valid = place == "/run_id";
                    assert_eq!(
                        (file.is_valid(&thin), listed.is_valid(&thin)),
                        (is_valid, is_valid),
                        "{} without {place}",
                        tool.name
                    );
                }
                let mut unknown = sent.clone();
                unknown["error"]["code"] = "GATE_FAILED".into();
                assert!(!file.is_valid(&unknown), "{}", tool.name);
            }
        }
    }
}

#[test]
fn a_cut_page_of_runs_names_its_last_run_as_the_cursor() {
    let run = |number: usize| json!({"run_id": format!("r_{number:03}"), "state": "DONE"});
    let page = |next: Option<&str>| {
        let mut object = Map::from_iter([("runs".to_owned(), (0..100).map(run).collect::<Value>())]);
        object.extend(next.map(|next| ("next_cursor".to_owned(), next.into())));
        LaunchAnswer::WithList { object, list: &["runs"], total: "runs_total" }
    };
    for next in [Some("r_099"), None] {
        let (cut, _) = result(page(next), 2_000);
        let shown = cut["runs"].as_array().unwrap();
        assert!(!shown.is_empty() && shown.len() < 100, "{cut}");
        assert_eq!((&cut["next_cursor"], &cut["runs_total"]), (&shown.last().unwrap()["run_id"], &json!(100)));
        let (whole, _) = result(page(next), 100_000);
        assert_eq!(whole.get("next_cursor"), next.map(|next| json!(next)).as_ref());
    }
}

#[test]
fn long_details_are_cut_and_keep_what_decides() {
    let faults: Vec<Value> =
        (0..2_000).map(|at| json!({"path": format!("/allowed_paths/{at}"), "message": "m".repeat(40)})).collect();
    let refused = |refusal: LaunchRefusal| {
        result(LaunchAnswer::Refused(Box::new(refusal)), 512 * 1024).0["error"]["details"].clone()
    };
    let details = refused(LaunchRefusal::new("SCHEMA_VALIDATION_FAILED", "m").with("faults", faults));
    let shown = details["faults"].as_array().unwrap().len();
    assert!((100..2_000).contains(&shown), "{shown}");
    assert_eq!(details["faults_total"], 2_000);
    let illegal = LaunchRefusal::new("ILLEGAL_STATE", "m").with("state", "FAILED").with("allowed", vec!["VALIDATING"]);
    let illegal = illegal.with("failure", json!({"details": {"paths": vec!["p".repeat(100); 1_000]}}));
    assert_eq!(refused(illegal), json!({"state": "FAILED", "allowed": ["VALIDATING"]}));
}
