//! Replies of the catalog `code`: shapes byte for byte, the caps, errors. Arguments are tested in `tests/contract`.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::limits::MAX_OUTLINE_LEVELS;
use crate::{Catalog, CatalogId, EncodedReply};
use codeyard_model::answer::{Answer, AnswerNotes, CappedList};
use codeyard_model::code::*;
use codeyard_model::error::{CallPhase, ErrorCode, ToolError};
use codeyard_model::limits::{MAX_CODE_PAYLOAD_BYTES, MAX_RESPONSE_BYTES};

fn catalog() -> &'static dyn Catalog {
    CatalogId::Code.catalog()
}

/// The text of the reply, which is the JSON of the payload; and whether it is an error.
fn text_of(reply: &EncodedReply, tool: &str) -> (String, bool) {
    let (bytes, failed) = match reply {
        EncodedReply::Result(bytes) => (bytes, false),
        EncodedReply::Refusal { result, .. } => (result, true),
        EncodedReply::Error { .. } => panic!("not a tool result"),
    };
    assert!(!bytes.contains(&b'\n'));
    let reply: Value = serde_json::from_slice(bytes).unwrap();
    assert_eq!((reply["isError"].as_bool(), reply["content"].as_array().unwrap().len()), (Some(failed), 1));
    let text = reply["content"][0]["text"].as_str().unwrap().to_owned();
    let payload: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(payload, reply["structuredContent"], "the text is the payload");
    let start = format!("{{\"isError\":{failed},\"structuredContent\":{text},\"content\"");
    assert!(bytes.starts_with(start.as_bytes()), "the same bytes, members in the same order");
    let at = catalog().tool_names().iter().position(|name| name == tool).unwrap();
    let entry: Value = serde_json::from_str(&catalog().tool_entries()[at]).unwrap();
    let schema = jsonschema::validator_for(&entry["outputSchema"]).unwrap();
    assert!(schema.is_valid(&payload), "{tool}: {payload}");
    assert_known(&payload, &entry["outputSchema"], tool);
    (text, failed)
}

/// The served schema names every member of the payload.
fn assert_known(payload: &Value, schema: &Value, at: &str) {
    match (payload, schema["properties"].as_object(), schema.get("items")) {
        (Value::Object(members), Some(known), _) => members.iter().for_each(|(name, value)| {
            assert!(known.contains_key(name), "{at}.{name} isn't in the schema");
            assert_known(value, &known[name], &format!("{at}.{name}"));
        }),
        (Value::Array(items), _, Some(each)) => items.iter().for_each(|item| assert_known(item, each, at)),
        _ => {}
    }
}

fn encoded(answer: CodeAnswer, cap: usize) -> (String, bool) {
    let tool = match &answer {
        CodeAnswer::Rows(ResultRows { intent: None, .. }) => "locate_symbol",
        CodeAnswer::Rows(_) | CodeAnswer::Refused(_) => "search_code",
        CodeAnswer::Outline(_) => "get_file_outline",
        CodeAnswer::Health(_) => "health_check",
        CodeAnswer::Job(_) | CodeAnswer::Jobs(_) => "index_repo",
        CodeAnswer::Status(_) | CodeAnswer::Statuses(_) => "index_status",
    };
    let reply = catalog().encode(Ok(&Answer::Code(answer)), cap);
    let bytes = match &reply {
        EncodedReply::Result(bytes) | EncodedReply::Refusal { result: bytes, .. } => bytes.len(),
        EncodedReply::Error { .. } => 0,
    };
    assert!(bytes <= cap);
    text_of(&reply, tool)
}

fn shown(answer: CodeAnswer) -> String {
    let (text, failed) = encoded(answer, MAX_RESPONSE_BYTES);
    assert!(!failed && text.len() <= MAX_CODE_PAYLOAD_BYTES);
    text
}

fn value(answer: CodeAnswer) -> Value {
    serde_json::from_str(&shown(answer)).unwrap()
}

fn ready() -> AnswerMetadata {
    AnswerMetadata {
        freshness: Freshness::Fresh,
        indexing: IndexingStatus::Ready,
        completeness: Completeness::Complete,
        schema: SchemaStatus::Compatible,
        reference: "main".into(),
        ..AnswerMetadata::default()
    }
}

fn symbol() -> ResultRow {
    let parent = RelatedSymbol { kind: SymbolKind::Impl, name: "Vault".into(), path: "src/vault.rs".into(), line: 40 };
    let related = RelatedSymbol { kind: SymbolKind::Struct, name: "Key".into(), path: "src/key.rs".into(), line: 3 };
    ResultRow {
        result_type: ResultType::Symbol,
        path: "src/vault.rs".into(),
        line_start: 44,
        line_end: 60,
        kind: Some(SymbolKind::Fn),
        name: "unlock".into(),
        qualified_name: Some("vault::Vault::unlock".into()),
        signature: Some("pub fn unlock(&self, key: &Key) -> bool".into()),
        language: Some("rust"),
        visibility: Some(Visibility::Public),
        body_preview: Some("pub fn unlock(&self, key: &Key) -> bool {\n    \"…\"".into()),
        parent: Some(parent),
        related: vec![related],
        result_id: "r1".into(),
        symbol_id: Some("s1".into()),
        symbol_stable_id: Some("t1".into()),
        score: Some(0.75),
        confirmed_by: Some("rust-analyzer".into()),
        ..ResultRow::default()
    }
}

fn line(number: u32, text: &str) -> ResultRow {
    ResultRow {
        result_type: ResultType::Line,
        path: "src/vault.rs".into(),
        line_start: number,
        line_end: number,
        language: Some("rust"),
        result_id: format!("l{number}"),
        text: Some(text.into()),
        before: vec!["// before".into()],
        after: vec![],
        ..ResultRow::default()
    }
}

fn rows(rows: Vec<ResultRow>) -> ResultRows {
    let total = rows.len();
    ResultRows {
        rows,
        intent: Some(QueryIntent::Symbol),
        total,
        next: vec![],
        detail: DetailLevel::Signature,
        compact: false,
        asked: CallArguments::default(),
        metadata: ready(),
    }
}

fn asked(query: SearchQuery) -> CallArguments {
    CallArguments::of(&CodeQuery::Search(query))
}

fn reasons(n: usize) -> Vec<RankingReasons> {
    let of = |index: usize| RankingReasons {
        exact_match_boost: 1.0,
        qualified_name_boost: 0.5,
        path_affinity: 0.25,
        definition_boost: 1.0,
        kind_match: 0.0,
        bm25_score: 12.5,
        final_score: 1.0 / (index + 1) as f64,
    };
    (0..n).map(of).collect()
}

fn outline_symbol(name: &str, line: u32, children: Vec<OutlineSymbol>) -> OutlineSymbol {
    OutlineSymbol {
        kind: if children.is_empty() { SymbolKind::Fn } else { SymbolKind::Impl },
        name: name.into(),
        line_start: line,
        line_end: line + 1,
        visibility: children.is_empty().then(|| "pub".into()),
        signature: children.is_empty().then(|| format!("pub fn {name}()")),
        children,
    }
}

fn outline(symbols: Vec<OutlineSymbol>, depth: OutlineDepth) -> Outline {
    let path = "src/vault.rs".into();
    let asked = CallArguments::default();
    let metadata = ready();
    Outline { path, root: None, workspace: None, language: Some("rust"), depth, symbols, asked, metadata }
}

fn project() -> ProjectHealth {
    ProjectHealth {
        project_id: "0123456789abcdef".into(),
        repo_root: "/w/vault".into(),
        workspace: None,
        index_status: IndexingStatus::Ready,
        schema_status: SchemaStatus::Compatible,
        current_schema_version: Some(1),
        required_schema_version: 1,
        freshness: Freshness::Fresh,
        last_indexed_at: Some("2026-02-23T10:30:00Z".into()),
        reference: "main".into(),
        file_count: 12,
        symbol_count: 345,
    }
}

fn health() -> HealthReport {
    HealthReport {
        status: HealthStatus::Ready,
        version: "0.1.0",
        uptime_seconds: 60,
        tantivy_ok: true,
        sqlite_ok: true,
        grammars: GrammarStatus { available: vec!["go", "rust"], missing: vec![] },
        active_job: None,
        interrupted: vec![],
        warmset: WarmsetStatus { enabled: true, capacity: 3, members: vec!["/w/vault".into()] },
        prewarm: PrewarmStatus::Complete,
        startup: check(SchemaStatus::Compatible),
        projects: vec![project()],
        incomplete: vec![],
    }
}

fn check(status: SchemaStatus) -> StartupCheck {
    let is_fine = status == SchemaStatus::Compatible;
    StartupCheck {
        status,
        current_schema_version: is_fine.then_some(1),
        required_schema_version: 1,
        message: (!is_fine).then(|| "Run `codeyard index --force`.".into()),
    }
}

fn active_job() -> ActiveJob {
    ActiveJob {
        job_id: "j2".into(),
        project_id: "0123456789abcdef".into(),
        mode: JobMode::Incremental,
        status: JobStatus::Running,
        changed_files: 12,
        started_at: "2026-02-23T10:35:00Z".into(),
        phase: "parsing",
        done_files: 3,
        done_bytes: 4_096,
    }
}

fn status() -> IndexStatus {
    IndexStatus {
        project: project(),
        active_job: Some(active_job()),
        recent_jobs: vec![JobRecord {
            job_id: "j1".into(),
            mode: JobMode::Full,
            status: JobStatus::Published,
            reference: "main".into(),
            changed_files: 12,
            started_at: "2026-02-23T10:29:00Z".into(),
            ended_at: Some("2026-02-23T10:30:00Z".into()),
            message: None,
        }],
        startup: check(SchemaStatus::Compatible),
        left_out: vec![("binary", 2), ("too_large", 1)],
        metadata: ready(),
    }
}

/// Every shape, by its name.
fn shapes() -> Vec<(String, CodeAnswer)> {
    let mut all = Vec::new();
    let bare =
        ResultRow { path: "a.txt".into(), line_start: 1, line_end: 1, name: "a.txt".into(), ..ResultRow::default() };
    let file = ResultRow { result_type: ResultType::File, result_id: "f1".into(), root: Some("/w".into()), ..bare };
    for detail in DetailLevel::ALL {
        for compact in [false, true] {
            let found =
                ResultRows { detail: *detail, compact, ..rows(vec![symbol(), file.clone(), line(7, "let key;")]) };
            let of_locate = ResultRows { intent: None, rows: vec![symbol()], total: 4, ..found.clone() };
            let suffix = if compact { ", compact" } else { "" };
            all.push((format!("search_code, {}{suffix}", detail.as_str()), CodeAnswer::Rows(found)));
            all.push((format!("locate_symbol, {}{suffix}", detail.as_str()), CodeAnswer::Rows(of_locate)));
        }
    }
    let next = NextAction { tool: tools::OUTLINE, arguments: json!({"path": "a.rs"}), reason: "see the file".into() };
    all.push(("search_code, a next action".into(), CodeAnswer::Rows(ResultRows { next: vec![next], ..rows(vec![]) })));
    for level in ExplainLevel::ALL {
        let metadata = AnswerMetadata { reasons: Some((*level, reasons(2))), ..ready() };
        let found = ResultRows { detail: DetailLevel::Location, metadata, ..rows(vec![symbol(), symbol()]) };
        all.push((format!("ranking_reasons, {}", level.as_str()), CodeAnswer::Rows(found)));
    }
    let metadata = AnswerMetadata {
        warnings: vec!["One.".into(), "Two.".into()],
        suppressed_duplicates: 2,
        safety_limit: Some("candidates"),
        ..ready()
    };
    all.push(("metadata, all of it".into(), CodeAnswer::Rows(ResultRows { metadata, ..rows(vec![]) })));
    let symbols = || vec![outline_symbol("Vault", 40, vec![outline_symbol("unlock", 44, vec![])])];
    all.push(("get_file_outline, all".into(), CodeAnswer::Outline(outline(symbols(), OutlineDepth::All))));
    all.push(("get_file_outline, top".into(), CodeAnswer::Outline(outline(symbols(), OutlineDepth::Top))));
    let plain = Outline { language: None, root: Some("/w".into()), ..outline(vec![], OutlineDepth::All) };
    all.push(("get_file_outline, not parsed".into(), CodeAnswer::Outline(plain)));
    all.push(("health_check, ready".into(), CodeAnswer::Health(Box::new(health()))));
    all.push(("health_check, everything".into(), CodeAnswer::Health(Box::new(busy()))));
    all.push((
        "health_check, no root".into(),
        CodeAnswer::Health(Box::new(HealthReport { projects: vec![], ..health() })),
    ));
    let status_ = JobStatus::Queued;
    let job = JobAnswer { job_id: "j3".into(), status: status_, mode: JobMode::Full, metadata: ready() };
    all.push(("index_repo".into(), CodeAnswer::Job(job)));
    all.push(("index_status, a job".into(), CodeAnswer::Status(Box::new(status()))));
    let new = ProjectHealth { current_schema_version: None, last_indexed_at: None, ..project() };
    let startup = check(SchemaStatus::NotIndexed);
    let empty =
        IndexStatus { project: new, active_job: None, recent_jobs: vec![], left_out: vec![], startup, ..status() };
    all.push(("index_status, no index".into(), CodeAnswer::Status(Box::new(empty))));
    all
}

fn busy() -> HealthReport {
    let interrupted = InterruptedJob {
        job_id: "j0".into(),
        project_id: "0123456789abcdef".into(),
        mode: JobMode::Full,
        started_at: "2026-02-23T09:00:00Z".into(),
    };
    let stale = ProjectHealth { freshness: Freshness::Stale, index_status: IndexingStatus::Failed, ..project() };
    let old =
        ProjectHealth { schema_status: SchemaStatus::ReindexRequired, freshness: Freshness::Syncing, ..project() };
    HealthReport {
        status: HealthStatus::Error,
        active_job: Some(active_job()),
        interrupted: vec![interrupted],
        startup: check(SchemaStatus::ReindexRequired),
        projects: vec![project(), stale, old],
        ..health()
    }
}

#[test]
fn shapes_are_golden() {
    let mut golden = String::new();
    for (name, answer) in shapes() {
        writeln!(golden, "# {name}\n{}\n", shown(answer)).unwrap();
    }
    for code in CodeError::ALL {
        let refusal =
            CodeRefusal::new(*code, "What to do.").with("suggestion", "Call sync_repo.").with_metadata(ready());
        let (text, failed) = encoded(CodeAnswer::Refused(Box::new(refusal)), MAX_RESPONSE_BYTES);
        assert!(failed);
        writeln!(golden, "# error, {}\n{text}\n", code.as_str()).unwrap();
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/golden/code.replies.txt");
    if std::env::var_os("CODEYARD_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &golden).unwrap();
    }
    assert_eq!(golden, std::fs::read_to_string(path).unwrap(), "CODEYARD_UPDATE_GOLDEN=1 rewrites");
}

#[test]
fn every_combination_of_metadata_is_encoded() {
    let mut said = std::collections::BTreeSet::new();
    for freshness in Freshness::ALL {
        for indexing in IndexingStatus::ALL {
            for completeness in Completeness::ALL {
                for schema in SchemaStatus::ALL {
                    let freshness = *freshness;
                    let indexing = *indexing;
                    let completeness = *completeness;
                    let schema = *schema;
                    let metadata = AnswerMetadata { freshness, indexing, completeness, schema, ..ready() };
                    let text = shown(CodeAnswer::Rows(ResultRows { metadata, ..rows(vec![]) }));
                    let expected = format!(
                        "\"metadata\":{{\"codecompass_protocol_version\":\"1.0\",\"freshness_status\":\"{}\",\
                         \"indexing_status\":\"{}\",\"result_completeness\":\"{}\",\"schema_status\":\"{}\",\"ref\":\"main\"}}}}",
                        freshness.as_str(),
                        indexing.as_str(),
                        completeness.as_str(),
                        schema.as_str()
                    );
                    assert!(text.ends_with(&expected), "{text}");
                    said.insert(text);
                }
            }
        }
    }
    assert_eq!(said.len(), 3 * 4 * 3 * 4);
}

#[test]
fn handles_and_order_are_the_same_at_every_detail_level() {
    let all = [(0.9, "a"), (0.5, "b"), (0.5, "c")].map(|(score, id)| ResultRow {
        score: Some(score),
        result_id: id.into(),
        ..symbol()
    });
    let handles = |detail, compact| -> Vec<Value> {
        let found = value(CodeAnswer::Rows(ResultRows { detail, compact, ..rows(all.to_vec()) }));
        let of = |row: &Value| {
            ["result_id", "result_type", "symbol_id", "symbol_stable_id", "score", "confirmed_by"]
                .map(|k| row[k].clone())
        };
        found["results"].as_array().unwrap().iter().map(|row| json!(of(row))).collect()
    };
    let expected = handles(DetailLevel::Context, false);
    assert!(expected.iter().all(|row| row.as_array().unwrap().iter().all(|handle| !handle.is_null())));
    for detail in DetailLevel::ALL {
        assert_eq!((handles(*detail, false), handles(*detail, true)), (expected.clone(), expected.clone()));
    }
}

fn long(n: usize) -> Vec<ResultRow> {
    (0..n)
        .map(|at| ResultRow { name: format!("name{at}"), signature: Some("s".repeat(997 + at % 7)), ..symbol() })
        .collect()
}

#[test]
fn the_longest_fitting_prefix_is_kept_and_a_narrower_call_suggested() {
    let query = SearchQuery { text: "name".into(), ..SearchQuery::default() };
    let whole = |n, reasons_of: usize| {
        let metadata = AnswerMetadata { reasons: Some((ExplainLevel::Full, reasons(reasons_of))), ..ready() };
        ResultRows { asked: asked(query.clone()), metadata, ..rows(long(n)) }
    };
    let text = shown(CodeAnswer::Rows(whole(200, 200)));
    let cut: Value = serde_json::from_str(&text).unwrap();
    let kept = cut["results"].as_array().unwrap().len();
    assert!(kept > 10 && text.len() > MAX_CODE_PAYLOAD_BYTES - 2_000, "{kept} rows in {} bytes", text.len());
    for (at, row) in cut["results"].as_array().unwrap().iter().enumerate() {
        assert_eq!(row["name"], format!("name{at}"));
    }
    assert_eq!(cut["metadata"]["ranking_reasons"].as_array().unwrap().len(), kept, "reasons are cut in step");
    let marks = (&cut["metadata"]["result_completeness"], &cut["metadata"]["safety_limit_applied"]);
    assert_eq!(marks, (&json!("truncated"), &json!("payload_bytes")));
    assert_eq!(cut["total_candidates"], 200);
    let action = &cut["suggested_next_actions"][0];
    assert_eq!((&action["tool"], &action["arguments"]["detail_level"]), (&json!("search_code"), &json!("location")));
    assert_eq!(action["arguments"]["query"], "name");
    // One row more would not have fitted: the seventh is one of the longest, but for the digits of its number and score.
    let seventh = shown(CodeAnswer::Rows(whole(7, 7))).len() - shown(CodeAnswer::Rows(whole(6, 6))).len();
    assert!(text.len() + seventh + 24 > MAX_CODE_PAYLOAD_BYTES, "{} + {seventh}", text.len());
    let fits = value(CodeAnswer::Rows(whole(kept.min(10), 10)));
    assert_eq!(fits["metadata"]["result_completeness"], "complete");
}

#[test]
fn the_configuration_can_only_lower_the_payload_cap() {
    let with = |payload_bytes| {
        let asked = CallArguments { payload_bytes: Some(payload_bytes), ..CallArguments::default() };
        let symbols = (0..2_000).map(|at| outline_symbol("f", at, vec![])).collect();
        let of_file = Outline { asked: asked.clone(), ..outline(symbols, OutlineDepth::All) };
        (
            shown(CodeAnswer::Rows(ResultRows { asked, ..rows(long(200)) })).len(),
            shown(CodeAnswer::Outline(of_file)).len(),
        )
    };
    let (rows, outline) = with(8_192);
    assert!((6_000..=8_192).contains(&rows) && (7_900..=8_192).contains(&outline), "{rows} {outline}");
    let (rows, outline) = with(usize::MAX);
    let most = MAX_CODE_PAYLOAD_BYTES - 2_000..=MAX_CODE_PAYLOAD_BYTES;
    assert!(most.contains(&rows) && most.contains(&outline), "{rows} {outline}");
}

#[test]
fn a_reply_never_exceeds_any_cap() {
    for cap in [300, 700, 1_000, 2_000, 5_000, 20_000, 100_000] {
        for (name, answer) in shapes() {
            let reply = catalog().encode(Ok(&Answer::Code(answer)), cap);
            let bytes = match &reply {
                EncodedReply::Result(bytes) | EncodedReply::Refusal { result: bytes, .. } => bytes.len(),
                EncodedReply::Error { data, .. } => data.len(),
            };
            assert!(bytes <= cap, "{name} at {cap}: {bytes}");
        }
        let found = ResultRows { detail: DetailLevel::Context, ..rows(long(200)) };
        let reply = catalog().encode(Ok(&Answer::Code(CodeAnswer::Rows(found))), cap);
        if let EncodedReply::Result(bytes) = &reply {
            let reply: Value = serde_json::from_slice(bytes).unwrap();
            let payload = &reply["structuredContent"];
            assert!(bytes.len() <= cap && !payload["results"].as_array().unwrap().is_empty());
            assert_eq!(payload["metadata"]["result_completeness"], "truncated");
        } else {
            assert!(cap < 2_000, "{cap}");
        }
    }
}

#[test]
fn each_truncated_answer_suggests_a_narrower_call() {
    let first = |found: ResultRows| value(CodeAnswer::Rows(found))["suggested_next_actions"][0]["arguments"].clone();
    let query = |detail, compact| SearchQuery {
        text: "q".into(),
        shape: RowOptions { detail, compact, limit: 200, ..RowOptions::default() },
        ..SearchQuery::default()
    };
    let of = |detail, compact| ResultRows { detail, compact, asked: asked(query(detail, compact)), ..rows(long(200)) };
    let context = first(of(DetailLevel::Context, false));
    assert_eq!((&context["compact"], &context["detail_level"]), (&json!(true), &json!("context")));
    assert_eq!(first(of(DetailLevel::Context, true))["detail_level"], "location");
    let wide: Vec<ResultRow> = (0..200).map(|_| ResultRow { path: "p".repeat(2_000), ..symbol() }).collect();
    let kept = first(ResultRows { rows: wide, ..of(DetailLevel::Location, false) })["limit"].as_u64().unwrap();
    assert!((10..200).contains(&kept));
    for (mode, expected) in [(SearchMode::Auto, "text"), (SearchMode::Text, "text"), (SearchMode::Regex, "regex")] {
        let query = SearchQuery { mode, offset: 100, ..query(DetailLevel::Signature, false) };
        let lines = (0..200).map(|at| line(at, &"x".repeat(1_000))).collect();
        let behind = NextAction { tool: tools::SEARCH, arguments: json!({"offset": 300}), reason: "more".into() };
        let found = ResultRows { asked: asked(query), next: vec![behind], ..rows(lines) };
        let cut = value(CodeAnswer::Rows(found));
        assert_eq!(cut["suggested_next_actions"].as_array().unwrap().len(), 1, "nothing is passed over");
        let next = &cut["suggested_next_actions"][0]["arguments"];
        let kept = cut["results"].as_array().unwrap().len() as u64;
        assert_eq!((next["offset"].as_u64(), &next["mode"]), (Some(100 + kept), &json!(expected)));
    }
    // `locate_symbol` has no place for calls, and without what was asked none can be made: a warning says it.
    for found in [ResultRows { intent: None, ..of(DetailLevel::Context, false) }, rows(long(200))] {
        let cut = value(CodeAnswer::Rows(found));
        let warning = cut["metadata"]["warnings"][0].as_str().unwrap();
        assert!(warning.contains(" of 200 rows fit") && warning.contains("`detail_level` \"location\""), "{warning}");
    }
}

#[test]
fn a_single_row_that_does_not_fit_is_shortened_with_a_warning() {
    let text = "é".repeat(MAX_CODE_PAYLOAD_BYTES);
    let cut = value(CodeAnswer::Rows(rows(vec![line(1, &text), line(2, "b")])));
    let shown = cut["results"][0]["text"].as_str().unwrap();
    assert!(text.starts_with(shown) && shown.len() > MAX_CODE_PAYLOAD_BYTES - 1_500, "{}", shown.len());
    assert_eq!((cut["results"].as_array().unwrap().len(), &cut["results"][0]["result_id"]), (1, &json!("l1")));
    assert!(cut["metadata"]["warnings"].to_string().contains(&format!("{} of {} bytes", shown.len(), text.len())));
    let huge = ResultRow { signature: Some("s".repeat(MAX_CODE_PAYLOAD_BYTES)), ..symbol() };
    let cut = value(CodeAnswer::Rows(rows(vec![huge])));
    assert_eq!((&cut["results"][0]["signature"], &cut["results"][0]["symbol_id"]), (&Value::Null, &json!("s1")));
    assert_eq!(cut["metadata"]["result_completeness"], "truncated");
    let endless = ResultRow { path: "p".repeat(MAX_CODE_PAYLOAD_BYTES), ..symbol() };
    let (text, failed) = encoded(CodeAnswer::Rows(rows(vec![endless])), MAX_RESPONSE_BYTES);
    assert!(failed && text.contains("response_too_large"), "{text}");
}

#[test]
fn an_outline_is_truncated_in_file_order_with_a_warning() {
    let members = |from: u32| (from + 1..from + 40).map(|at| outline_symbol("member", at, vec![])).collect();
    let symbols: Vec<OutlineSymbol> = (0..100).map(|at| outline_symbol("Type", at * 40, members(at * 40))).collect();
    let cut = value(CodeAnswer::Outline(outline(symbols.clone(), OutlineDepth::All)));
    let shown = cut["symbols"].as_array().unwrap();
    let last = shown.last().unwrap();
    let last_line = last["children"].as_array().map_or(&last["line_start"], |all| &all.last().unwrap()["line_start"]);
    // One symbol a line, from line 0.
    let count = last_line.as_u64().unwrap() + 1;
    assert!(shown[..shown.len() - 1].iter().all(|of| of["children"].as_array().unwrap().len() == 39));
    let warning = cut["metadata"]["warnings"][0].as_str().unwrap();
    assert!(warning.contains(&format!("first {count} of 4000 symbols are shown, up to line {last_line}")), "{warning}");
    assert!(warning.contains("`depth` \"top\""));
    assert_eq!(cut["metadata"]["symbol_count"], 4_000);
    assert_eq!(cut["metadata"]["result_completeness"], "truncated");
    let top = value(CodeAnswer::Outline(outline(symbols, OutlineDepth::Top)));
    assert_eq!((top["symbols"].as_array().unwrap().len(), &top["metadata"]["symbol_count"]), (100, &json!(100)));
    assert_eq!(top["metadata"]["result_completeness"], "complete");
}

#[test]
fn the_depth_of_an_outline_is_bounded() {
    let mut nested = outline_symbol("leaf", 90, vec![]);
    for level in (0..90).rev() {
        nested = outline_symbol("nest", level, vec![nested]);
    }
    let mut at = value(CodeAnswer::Outline(outline(vec![nested], OutlineDepth::All)));
    assert_eq!(at["metadata"]["result_completeness"], "truncated");
    let mut levels = 0;
    while let Some(next) = at["symbols"].get(0).or_else(|| at["children"].get(0)).cloned() {
        (at, levels) = (next, levels + 1);
    }
    assert_eq!(levels, MAX_OUTLINE_LEVELS);
}

#[test]
fn health_reports_the_worst_project() {
    let payload = value(CodeAnswer::Health(Box::new(busy())));
    let words = ["freshness_status", "indexing_status", "schema_status"].map(|key| payload["metadata"][key].clone());
    assert_eq!(words, [json!("stale"), json!("failed"), json!("reindex_required")]);
    let many = HealthReport { projects: (0..2_000).map(|_| project()).collect(), ..health() };
    let cut = value(CodeAnswer::Health(Box::new(many)));
    assert_eq!(cut["metadata"]["result_completeness"], "truncated");
    assert!(cut["projects"].as_array().unwrap().len() > 100);
}

fn refused(error: &ToolError) -> (String, Value) {
    let reply = catalog().encode(Err(error), MAX_RESPONSE_BYTES);
    assert_eq!(reply.tool_code(), Some(error.code));
    let (text, failed) = text_of(&reply, "search_code");
    let payload: Value = serde_json::from_str(&text).unwrap();
    assert!(failed && text.starts_with("{\"error\":{\"code\":"));
    assert_eq!(payload["metadata"], json!({"codecompass_protocol_version": "1.0"}), "the index wasn't looked at");
    (payload["error"]["code"].as_str().unwrap().to_owned(), payload["error"].clone())
}

#[test]
fn gateway_errors_get_the_codes_of_this_catalog() {
    let (code, error) = refused(&ToolError::overloaded(250));
    assert_eq!((code.as_str(), &error["data"]["retryAfterMs"]), ("overloaded", &json!(250)));
    assert_eq!(error["message"], "Too much is going on here. Ask again in 1 s.");
    let (code, error) = refused(&ToolError::timeout(CallPhase::Queued, None, 500));
    assert_eq!((code.as_str(), &error["data"]["retryAfterMs"]), ("timeout", &json!(500)));
    let expected = [
        (ErrorCode::InvalidParams, "invalid_input"),
        (ErrorCode::WorkspaceDenied, "project_not_found"),
        (ErrorCode::UriInvalid, "invalid_input"),
        (ErrorCode::CursorInvalid, "invalid_input"),
        (ErrorCode::CursorStale, "invalid_input"),
        (ErrorCode::CursorExpired, "invalid_input"),
        (ErrorCode::SnapshotTooLarge, "invalid_input"),
        (ErrorCode::NotFound, "file_not_found"),
        (ErrorCode::CapExceeded, "invalid_input"),
        (ErrorCode::ProviderUnavailable, "index_not_ready"),
        (ErrorCode::Internal, "internal_error"),
    ];
    assert_eq!(expected.map(|(code, _)| code), ErrorCode::ALL);
    for (code, word) in expected {
        assert_eq!(refused(&ToolError::new(code, "say it").with("path", "x")).0, word);
    }
    let list = CappedList { items: vec![], total: 0, notes: AnswerNotes::default() };
    let other = catalog().encode(Ok(&Answer::Definition(list)), MAX_RESPONSE_BYTES);
    assert_eq!(other.tool_code(), Some(ErrorCode::Internal));
}

#[test]
fn a_large_error_is_bounded_and_keeps_its_code() {
    let many: Vec<String> = (0..10_000).map(|at| format!("candidate {at}")).collect();
    let refusal = CodeRefusal::new(CodeError::AmbiguousSymbol, "m".repeat(10_000))
        .with("candidates", many)
        .with_metadata(ready());
    for cap in [200, 1_000, 2_000, MAX_RESPONSE_BYTES] {
        match catalog().encode(Ok(&Answer::Code(CodeAnswer::Refused(Box::new(refusal.clone())))), cap) {
            EncodedReply::Refusal { result, tool_code } => {
                let reply: Value = serde_json::from_slice(&result).unwrap();
                let error = &reply["structuredContent"]["error"];
                assert_eq!(
                    (&error["code"], error["message"].as_str().unwrap().len()),
                    (&json!("ambiguous_symbol"), 512)
                );
                assert!(result.len() <= cap && tool_code == ErrorCode::InvalidParams && error.get("data").is_none());
            }
            EncodedReply::Error { data, .. } => assert!(cap <= 1_000 && data.len() <= cap),
            EncodedReply::Result(_) => panic!("an error"),
        }
    }
}
