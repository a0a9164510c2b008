//! Debian's Prometheus scrapes the binary: it answers queries about calls, crashes and durations, has every
//! series that the example dashboard queries, and accepts the example rules.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::e2e::place::Place;
use crate::mcp::{Mcp, pause, until};
use crate::running_server::{Yard, signal_to};
use crate::world::http::{get, get_json};
use crate::world::parts::Prometheus;
use crate::world::program::{Service, run};
use crate::world::sample::Sample;
use codeyard_test_support::real_servers::files_below;

/// Longest time until a scrape, a rule or a query has a result.
const LIMIT_MS: u64 = 120_000;
const CALLS: &str =
    "sum by (gen_ai_tool_name) (mcp_server_operation_duration_seconds_count{mcp_method_name=\"tools/call\"})";

/// A running Prometheus with one target.
struct Scraping {
    service: Service,
    _folder: tempfile::TempDir,
}

impl Scraping {
    fn of(address: &str, rules: &[PathBuf]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let configuration = json!({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": rules,
            "scrape_configs": [{"job_name": "codeyard", "static_configs": [{"targets": [address]}]}],
        });
        // JSON is YAML too.
        fs::write(folder.path().join("prometheus.yml"), configuration.to_string()).expect("a file");
        let programs = Prometheus::fetched();
        let command = |ports: &[u16]| {
            let mut command = programs.server();
            command.arg(format!("--web.listen-address=127.0.0.1:{}", ports[0]));
            command.arg(format!("--config.file={}", folder.path().join("prometheus.yml").display()));
            command.arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
            command
        };
        let is_ready = |ports: &[u16]| {
            get(&format!("http://127.0.0.1:{}/-/ready", ports[0])).is_ok_and(|(status, _)| status == 200)
        };
        Self { service: Service::start(1, command, is_ready), _folder: folder }
    }

    fn ask(&self, path: &str, query: &[(&str, &str)]) -> Value {
        let answer = get_json(&format!("http://127.0.0.1:{}/api/v1/{path}", self.service.port(0)), query);
        assert_eq!(answer["status"], "success", "{answer}");
        answer["data"].clone()
    }

    /// Current series of an expression: the value of `label` in each, and its value.
    fn query(&self, expression: &str, label: &str) -> BTreeMap<String, f64> {
        let answer = self.ask("query", &[("query", expression)]);
        let series = answer["result"].as_array().unwrap_or_else(|| panic!("{expression}: {answer}")).clone();
        let value = |one: &Value| one["value"][1].as_str().expect("a value").parse().expect("a number");
        let name = |one: &Value| one["metric"][label].as_str().unwrap_or_default().to_owned();
        series.iter().map(|one| (name(one), value(one))).collect()
    }

    /// Waits until an expression without labels has this value.
    fn wait_for(&self, expression: &str, wanted: f64) {
        let mut last = BTreeMap::new();
        let came = until(LIMIT_MS, || {
            last = self.query(expression, "");
            last.get("").is_some_and(|value| (value - wanted).abs() < 1e-9)
        });
        assert!(came, "{expression} is {last:?}, not {wanted}: {}", self.ask("targets", &[]));
    }
}

/// A client that counts its calls by tool.
struct Counting<'a> {
    client: Mcp,
    place: &'a Place,
    calls: BTreeMap<String, f64>,
}

impl Counting<'_> {
    /// Sends one call.
    fn once(&mut self, tool: &str, arguments: &Value) -> Result<Value, crate::mcp::Failure> {
        *self.calls.entry(tool.to_owned()).or_default() += 1.0;
        self.client.call(tool, arguments)
    }

    /// Requests the definition until it is answered.
    fn definition(&mut self) {
        for _ in 0..40 {
            match self.once("vscode.lsp.definition", &self.place.definition().0) {
                Ok(answer) => return self.place.assert_right(&answer),
                Err(failure) => pause(failure.details["retryAfterMs"].as_u64().unwrap_or(500).min(2_000)),
            }
        }
        panic!("never ready");
    }
}

/// Files of the example that contain this word.
fn examples(ending: &str, word: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/observability");
    let mut found = files_below(&folder);
    found.retain(|path| {
        let text = fs::read_to_string(path).expect("UTF-8");
        path.extension().is_some_and(|own| own == ending) && text.contains(word)
    });
    assert!(!found.is_empty(), "no {ending} with {word} in {}", folder.display());
    found
}

/// All expressions of a dashboard's panels, with its variables filled in.
fn expressions(dashboard: &Value, found: &mut Vec<String>) {
    match dashboard {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    // A comparison at the end hides values that are correctly zero.
                    Some(text) if name == "expr" => found.push(filled_in(text.trim_end_matches(" > 0"))),
                    _ => expressions(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

/// Durations for Grafana's built-in variables, match-all for those of the dashboard.
fn filled_in(expression: &str) -> String {
    let mut text = expression.to_owned();
    for name in ["$__rate_interval", "$__interval", "$__range"] {
        text = text.replace(name, "1m");
    }
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('$') {
        let name = after.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '{' | '}')).count();
        out.push_str(before);
        out.push_str(".*");
        rest = &after[name..];
    }
    out + rest
}

/// Calls of two tools, including an invalid and an unanswered one, then a crash and the end of the session.
fn calls_and_a_death(yard: &mut Yard, sample: &Sample) -> BTreeMap<String, f64> {
    let mut client = Counting { client: yard.client("python"), place: &sample.place, calls: BTreeMap::new() };
    client.definition();
    client.definition();
    for _ in 0..3 {
        let refused = client.once("vscode.lsp.hover", &json!({"nonsense": 1})).expect_err("a refusal");
        assert_eq!(refused.code, "INVALID_PARAMS");
    }
    let unanswered = client.once("vscode.lsp.hover", &sample.silent()).expect_err("no answer");
    assert!(unanswered.is_timeout(), "{unanswered:?}");
    let server = yard.running("ty");
    assert_eq!(server.len(), 1);
    signal_to(server[0].pid, Signal::KILL);
    assert!(until(LIMIT_MS, || yard.running("ty").iter().all(|now| *now != server[0])), "it lives");
    client.definition();
    client.client.end();
    client.calls
}

#[test]
#[ignore = "slow: fetches Prometheus from Debian's packages"]
fn prometheus_scrapes_and_answers_queries() {
    let sample = Sample::new();
    let mut yard = Yard::serve(&sample.configuration());
    let scraping = Scraping::of(&yard.address, &examples("yaml", "groups:"));
    scraping.wait_for("up", 1.0);
    let calls = calls_and_a_death(&mut yard, &sample);
    let mut counted = BTreeMap::new();
    let came = until(LIMIT_MS, || {
        counted = scraping.query(CALLS, "gen_ai_tool_name");
        counted == calls
    });
    assert!(came, "Prometheus counts {counted:?}, the client {calls:?}");
    scraping.wait_for(
        "sum(mcp_server_operation_duration_seconds_count{error_type!=\"\",gen_ai_tool_name=~\".*hover\"})",
        4.0,
    );
    scraping
        .wait_for("sum(codeyard_server_restarts_total{codeyard_server_kind=\"ty\",codeyard_reason=\"crashed\"})", 1.0);
    durations_make_sense(&scraping);
    // Panels of the code index need a job, which the first search begins.
    let mut searching = Mcp::connect(&yard.address, "/mcp/python/code", Some(&yard.token));
    searching.call_text("search_code", &json!({"query": "anything"}));
    searching.end();
    rules_are_taken(&scraping);
    dashboards_find_their_series(&scraping);
    yard.stop();
    scraping.wait_for("up", 0.0);
    scraping.service.stop();
}

fn durations_make_sense(scraping: &Scraping) {
    let calls = "mcp_server_operation_duration_seconds_bucket{mcp_method_name=\"tools/call\"}";
    let buckets = scraping.query(&format!("sum by (le) ({calls})"), "le");
    let mut bounds: Vec<(f64, f64)> =
        buckets.iter().map(|(bound, count)| (bound.parse().expect("a number"), *count)).collect();
    bounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(
        bounds.iter().filter(|(bound, _)| *bound < 0.01).count() > 3,
        "durations below 10 ms have separate buckets: {bounds:?}"
    );
    assert!(bounds.is_sorted_by(|a, b| a.1 <= b.1), "{bounds:?}");
    let quantile = |q: f64| scraping.query(&format!("histogram_quantile({q}, sum by (le) ({calls}))"), "")[""];
    let half = quantile(0.5);
    let most = quantile(0.99);
    assert!(0.0 < half && half <= most && most <= 10.0, "{half} {most}");
}

fn rules_are_taken(scraping: &Scraping) {
    let mut rules = Vec::new();
    let evaluated = until(LIMIT_MS, || {
        let groups = scraping.ask("rules", &[])["groups"].as_array().expect("groups").clone();
        rules = groups.iter().flat_map(|group| group["rules"].as_array().expect("rules").clone()).collect();
        !rules.is_empty() && rules.iter().all(|rule| rule["health"] == "ok")
    });
    assert!(evaluated, "{rules:#?}");
}

fn dashboards_find_their_series(scraping: &Scraping) {
    let mut all = Vec::new();
    for path in examples("json", "panels") {
        expressions(&serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON"), &mut all);
    }
    assert!(all.len() > 5, "{all:?}");
    // The server of this test is scraped over plain HTTP; `transport::tls` looks for the series of its certificate.
    all.retain(|text| !text.contains("codeyard_tls_certificate_expiry"));
    let found =
        |text: &String| !scraping.ask("query", &[("query", text)])["result"].as_array().expect("series").is_empty();
    let mut empty = all;
    // Rates need two scrapes.
    until(LIMIT_MS, || {
        empty.retain(|text| !found(text));
        empty.is_empty()
    });
    assert!(empty.is_empty(), "panels without a series: {empty:#?}");
}

#[test]
#[ignore = "slow: fetches Prometheus from Debian's packages"]
fn promtool_accepts_the_rules() {
    let place = Place::new("python");
    let yard = Yard::serve(&place.workspace());
    place.ask(&mut yard.client("python"));
    let programs = Prometheus::fetched();
    for rules in examples("yaml", "groups:") {
        let checked = run(programs.promtool().args(["check", "rules"]).arg(&rules));
        assert!(checked.success, "{}: {}{}", rules.display(), checked.stdout, checked.stderr);
    }
    for configuration in examples("yml", "scrape_configs:") {
        let checked = run(programs.promtool().args(["check", "config"]).arg(&configuration));
        assert!(checked.success, "{}: {}{}", configuration.display(), checked.stdout, checked.stderr);
    }
    let (status, text) = get(&format!("http://{}/metrics", yard.address)).expect("an answer");
    assert_eq!(status, 200, "{text}");
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), &text).expect("a file");
    let mut check = programs.promtool();
    let checked = run(check.args(["check", "metrics"]).stdin(fs::File::open(file.path()).expect("a file")));
    let complaints: Vec<&str> =
        checked.stderr.lines().filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty()).collect();
    assert_eq!(complaints, [""; 0], "{}\n{text}", checked.stderr);
    yard.stop();
}
