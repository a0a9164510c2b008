//! `docs/internals/reference/contract-launch.md`: its diagram and its tables are those of the code.

use std::collections::BTreeSet;
use std::path::PathBuf;

use codeyard_catalog::CatalogSet;
use codeyard_launch::artifacts::issue::GateName;
use codeyard_launch::request::run_config::{Section, section_name};
use codeyard_launch::validation::validator::GATES;
use codeyard_launch::workflow::states::LAUNCH;
use codeyard_runs::event::EventType;
use serde_json::{Value, json};

const SECTIONS: [Section; 5] = [Section::Products, Section::Docs, Section::Reference, Section::Kb, Section::Blog];

fn read(path: &str) -> String {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn page() -> String {
    read("docs/internals/reference/contract-launch.md")
}

/// The rows of the table under the header `head` below `heading`, cells as they are written.
fn table(heading: &str, head: &str) -> Vec<Vec<String>> {
    let page = page();
    let section = page.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no heading {heading}"));
    let section = section.split("\n## ").next().unwrap();
    let rows: Vec<&str> = section.lines().skip_while(|line| *line != head).skip(2).collect();
    assert!(!rows.is_empty(), "no table {head}");
    let cells = |row: &str| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    rows.into_iter().take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// The words of a cell that are marked as code.
fn words(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The first word of each row.
fn names(rows: &[Vec<String>]) -> Vec<String> {
    rows.iter().map(|row| words(&row[0])[0].clone()).collect()
}

/// The schema of a tool's answers.
fn answer(tool: &str) -> Value {
    serde_json::from_str(&read(&format!("schemas/tools/{tool}.output.json"))).unwrap()
}

/// The members of an object's schema but those in `left_out`; those that it may lack end with `?`.
fn members(schema: &Value, required: &Value, left_out: &[&str]) -> BTreeSet<String> {
    let required: Vec<&str> = required.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let names = schema["properties"].as_object().unwrap().keys().filter(|name| !left_out.contains(&name.as_str()));
    let mark = |name: &String| if required.contains(&name.as_str()) { name.clone() } else { format!("{name}?") };
    names.map(mark).collect()
}

/// The texts in quotes after each `before` in the code of `path`, without its tests.
fn literals(path: &str, before: &[&str]) -> BTreeSet<String> {
    let code = read(path);
    let code = code.split("#[cfg(test)]").next().unwrap();
    let after = |before: &&str| code.split(&format!("{before}\"")).skip(1).collect::<Vec<_>>();
    let found = before.iter().flat_map(after).filter_map(|rest| rest.split('"').next());
    found.map(str::to_owned).collect()
}

#[test]
fn the_diagram_is_that_of_the_state_machine() {
    let page = page();
    let drawn = page.split("```mermaid\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(drawn, LAUNCH.diagram());
}

#[test]
fn every_tool_has_its_row_with_the_members_of_its_answers() {
    let rows = table("Tools", "| tool | does | answers with, beside `ok` |");
    let set = CatalogSet::parse("launch").unwrap();
    let listed: Value = serde_json::from_str(set.list_json()).unwrap();
    let listed: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names(&rows), listed);
    for row in &rows {
        let tool = &words(&row[0])[0];
        let schema = answer(tool);
        let mut coded = members(&schema, &schema["then"]["required"], &["ok", "error"]);
        // The run of an error, where an answer doesn't name it.
        coded.remove("run_id?");
        assert_eq!(words(&row[2]).into_iter().collect::<BTreeSet<_>>(), coded, "{tool}");
    }
    let page = page();
    let alias = page.lines().find_map(|line| line.split_once("` is a deprecated alias of `")).unwrap();
    assert!(set.find(alias.0.trim_start_matches('`')).is_some());
    assert!(alias.1.starts_with("launch_start_run_from_product_url`"));
}

#[test]
fn the_objects_of_answers_have_the_members_of_the_schemas() {
    let rows = table("Tools", "| object | members |");
    let status = &answer("launch_get_status")["properties"]["status"];
    assert_eq!(status, &answer("launch_resume")["properties"]["status"]);
    let fix = &answer("launch_fix_next")["properties"];
    assert_eq!(fix["validation_report"], answer("launch_validate")["properties"]["validation_report"]);
    let report = &fix["validation_report"];
    let inner = |schema: &Value, name: &str| match &schema["properties"][name] {
        list if list["type"] == "array" => list["items"].clone(),
        object => object.clone(),
    };
    let objects = [
        ("status", status.clone()),
        ("status.open_issues", inner(status, "open_issues")),
        ("status.artifacts", inner(status, "artifacts")),
        ("status.activity", inner(status, "activity")),
        ("artifact", inner(&answer("launch_get_artifact"), "artifact")),
        ("validation_report", report.clone()),
        ("validation_report.gates", inner(report, "gates")),
        ("validation_report.issues", inner(report, "issues")),
        ("failed_attempt", fix["failed_attempt"].clone()),
        ("runs", inner(&answer("launch_list_runs"), "runs")),
    ];
    assert_eq!(names(&rows), objects.clone().map(|(name, _)| name));
    for (row, (name, schema)) in rows.iter().zip(&objects) {
        let written: BTreeSet<String> = words(&row[1]).into_iter().collect();
        assert_eq!(written, members(schema, &schema["required"], &[]), "{name}");
    }
    for row in table("Starts", "| start | the configuration comes from | `derived_config` |") {
        let derived = &answer(&words(&row[0])[0])["properties"]["derived_config"];
        let coded = if derived.is_null() { json!([]) } else { derived["required"].clone() };
        assert_eq!(json!(words(row.get(2).map_or("", String::as_str))), coded, "{row:?}");
    }
}

#[test]
fn the_report_of_answers_has_the_form_of_the_artifact() {
    let artifact: Value = serde_json::from_str(&read("schemas/launch/validation_report.schema.json")).unwrap();
    let definition = |name: &str| artifact["$defs"][name].clone();
    let report = &answer("launch_validate")["properties"]["validation_report"];
    let same = |shown: &Value, made: &Value, left_out: &[&str]| {
        assert_eq!(members(shown, &shown["required"], left_out), members(made, &made["required"], &[]));
    };
    same(report, &artifact, &["issues_total"]);
    same(&report["properties"]["issues"]["items"], &definition("Issue"), &[]);
    same(&report["properties"]["gates"]["items"], &definition("GateResult"), &[]);
    same(&report["properties"]["issues"]["items"]["properties"]["location"], &definition("IssueLocation"), &[]);
}

#[test]
fn the_errors_are_those_of_the_schemas_and_of_the_gateway() {
    let documented = names(&table("Errors", "| code | when |"));
    for row in table("Tools", "| tool | does | answers with, beside `ok` |") {
        let tool = &words(&row[0])[0];
        let error = &answer(tool)["properties"]["error"];
        assert_eq!(error["properties"]["code"]["enum"], json!(documented), "{tool}");
        let members: BTreeSet<String> = ["code", "message", "retryable", "details"].map(str::to_owned).into();
        assert_eq!(self::members(error, &error["required"], &[]), members, "{tool}");
    }
    let gateway = read("src/gateway/launch/errors.rs");
    let codes = gateway.split("const CODES: ").nth(1).and_then(|rest| rest.split("];").next()).unwrap();
    let codes: BTreeSet<&str> = codes.split('"').skip(1).step_by(2).collect();
    assert_eq!(codes, documented.iter().map(String::as_str).collect());
    for path in ["src/gateway/launch/mod.rs", "src/gateway/launch/starts.rs", "src/catalog/launch/encode.rs"] {
        let used = literals(path, &["LaunchRefusal::new(", "LaunchRefusal::new(\n                ", "=> ("]);
        assert!(!used.is_empty() && used.iter().all(|code| documented.contains(code)), "{path}: {used:?}");
    }
}

#[test]
fn states_of_runs_are_those_of_the_schemas() {
    let states: Vec<&str> = LAUNCH.states.iter().map(|state| state.name).collect();
    let status = &answer("launch_get_status")["properties"]["status"];
    assert_eq!(status["properties"]["state"]["enum"], json!(states));
    let runs = &answer("launch_list_runs")["properties"]["runs"]["items"];
    assert_eq!(runs["properties"]["state"]["enum"], json!(states));
    for tool in [
        "launch_start_run",
        "launch_start_run_from_product_url",
        "launch_start_run_from_github_repo_url",
        "launch_cancel",
    ] {
        assert_eq!(answer(tool)["properties"]["state"]["enum"], json!(states), "{tool}");
    }
}

#[test]
fn every_event_has_its_row() {
    assert_eq!(names(&table("Events", "| type | happens when |")), EventType::ALL.map(EventType::as_str));
}

#[test]
fn sections_and_their_states_are_those_of_the_code() {
    assert_eq!(names(&table("Pages", "| section | pages |")), SECTIONS.map(section_name));
    let config: Value = serde_json::from_str(&read("schemas/tools/launch_start_run.json")).unwrap();
    let asked = &config["properties"]["run_config"]["properties"]["required_sections"]["items"]["enum"];
    assert_eq!(asked, &json!(SECTIONS.map(section_name)));
    let documented: BTreeSet<String> = names(&table("Sections", "| state | means |")).into_iter().collect();
    let status = &answer("launch_get_status")["properties"]["status"];
    let schema = &status["properties"]["section_states"]["additionalProperties"]["enum"];
    let schema: BTreeSet<String> = serde_json::from_value(schema.clone()).unwrap();
    assert_eq!(documented, schema);
    let code = read("src/launch/workflow/run_status.rs");
    let code = code.split("fn section_states(").nth(1).and_then(|rest| rest.split("\n}\n").next()).unwrap();
    let coded =
        code.split('"').skip(1).step_by(2).filter(|word| word.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
    assert_eq!(documented, coded.map(str::to_owned).collect());
}

#[test]
fn the_reasons_of_writers_are_those_of_the_code() {
    let writer = "src/launch/writing/openai_writer.rs";
    let candidates = "src/launch/writing/openai_writer/candidates.rs";
    let refused: BTreeSet<String> = names(&table("Writers", "| reason | the block |")).into_iter().collect();
    let mut coded = literals(writer, &["Err("]);
    coded.extend(literals(candidates, &["Err(", "ok_or("]));
    assert_eq!(refused, coded);
    let failed = table("Writers", "| reason | what happened |").iter().flat_map(|row| words(&row[0])).collect();
    let endpoint = ["Err(", "ok_or(", "of(", "lasting(", "reason: ", "|_| ", "=> Err(", "{ ", "else { "];
    let mut coded = literals("src/launch/writing/openai_writer/endpoint.rs", &endpoint);
    coded.extend(literals(writer, &["=> ("]));
    let failed: BTreeSet<String> = failed;
    assert_eq!(failed, coded);
}

#[test]
fn the_gates_are_listed_in_their_order() {
    let documented = names(&table("Gates and fixes", "| gate | looks for | repairs |"));
    let gates: Vec<GateName> = documented.iter().map(|name| serde_json::from_value(json!(name)).unwrap()).collect();
    assert_eq!(gates, GATES);
    let issue = &answer("launch_validate")["properties"]["validation_report"]["properties"]["issues"]["items"];
    assert_eq!(issue["properties"]["gate"]["enum"], json!(documented));
}
