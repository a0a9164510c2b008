//! The files in `examples/observability` query only metrics that the binary exposes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use super::everything::Everything;
use super::promql::asked;

fn read(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/observability").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Series that queries may use, each with its labels.
struct Known(BTreeMap<String, BTreeSet<String>>);

impl Known {
    fn exposed() -> Self {
        let everything = Everything::new();
        everything.happens();
        let mut series = BTreeMap::new();
        for (name, family) in everything.read().families {
            let labels: BTreeSet<String> = family.labels().into_iter().map(str::to_owned).collect();
            if family.kind == "histogram" {
                let bucket = labels.iter().cloned().chain(["le".to_owned()]).collect();
                series.insert(format!("{name}_bucket"), bucket);
                series.insert(format!("{name}_sum"), labels.clone());
                series.insert(format!("{name}_count"), labels);
            } else {
                series.insert(name, labels);
            }
        }
        // Series that Prometheus adds itself.
        series.insert("up".to_owned(), BTreeSet::new());
        Self(series)
    }

    /// Labels of a query's result; an error if the query uses a missing series or label.
    fn check(&self, query: &str) -> Result<BTreeSet<String>, String> {
        let asked = asked(query)?;
        if asked.series.is_empty() {
            return Err(format!("no series in {query}"));
        }
        let mut labels: BTreeSet<String> = ["job", "instance"].map(str::to_owned).into();
        for name in &asked.series {
            labels.extend(self.0.get(name).ok_or_else(|| format!("{name} isn't exposed: {query}"))?.iter().cloned());
        }
        match asked.labels.iter().find(|label| !labels.contains(*label)) {
            Some(stranger) => Err(format!("no label {stranger}: {query}")),
            None => Ok(labels),
        }
    }
}

/// Lines of a YAML file with their indentation; panics if the file can't be YAML.
fn yaml(text: &str) -> Vec<(usize, &str)> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let mut last = 0;
    let lines: Vec<(usize, &str)> = lines
        .map(|line| {
            let indent = line.len() - line.trim_start_matches(' ').len();
            assert!(!line.contains('\t') && line.trim_end() == line, "{line:?}");
            assert!(indent % 2 == 0 && indent <= last + 4, "indented oddly: {line:?}");
            last = indent;
            (indent, line.trim_start())
        })
        .collect();
    for (_, line) in lines.iter().filter(|(_, line)| line.contains(": \"")) {
        assert!(line.ends_with('"') || line.ends_with("\"]") || line.ends_with('}'), "a text without an end: {line}");
    }
    lines
}

/// Values of `key:` in order, with the lines of a block joined.
fn values<'a>(lines: &[(usize, &'a str)], key: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, (indent, line)) in lines.iter().enumerate() {
        let bare: &'a str = line.strip_prefix("- ").unwrap_or(line);
        let depth = indent + line.len() - bare.len();
        if let Some(value) = bare.strip_prefix(key).and_then(|rest| rest.strip_prefix(':')) {
            let value = value.trim();
            let block = lines[at + 1..].iter().take_while(|(inner, _)| *inner > depth).map(|(_, line)| *line);
            found.push(if matches!(value, "|" | ">-") {
                block.collect::<Vec<_>>().join(" ")
            } else {
                value.to_owned()
            });
        }
    }
    found
}

#[test]
fn alert_rules_query_existing_metrics() {
    let text = read("rules.yaml");
    let lines = yaml(&text);
    let mut known = Known::exposed();
    let names = values(&lines, "record");
    let queries = values(&lines, "expr");
    let alerts = values(&lines, "alert");
    assert!(names.len() >= 4 && alerts.len() >= 8, "{names:?} {alerts:?}");
    assert_eq!(queries.len(), names.len() + alerts.len(), "each rule has one query");
    // Recording rules come before the alerts that use them.
    for (name, query) in names.iter().zip(&queries) {
        let labels = known.check(query).unwrap();
        assert!(name.contains(':'), "{name}");
        known.0.insert(name.clone(), labels);
    }
    queries[names.len()..].iter().for_each(|query| drop(known.check(query).unwrap()));
    for key in ["summary", "description", "severity"] {
        assert_eq!(values(&lines, key).len(), alerts.len(), "each alert has a {key}");
    }
    let documented = read("README.md");
    alerts.iter().for_each(|alert| assert!(documented.contains(&format!("`{alert}`")), "README.md lacks {alert}"));
}

#[test]
fn dashboard_panels_query_existing_metrics() {
    let dashboard: Value = serde_json::from_str(&read("grafana-dashboard.json")).unwrap();
    let known = Known::exposed();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    let mut queries = 0;
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: an id twice");
        let place = &panel["gridPos"];
        assert!(place["x"].as_u64().unwrap() + place["w"].as_u64().unwrap() <= 24, "{title} is too wide");
        let Some(targets) = panel["targets"].as_array() else {
            assert_eq!(panel["type"], "row", "{title} has no query");
            continue;
        };
        for target in targets {
            queries += 1;
            let labels = known.check(target["expr"].as_str().unwrap()).unwrap_or_else(|why| panic!("{title}: {why}"));
            for named in target["legendFormat"].as_str().unwrap().split("{{").skip(1) {
                let label = named.split("}}").next().unwrap();
                assert!(labels.contains(label), "{title} names the label {label}");
            }
        }
    }
    assert!(queries >= 25, "{queries}");
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let Some(query) = variable["query"].as_str().and_then(|text| text.strip_prefix("label_values(")) else {
            continue;
        };
        let (series, label) = query.trim_end_matches(')').split_once(',').unwrap();
        known.check(&format!("{series}{{{}=\"\"}}", label.trim())).unwrap();
    }
}

#[test]
fn every_instrument_has_a_panel() {
    let dashboard = read("grafana-dashboard.json");
    let elsewhere = ["process_uptime_seconds"];
    let missing: Vec<String> = codeyard_telemetry::names::instruments::INSTRUMENTS
        .iter()
        .map(|instrument| super::page::prometheus_name(instrument))
        .filter(|name| !dashboard.contains(name.as_str()) && !elsewhere.contains(&name.as_str()))
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_query_for_a_missing_series_is_detected() {
    let known = Known::exposed();
    assert!(known.check("rate(codeyard_calls_shed_total{codeyard_reason=\"process\"}[5m])").is_ok());
    for bad in [
        "rate(codeyard_calls_shed[5m])",
        "sum by (workspace) (codeyard_servers)",
        "codeyard_servers{state=\"ready\"}",
        "mcp_server_operation_duration_seconds",
        "vector(1)",
    ] {
        assert!(known.check(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_monitoring_configurations_agree() {
    let collector = read("otel-collector.yaml");
    let lines = yaml(&collector);
    for part in ["receivers:", "processors:", "exporters:", "service:"] {
        assert!(lines.contains(&(0, part)), "{part}");
    }
    // Every component that a pipeline names is configured.
    for list in ["receivers", "processors", "exporters"] {
        let start = lines.iter().position(|(indent, line)| *indent == 0 && *line == format!("{list}:")).unwrap();
        let section = lines[start + 1..].iter().take_while(|(indent, _)| *indent > 0);
        let configured: BTreeSet<&str> = section
            .filter(|(indent, _)| *indent == 2)
            .map(|(_, line)| line.trim_end_matches(['{', '}', ' ']).trim_end_matches(':'))
            .collect();
        for names in lines
            .iter()
            .filter(|(indent, _)| *indent >= 6)
            .filter_map(|(_, line)| line.strip_prefix(&format!("{list}: [")))
        {
            for name in names.trim_end_matches(']').split(", ") {
                assert!(configured.contains(name), "{name} isn't among the {list}: {configured:?}");
            }
        }
    }
    let scraping = read("prometheus.yml");
    let lines = yaml(&scraping);
    assert_eq!(values(&lines, "job_name"), ["codeyard"]);
    assert_eq!(values(&lines, "metrics_path"), ["/metrics"]);
    assert!(scraping.contains("rules.yaml"));
}
