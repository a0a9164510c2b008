//! A model on loopback that answers as it is told: well, wrongly, late, or not at all.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use codeyard_base::clock::Instant;

use super::*;
use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::facts::{Claim, Evidence, EvidenceMap, ProductFacts};
use crate::artifacts::page_plan::PagePlan;
use crate::artifacts::site::SiteContext;
use crate::artifacts::snippets::SnippetCatalog;
use crate::markdown::cited_markdown::cite;
use crate::markdown::markdown_page;
use crate::publication::AllowedService;
use crate::request::run_config::RunConfig;
use crate::writing::section_writer;

const SORTS: &str = "clm_aaaaaaaaaaaa";
const SAFE: &str = "clm_bbbbbbbbbbbb";
/// A variable that cargo sets for every test, and the key that it stands for.
const KEY_VARIABLE: &str = "CARGO_PKG_NAME";
const KEY: &str = env!("CARGO_PKG_NAME");
const LONG: Duration = Duration::from_secs(3_600);
const NO_WAITS: Waits = Waits { first: Duration::from_millis(1), longest_asked: Duration::from_millis(1) };

/// What the server does with one request.
#[derive(Clone)]
enum Reply {
    /// It responds with a status, header lines and a body.
    Send(u16, String, String),
    /// It sets a flag and waits until the client has gone.
    Hang(StopFlag),
    /// It closes the connection.
    Close,
}

/// A server that takes one reply for each request. It ends with its last reply, or when it is dropped.
struct Server {
    address: String,
    requests: Receiver<String>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (seen, requests) = channel();
        let thread = std::thread::spawn(move || {
            for reply in replies {
                let Some((request, stream)) = listener.accept().ok().and_then(|(stream, _)| received(stream)) else {
                    return;
                };
                seen.send(request).ok();
                respond(stream, reply);
            }
        });
        Self { address, requests, thread: Some(thread) }
    }

    fn answering(text: &str) -> Self {
        Self::start(vec![good(text)])
    }

    fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests since the last call.
    fn requests(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An empty connection ends a server that still waits for requests.
        TcpStream::connect(&self.address).ok();
        self.thread.take().map(JoinHandle::join);
    }
}

/// A whole request; `None` if there is none.
fn received(stream: TcpStream) -> Option<(String, TcpStream)> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        request.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.push_str(&String::from_utf8(body).ok()?);
    Some((request, reader.into_inner()))
}

fn respond(mut stream: TcpStream, reply: Reply) {
    match reply {
        Reply::Send(status, headers, body) => {
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n");
            // A client that has read enough closes the connection.
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok();
        }
        Reply::Hang(stop) => {
            stop.set();
            stream.read_exact(&mut [0]).ok();
        }
        Reply::Close => {}
    }
}

fn choice(choice: &Value) -> Reply {
    let body = json!({"choices": [choice], "usage": {"prompt_tokens": 70, "completion_tokens": 9}});
    Reply::Send(200, "Content-Type: application/json\r\n".into(), body.to_string())
}

fn good(text: &str) -> Reply {
    choice(&json!({"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}))
}

fn status(status: u16, headers: &str) -> Reply {
    Reply::Send(status, headers.into(), json!({"error": {"message": format!("bad key {KEY}")}}).to_string())
}

fn config(writer: &Value) -> RunConfig {
    RunConfig::parse(&json!({
        "schema_version": "1.0", "product_slug": "tidy", "product_name": "Tidy", "family": "words", "target_platform": "python",
        "github_repo_url": "https://github.com/example/tidy", "github_ref": "main", "required_sections": ["products"],
        "allowed_paths": ["content/**"], "writer": writer,
    }))
    .unwrap()
}

fn evidence() -> EvidenceMap {
    let claim = |text: &str| {
        let place = Evidence { path: "README.md".into(), line_start: 3, line_end: 4, sha256: "0".repeat(64) };
        Claim { text: text.into(), is_inferred: false, evidence: vec![place] }
    };
    let claims =
        [(SORTS.to_owned(), claim("Sorts 7 tables with `sort()`")), (SAFE.to_owned(), claim("Changes no cell"))];
    EvidenceMap { schema_version: SCHEMA_VERSION.into(), commit: "b".repeat(40), claims: claims.into() }
}

fn page() -> PlannedPage {
    serde_json::from_value(json!({
        "id": "products/en/product", "section": "products", "locale": "en", "template": "product", "path": "content/tidy.md",
        "url": "/tidy/", "title": "Tidy", "weight": 1, "subject": "", "snippets": [], "links": [],
    }))
    .unwrap()
}

/// The events and the outcome of a call.
struct Done {
    draft: Result<PageDraft, StageError>,
    template: PageDraft,
    events: Vec<(EventType, Value)>,
}

impl Done {
    /// What the page says below its front matter.
    fn body(&self) -> &str {
        front_matter::split(&self.draft.as_ref().unwrap().text).unwrap().body
    }

    fn types(&self) -> Vec<&'static str> {
        self.events.iter().map(|(kind, _)| kind.as_str()).collect()
    }

    /// The payload of the last event.
    fn last(&self) -> &Value {
        &self.events.last().unwrap().1
    }

    /// The call has failed for `reason`, and the page is the template's.
    fn assert_failed(&self, reason: &str) {
        assert_eq!(self.draft.as_ref().unwrap(), &self.template, "{reason}");
        assert_eq!(self.types(), ["LLM_CALL_STARTED", "LLM_CALL_FAILED"], "{reason}");
        assert_eq!(self.last()["reason"], reason);
        self.assert_key_is_secret();
    }

    fn assert_key_is_secret(&self) {
        for (_, payload) in &self.events {
            assert!(!payload.to_string().contains(KEY), "{payload}");
        }
    }
}

fn settings(base_url: &str, variable: Option<&str>, request_limit: Duration) -> PublicationSettings {
    let service = AllowedService { base_url: base_url.into(), token_env: variable.map(str::to_owned) };
    PublicationSettings { services: vec![service], request_limit }
}

/// Words the template's page with `config`.
fn run(config: &RunConfig, settings: &PublicationSettings, waits: Waits, stop: &StopFlag) -> Done {
    let events = RefCell::new(Vec::new());
    let emit = |kind: EventType, payload: Value| {
        events.borrow_mut().push((kind, payload));
        Ok(())
    };
    let (draft, template) = reword(config, settings, waits, stop, &emit);
    Done { draft, template, events: events.into_inner() }
}

/// The page and the template's.
fn reword(
    config: &RunConfig,
    settings: &PublicationSettings,
    waits: Waits,
    stop: &StopFlag,
    emit: Emit<'_>,
) -> (Result<PageDraft, StageError>, PageDraft) {
    let site: SiteContext = serde_json::from_value(json!({
        "schema_version": "1.0", "commit": "a".repeat(40), "commit_date": "2026-01-20T10:00:00Z", "kind": "hugo", "config_files": [],
        "title": "", "base_url": "https://example.org/", "default_language": "en", "content_dirs": {"en": "content"}, "layout": "v2",
        "has_locale_folders": false, "default_language_in_subdir": false, "section_dirs": {}, "front_matter": {}, "pages": [],
        "static_files": [], "bullet": "*",
    }))
    .unwrap();
    let facts: ProductFacts = serde_json::from_value(json!({
        "schema_version": "1.0", "commit": "b".repeat(40), "commit_date": "2026-01-19T10:00:00Z", "product_name": "Tidy",
        "product_slug": "tidy", "family": "words", "target_platform": "python", "repository": "https://github.com/example/tidy",
        "features": [], "api": [], "api_omitted": 0, "examples": [],
    }))
    .unwrap();
    let evidence = evidence();
    let plan = PagePlan { schema_version: "1.0".into(), commit: String::new(), pages: vec![page()] };
    let snippets = SnippetCatalog {
        schema_version: "1.0".into(),
        commit: String::new(),
        snippets: Vec::new(),
        rejected: Vec::new(),
    };
    let input =
        WriterInput { config, site: &site, facts: &facts, evidence: &evidence, snippets: &snippets, plan: &plan };
    let sorts = cite(&[SORTS]);
    let safe = cite(&[SAFE]);
    let template = section_writer::finish(
        &page(),
        &input,
        &format!(
            "Tidy sorts tables of words. {sorts}\n\n## Features\n\n* It changes no cell {safe}\n* It sorts with `sort()` here {sorts}\n\n\
             ```python\nsort()\n```\n{sorts}\n\n* [Another page of it](/x/)\n"
        ),
    );
    (rewrite_with(&page(), &input, template.clone(), settings, emit, stop, waits), template)
}

fn openai(base_url: &str) -> RunConfig {
    config(&json!({"kind": "openai", "base_url": base_url, "model": "small", "api_key_env": KEY_VARIABLE}))
}

/// Words the page with the model of `server`.
fn with(server: &Server) -> Done {
    with_stop(server, NO_WAITS, &StopFlag::default())
}

fn with_stop(server: &Server, waits: Waits, stop: &StopFlag) -> Done {
    let base_url = server.base_url();
    run(&openai(&base_url), &settings(&base_url, Some(KEY_VARIABLE), LONG), waits, stop)
}

fn answer(blocks: &[(usize, &str, &str)]) -> String {
    let block = |(number, text, claim): &(usize, &str, &str)| format!("[[block:{number}]] {text} [[claim:{claim}]]\n");
    blocks.iter().map(block).collect()
}

#[test]
fn proven_prose_takes_the_place_of_the_templates_and_the_rest_stays() {
    let text = answer(&[
        (1, "Put 7 tables of words in order.", SORTS),
        (2, "- Every cell stays what it is.", SAFE),
        (3, "Sort with `sort()`.", SORTS),
    ]);
    let server = Server::answering(&format!("<think>[[block:1]] hm</think>Here you are:\n{text}"));
    let done = with(&server);
    assert_eq!(
        done.body(),
        "\nPut 7 tables of words in order.\n\n## Features\n\n* Every cell stays what it is.\n* Sort with `sort()`.\n\n```python\nsort()\n```\n\n\
         * [Another page of it](/x/)\n"
    );
    let draft = done.draft.as_ref().unwrap();
    let head = |draft: &PageDraft| draft.text.split("\n\n").next().map(str::to_owned);
    assert_eq!(head(draft), head(&done.template), "the front matter stays");
    let found: Vec<String> = blocks(done.body(), 1).into_iter().map(|block| block.sha256).collect();
    let listed: Vec<String> = draft.claims.blocks.iter().map(|block| block.sha256.clone()).collect();
    assert_eq!(found, listed, "each block is listed");
    assert_eq!(draft.claims.blocks[0].claims, [SORTS]);
    assert_eq!(done.types(), ["LLM_CALL_STARTED", "LLM_CALL_FINISHED"]);
    assert_eq!(
        done.last(),
        &json!({
            "page": "products/en/product", "model": "small", "prompt_tokens": 70, "completion_tokens": 9, "blocks_offered": 3,
            "blocks_kept": 3, "blocks_refused": {}, "outcome": "rewritten",
        })
    );
    done.assert_key_is_secret();
}

#[test]
fn a_request_has_the_facts_with_their_claims_and_equal_requests_have_equal_bytes() {
    let text = answer(&[(1, "Sorts tables.", SORTS)]);
    let servers = [Server::answering(&text), Server::answering(&text)];
    let [one, other] = [0, 1].map(|number| (with(&servers[number]), servers[number].requests().remove(0)));
    assert_eq!(one.0.draft, other.0.draft);
    let body = |request: &str| request.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!(body(&one.1), body(&other.1));
    assert!(one.1.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", one.1);
    assert!(one.1.contains(&format!("Bearer {KEY}\r\n")));
    let sent: Value = serde_json::from_str(&body(&one.1)).unwrap();
    assert_eq!((&sent["model"], &sent["temperature"], &sent["seed"]), (&json!("small"), &json!(0), &json!(1)));
    let task: Value = serde_json::from_str(sent["messages"][1]["content"].as_str().unwrap()).unwrap();
    assert_eq!(task["claims"][SAFE], json!({"text": "Changes no cell", "source": ["README.md, lines 3 to 4"]}));
    let expected =
        json!({"block": 2, "kind": "list item", "heading": "Features", "text": "It changes no cell", "claims": [SAFE]});
    assert_eq!(task["blocks"][1], expected);
    assert!(!body(&one.1).contains(KEY));
}

#[test]
fn text_that_is_not_proven_leaves_the_templates() {
    for (text, reason) in [
        ("[[block:1]] Sorts tables.".to_owned(), "uncited"),
        (answer(&[(1, "Sorts tables.", SAFE)]), "uncited"),
        (answer(&[(1, "Sorts 9000 tables.", SORTS)]), "unproven_number"),
        (answer(&[(1, "Sorts tables of Oracle.", SORTS)]), "unproven_name"),
        (answer(&[(1, "Run `rm -rf /` first.", SORTS)]), "unproven_code"),
        (answer(&[(1, "<script>alert()</script>Sorts.", SORTS)]), "not_prose"),
        (answer(&[(1, "Sorts {{< include \"/etc/passwd\" >}}", SORTS)]), "not_prose"),
        (answer(&[(1, "Sorts [all](https://other.example/).", SORTS)]), "not_prose"),
        (answer(&[(1, "# Sorts", SORTS)]), "not_prose"),
        (answer(&[(1, "```\nsort()\n```\n", SORTS)]), "not_prose"),
        (answer(&[(3, "It sorts.", SORTS)]), "code_left_out"),
        (answer(&[(4, "A block more.", SORTS)]), "unknown_block"),
        (answer(&[(0, "No block.", SORTS)]), "unknown_block"),
        ("[[block:x]] No number. [[claim:clm_aaaaaaaaaaaa]]".to_owned(), "unknown_block"),
        (answer(&[(1, "Sorts tables.", SORTS), (1, "Sorts.", SORTS)]), "repeated"),
    ] {
        let done = with(&Server::answering(&text));
        assert_eq!(done.draft.as_ref().unwrap(), &done.template, "{text}");
        assert_eq!(done.types(), ["LLM_CALL_STARTED", "LLM_CALL_FINISHED"], "{text}");
        assert_eq!(done.last()["blocks_refused"], json!({reason: 1}), "{text}");
        assert_eq!(done.last()["outcome"], "unchanged", "{text}");
    }
}

#[test]
fn one_bad_block_does_not_cost_the_others() {
    let text = answer(&[(1, "Sorts 8 tables.", SORTS), (2, "No cell changes.", SAFE)]);
    let done = with(&Server::answering(&text));
    assert!(done.body().contains("Tidy sorts tables of words.") && done.body().contains("* No cell changes.\n"));
    assert_eq!((&done.last()["blocks_kept"], &done.last()["outcome"]), (&json!(1), &json!("rewritten")));
}

#[test]
fn what_an_answer_that_was_cut_off_ends_with_is_not_used() {
    let text = answer(&[(1, "Sorts tables.", SORTS), (2, "No cell", SAFE)]);
    let server = Server::start(vec![choice(&json!({"message": {"content": text}, "finish_reason": "length"}))]);
    let done = with(&server);
    assert!(done.body().starts_with("\nSorts tables.\n") && done.body().contains("* It changes no cell\n"));
}

#[test]
fn an_answer_that_cannot_be_used_leaves_the_templates_page() {
    let huge = "x".repeat(10 * 1024 * 1024);
    for (reply, reason) in [
        (good(""), "empty_answer"),
        (good("I like tables."), "unusable_answer"),
        (good(&format!("[[block:1]] {KEY} [[claim:{SORTS}]]")), "holds_key"),
        (good(&huge), "too_large"),
        (choice(&json!({"message": {"content": null, "refusal": "no"}})), "refused"),
        (Reply::Send(200, String::new(), "<html>".into()), "unusable_answer"),
        (Reply::Send(204, String::new(), String::new()), "unusable_answer"),
        (status(400, ""), "http_status"),
        (status(401, ""), "http_status"),
        (status(404, ""), "http_status"),
    ] {
        // A second request would be answered well.
        let server = Server::start(vec![reply, good(&answer(&[(1, "Sorts tables.", SORTS)]))]);
        let done = with(&server);
        done.assert_failed(reason);
        assert_eq!((done.last()["requests"].as_u64(), server.requests().len()), (Some(1), 1), "{reason}");
    }
    assert_eq!(with(&Server::start(vec![status(401, "")])).last()["http_status"], 401);
}

#[test]
fn a_failure_that_may_pass_is_tried_again() {
    let text = answer(&[(1, "Sorts tables.", SORTS)]);
    for reply in
        [status(500, ""), status(503, ""), status(429, "Retry-After: 999999\r\n"), status(408, ""), Reply::Close]
    {
        let server = Server::start(vec![reply.clone(), reply, good(&text)]);
        let done = with(&server);
        assert!(done.body().starts_with("\nSorts tables.\n"));
        assert_eq!(server.requests().len(), 3);
        assert_eq!(done.types(), ["LLM_CALL_STARTED", "LLM_CALL_FINISHED"]);
    }
}

#[test]
fn a_service_can_ask_for_a_longer_wait() {
    let text = answer(&[(1, "Sorts tables.", SORTS)]);
    let server = Server::start(vec![status(429, "Retry-After: 1\r\n"), good(&text)]);
    let started = Instant::now();
    let waits = Waits { longest_asked: LONG, ..NO_WAITS };
    let done = with_stop(&server, waits, &StopFlag::default());
    assert!(done.body().starts_with("\nSorts tables.\n"));
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[test]
fn tries_are_bounded() {
    let server = Server::start(vec![status(500, ""); 10]);
    let done = with(&server);
    done.assert_failed("http_status");
    assert_eq!((&done.last()["http_status"], &done.last()["requests"]), (&json!(500), &json!(4)));
    assert_eq!(server.requests().len(), 4);
    // The system accepts connections, and nobody responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", silent.local_addr().unwrap());
    let settings = settings(&base_url, Some(KEY_VARIABLE), Duration::from_millis(30));
    let done = run(&openai(&base_url), &settings, NO_WAITS, &StopFlag::default());
    done.assert_failed("timeout");
    let nobody = Server::start(Vec::new());
    let done = with(&nobody);
    done.assert_failed("network");
}

#[test]
fn a_stop_ends_a_request_and_a_wait() {
    let stop = StopFlag::default();
    let hanging = Server::start(vec![Reply::Hang(stop.clone())]);
    let done = with_stop(&hanging, NO_WAITS, &stop);
    assert_eq!(done.draft.as_ref().map_err(|error| error.code), Err("CANCELLED"));
    assert_eq!((done.types().last(), &done.last()["reason"]), (Some(&"LLM_CALL_FAILED"), &json!("cancelled")));

    let stop = StopFlag::default();
    let busy = Server::start(vec![status(429, "Retry-After: 3600\r\n")]);
    let waits = Waits { longest_asked: LONG, ..NO_WAITS };
    let base_url = busy.base_url();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let settings = settings(&base_url, Some(KEY_VARIABLE), LONG);
            run(&openai(&base_url), &settings, waits, &stop).draft.map_err(|error| error.code)
        });
        busy.requests.recv().unwrap();
        stop.set();
        assert_eq!(waiting.join().unwrap(), Err("CANCELLED"));
    });
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Server::start(vec![good(&answer(&[(1, "Sorts tables.", SORTS)]))]);
    for code in [301, 302, 307, 308] {
        let location = format!("Location: {}/chat/completions\r\n", other.base_url());
        let done = with(&Server::start(vec![status(code, &location)]));
        done.assert_failed("http_status");
        assert_eq!(done.last()["http_status"], code);
    }
    assert_eq!(other.requests(), Vec::<String>::new());
}

#[test]
fn only_what_the_operator_has_to_set_is_an_error() {
    let server = Server::answering("");
    let base_url = server.base_url();
    let stop = StopFlag::default();
    let failed = |config: &RunConfig, settings: &PublicationSettings| {
        let done = run(config, settings, NO_WAITS, &stop);
        assert!(done.events.is_empty());
        let error = done.draft.unwrap_err();
        (error.code, error.details["reason"].clone())
    };
    let unlisted = settings("https://models.example/v1", Some(KEY_VARIABLE), LONG);
    assert_eq!(failed(&openai(&base_url), &unlisted), ("INVALID_INPUT", json!("service_not_allowed")));
    let other_key = settings(&base_url, Some("HOME"), LONG);
    assert_eq!(failed(&openai(&base_url), &other_key), ("INVALID_INPUT", json!("service_not_allowed")));
    let unset = "CODEYARD_NO_SUCH_KEY";
    let without = config(&json!({"kind": "openai", "base_url": base_url, "model": "small", "api_key_env": unset}));
    assert_eq!(failed(&without, &settings(&base_url, Some(unset), LONG)), ("INVALID_INPUT", json!("token_missing")));
    assert!(server.requests().is_empty());
}

#[test]
fn a_service_without_a_key_gets_none_and_templates_need_no_service() {
    let server = Server::answering(&answer(&[(1, "Sorts tables.", SORTS)]));
    let base_url = server.base_url() + "/";
    let keyless = config(&json!({"kind": "openai", "base_url": base_url, "model": "small"}));
    let done = run(&keyless, &settings(&server.base_url(), None, LONG), NO_WAITS, &StopFlag::default());
    assert!(done.body().starts_with("\nSorts tables.\n"));
    let request = server.requests().remove(0);
    assert!(
        request.starts_with("POST /v1/chat/completions ") && !request.to_ascii_lowercase().contains("authorization")
    );

    let done = run(&config(&json!({"kind": "template"})), &settings("", None, LONG), NO_WAITS, &StopFlag::default());
    assert_eq!((done.draft.unwrap(), done.events.len()), (done.template, 0));
}

#[test]
fn a_page_stays_whole_whatever_a_model_writes() {
    let pieces = [
        "text", "- ", "1. ", "# ", "> ", "`", "``", "```\n", "\n\n", "\n", "*", "**", "_", "|", "| a |\n|---|\n",
        "<b>", "<!-- ", "-->", "{{< x >}}", "{{% x", "[a](https://x.example)", "[a]: /x\n", "![", "\\", "&lt;",
        "&#x7b;", "    ", "\t", "---", "===", "~~", "[[block:2]]", "[[claim:", "]]", "\u{e000}", "\u{e001}", "\u{0}",
        "\u{feff}", "+++", "$x$", "[ ] ", ": ", "\r", "[^1]", "{#id}",
    ];
    let config = config(&json!({"kind": "template"}));
    let template = run(&config, &settings("", None, LONG), NO_WAITS, &StopFlag::default()).template;
    let head = template.text.len() - front_matter::split(&template.text).unwrap().body.len();
    let body = &template.text[head..];
    let evidence = evidence();
    let offered = candidates(body, &template.claims.blocks, &evidence, false);
    let shown = shown(&offered);
    let proofs = Proofs { evidence: &evidence, known_names: ["Tidy", "python"], locale: "en", shown: &shown };
    let mut kept = 0;
    for (one, two) in pieces.iter().flat_map(|one| pieces.iter().map(move |two| (one, two))) {
        for text in [
            format!("{one}{two}"),
            format!("{one}a{two}b"),
            format!("a {one} {two} `sort()`"),
            format!("{two}`sort()`{one}"),
        ] {
            let text = format!("{text} [[claim:{SORTS},{SAFE}]]");
            let written = offered
                .iter()
                .filter_map(|candidate| Some((candidate.block, reworded(candidate, &text, &proofs).ok()?)));
            let written: BTreeMap<usize, Reworded> = written.collect();
            kept += written.len();
            let new = assembled(&template, head, &offered, &written).unwrap_or_else(|| panic!("{text:?}"));
            assert_eq!(new.text[..head], template.text[..head], "{text:?}");
            let kinds = |body: &str| blocks(body, 1).into_iter().map(|block| block.kind).collect::<Vec<_>>();
            assert_eq!(kinds(&new.text[head..]), kinds(body), "{text:?}");
            let parts = markdown_page::read(&new.text[head..], 1);
            assert_eq!((parts.links.len(), parts.headings.len(), parts.code_blocks.len()), (1, 1, 1), "{text:?}");
            assert!(!new.text.contains("{{<") && !new.text.contains("{{%") && !new.text.contains('<'), "{text:?}");
        }
    }
    assert!(kept > 1_000, "{kept}");
}

#[test]
fn an_event_that_cannot_be_written_is_the_runs_error() {
    let error = || StageError::new("INTERNAL", "the disk is full");
    for failing in [EventType::LlmCallStarted, EventType::LlmCallFinished] {
        let server = Server::answering(&answer(&[(1, "Sorts tables.", SORTS)]));
        let emit = |kind: EventType, _| if kind == failing { Err(error()) } else { Ok(()) };
        let base_url = server.base_url();
        let settings = settings(&base_url, Some(KEY_VARIABLE), LONG);
        let (draft, _) = reword(&openai(&base_url), &settings, NO_WAITS, &StopFlag::default(), &emit);
        assert_eq!(draft.unwrap_err(), error());
    }
    let stop = StopFlag::default();
    let hanging = Server::start(vec![Reply::Hang(stop.clone())]);
    let emit = |kind: EventType, _| if kind == EventType::LlmCallFailed { Err(error()) } else { Ok(()) };
    let base_url = hanging.base_url();
    let settings = settings(&base_url, Some(KEY_VARIABLE), LONG);
    let (draft, _) = reword(&openai(&base_url), &settings, NO_WAITS, &stop, &emit);
    assert_eq!(draft.unwrap_err().code, "CANCELLED");
}

#[tokio::test]
async fn a_thread_for_blocking_work_can_call() {
    let done = tokio::task::spawn_blocking(|| {
        let done = with(&Server::answering(&answer(&[(1, "Sorts tables.", SORTS)])));
        done.body().to_owned()
    });
    assert!(done.await.unwrap().starts_with("\nSorts tables.\n"));
}
