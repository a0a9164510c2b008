//! The events of whole launch runs of the real binary: one that is broken, repaired and published, one that fails, one that is cancelled.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::e2e::launch::{Client, Sample, run_of};
use crate::mcp::until;
use crate::running_server::Yard;

/// The gates in their order.
const GATES: [&str; 11] = [
    "Schema", "MarkdownLint", "Frontmatter", "SiteConfig", "SiteBuild", "InternalLinks", "ExternalLinks", "Snippets",
    "TruthLock", "Consistency", "TemplateTokens",
];
/// The way of a run to its first good report.
const TO_READY: [&str; 10] = [
    "CREATED", "CLONED_INPUTS", "INGESTED", "FACTS_READY", "PLAN_READY", "DRAFTING", "DRAFT_READY", "LINKING",
    "VALIDATING", "READY_FOR_PR",
];

fn text<'e>(event: &'e Value, name: &str) -> &'e str {
    event["payload"][name].as_str().unwrap_or_else(|| panic!("no {name}: {event}"))
}

/// The places of the events of a type.
fn places(events: &[Value], kind: &str) -> Vec<usize> {
    events.iter().enumerate().filter(|(_, event)| event["type"] == kind).map(|(at, _)| at).collect()
}

/// The states that the run has gone through.
fn way(events: &[Value]) -> Vec<&str> {
    let changes: Vec<&Value> = events.iter().filter(|event| event["type"] == "RUN_STATE_CHANGED").collect();
    let mut way = vec!["CREATED"];
    for change in changes {
        assert_eq!(text(change, "from"), *way.last().unwrap(), "{change}");
        way.push(text(change, "to"));
    }
    way
}

/// Checks that each item was queued, began and ended, once and in this order, and returns the items by their worker.
fn check_items(events: &[Value]) -> BTreeMap<String, usize> {
    let mut items: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let kind = event["type"].as_str().unwrap();
        if kind.starts_with("WORK_ITEM_") {
            items.entry(text(event, "item")).or_default().push((kind, at));
        }
    }
    let mut workers = BTreeMap::new();
    for (item, seen) in &items {
        let kinds: Vec<&str> = seen.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, ["WORK_ITEM_QUEUED", "WORK_ITEM_STARTED", "WORK_ITEM_FINISHED"], "{item}");
        let parts: Vec<&str> = item.split(':').collect();
        assert_eq!(parts.len(), 4, "{item}");
        let queued = &events[seen[0].1]["payload"];
        assert_eq!(
            [&queued["worker"], &queued["attempt"], &queued["scope"]],
            [&json!(parts[1]), &json!(parts[2].parse::<u64>().unwrap()), &json!(parts[3])]
        );
        *workers.entry(parts[1].to_owned()).or_default() += 1;
        // What an item has written is announced while it works.
        let between = seen[1].1..seen[2].1;
        let written = places(events, "ARTIFACT_WRITTEN");
        let mut own = written.into_iter().filter(|at| events[*at]["payload"]["item"] == *item);
        assert!(own.all(|at| between.contains(&at)), "{item}");
    }
    workers
}

#[test]
fn the_events_of_a_run_are_its_whole_story() {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let mut client = Client::of(&yard);
    let run = run_of(&client.ok("launch_start_run", &json!({"run_config": sample.run_config()})));
    client.wait(&run, "READY_FOR_PR");
    let plan = json!({"run_id": run["run_id"], "artifact_name": "page_plan.json"});
    let plan = client.ok("launch_get_artifact", &plan)["artifact"]["content"].clone();
    let plan: Value = serde_json::from_str(plan.as_str().unwrap()).unwrap();
    let pages = plan["pages"].as_array().unwrap();
    let start =
        pages.iter().map(|page| page["path"].as_str().unwrap()).find(|path| path.ends_with("getting-started.md"));
    let site = yard.state.path().join("runs").join(run["run_id"].as_str().unwrap()).join("work/site");
    let page = site.join(start.unwrap());
    let draft = fs::read_to_string(&page).unwrap();
    fs::write(&page, draft.replacen("\n## ", "\n#### ", 1)).unwrap();
    assert_eq!(client.ok("launch_validate", &run)["validation_report"]["ok"], false);
    let fixed = client.ok("launch_fix_next", &run);
    assert_eq!(fixed["validation_report"]["ok"], true, "{fixed}");
    assert_eq!(fs::read_to_string(&page).unwrap(), draft);
    client.ok("launch_open_pr", &run);

    let status = client.ok("launch_get_status", &run)["status"].clone();
    let events = client.events(&run);
    assert!(events.iter().all(|event| event["run_id"] == run["run_id"]));
    assert_eq!(places(&events, "RUN_CREATED"), [0]);
    assert_eq!(
        [&events[0]["payload"]["workspace"], &events[0]["payload"]["subject"], &events[0]["payload"]["advance"]],
        [&json!("lib"), &json!("tabtidy"), &json!("auto")]
    );
    let cloned = places(&events, "INPUTS_CLONED");
    assert_eq!(cloned.len(), 1);
    for (name, folder) in [("repo", "library"), ("site", "site")] {
        let head = codeyard_test_support::git::git(&sample.top().join(folder), &["rev-parse", "main"]);
        assert_eq!(events[cloned[0]]["payload"][name]["commit"], head, "{name}");
    }
    let repaired = ["VALIDATING", "FIXING", "VALIDATING", "READY_FOR_PR", "PR_OPENED", "DONE"];
    assert_eq!(way(&events), [&TO_READY[..], &repaired].concat());
    let workers = check_items(&events);
    let expected = [
        ("RepoScout", 4),
        ("FactsBuilder", 1),
        ("SnippetCurator", 1),
        ("Planner", 1),
        ("SectionWriter", pages.len()),
        ("Linker", 1),
        ("Validator", 3),
        ("Fixer", 1),
        ("PrManager", 1),
    ];
    assert_eq!(workers, expected.map(|(name, count)| (name.to_owned(), count)).into());

    let mut written: BTreeMap<&str, &str> = BTreeMap::new();
    for at in places(&events, "ARTIFACT_WRITTEN") {
        written.insert(text(&events[at], "name"), text(&events[at], "sha256"));
    }
    let shown = status["artifacts"].as_array().unwrap().iter();
    let shown: BTreeMap<&str, &str> =
        shown.map(|artifact| (artifact["name"].as_str().unwrap(), artifact["sha256"].as_str().unwrap())).collect();
    assert_eq!(written, shown);
    assert!(shown.contains_key("pr.json") && shown.contains_key("patch_002.json"), "{shown:?}");

    let gates: Vec<(&str, &str)> = events
        .iter()
        .filter(|event| event["type"].as_str().unwrap().starts_with("GATE_RUN_"))
        .map(|event| (event["type"].as_str().unwrap(), text(event, "gate")))
        .collect();
    let pairs = GATES.iter().flat_map(|gate| [("GATE_RUN_STARTED", *gate), ("GATE_RUN_FINISHED", *gate)]);
    let once: Vec<(&str, &str)> = pairs.collect();
    assert_eq!(gates, once.repeat(3), "each of three validations runs each gate once, in their order");

    let [opened, resolved] = ["ISSUE_OPENED", "ISSUE_RESOLVED"].map(|kind| places(&events, kind));
    assert_eq!((opened.len(), resolved.len()), (1, 1), "one fault, one repair");
    assert!(opened[0] < resolved[0]);
    let issue = &events[opened[0]]["payload"];
    assert_eq!(
        [&issue["issue_id"], &issue["gate"], &issue["error_code"], &issue["section"]],
        [&fixed["fixed_issue_id"], &json!("MarkdownLint"), &json!("HEADING_LEVEL"), &json!("docs")],
        "{issue}"
    );
    assert_eq!(events[resolved[0]]["payload"]["issue_id"], fixed["fixed_issue_id"]);
    assert_eq!(places(&events, "PR_OPENED").len(), 1);
    assert_eq!(places(&events, "RUN_COMPLETED"), [events.len() - 1]);
    for kind in ["RUN_FAILED", "RUN_CANCELLED", "WORK_ITEM_FAILED"] {
        assert_eq!(places(&events, kind), Vec::<usize>::new(), "{kind}");
    }
    yard.stop();
}

#[test]
fn the_events_of_a_run_end_with_its_failure_or_its_cancellation() {
    let sample = Sample::new();
    let yard = Yard::serve(&sample.configuration());
    let mut client = Client::of(&yard);
    let mut config = sample.run_config();
    config["github_ref"] = json!("no-such-branch");
    let failed = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    assert!(until(60_000, || client.state(&failed) == "FAILED"), "{}", client.state(&failed));
    let events = client.events(&failed);
    let failure = client.ok("launch_get_status", &failed)["status"]["failure"].clone();
    assert_eq!(way(&events), ["CREATED", "FAILED"]);
    assert_eq!(places(&events, "RUN_FAILED"), [events.len() - 1]);
    assert_eq!(events.last().unwrap()["payload"]["error"], failure);
    let items = places(&events, "WORK_ITEM_FAILED");
    assert_eq!(items.len(), 1);
    assert!(text(&events[items[0]], "item").ends_with(":RepoScout:1:repo"), "{}", events[items[0]]);

    let mut config = sample.run_config();
    config["advance"] = json!("step");
    let cancelled = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
    client.wait(&cancelled, "PLAN_READY");
    client.ok("launch_cancel", &cancelled);
    client.ok("launch_cancel", &cancelled);
    let events = client.events(&cancelled);
    assert_eq!(way(&events), [&TO_READY[..5], &["CANCELLED"]].concat());
    assert_eq!(places(&events, "RUN_CANCELLED"), [events.len() - 1]);
    let kinds: BTreeSet<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert!(!kinds.contains("RUN_COMPLETED") && !kinds.contains("RUN_FAILED"), "{kinds:?}");
    yard.stop();
}
