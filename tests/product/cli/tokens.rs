//! `token`: ids, kinds, uses, removal and rotation by id, and the messages where a name matches several tokens.

use serde_json::Value;

use crate::cli::harness::Sandbox;
use crate::mcp::until;

fn listed(sandbox: &Sandbox, flags: &[&str]) -> Vec<Value> {
    let list = sandbox.run(&[&["token", "list", "--json"], flags].concat()).code(0).json();
    list.as_array().unwrap().clone()
}

fn add(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.run(&[&["token", "add"], words].concat()).code(0).stdout.trim().to_owned()
}

/// The ids of the tokens of this name and kind.
fn ids(rows: &[Value], name: &str, kind: &str) -> Vec<String> {
    let of = rows.iter().filter(|row| row["name"] == name && row["kind"] == kind);
    of.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_name_of_several_tokens_removes_none_and_an_id_removes_one() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--root", "."]);
    let tokens = [add(&sandbox, &["ci"]), add(&sandbox, &["ci"])];
    add(&sandbox, &["--admin", "ci"]);
    add(&sandbox, &["--probes", "scraper"]);
    let rows = listed(&sandbox, &[]);
    let mut kinds: Vec<_> =
        rows.iter().map(|row| [row["name"].as_str().unwrap(), row["kind"].as_str().unwrap()]).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [["ci", "admin"], ["ci", "mcp"], ["ci", "mcp"], ["local", "mcp"], ["scraper", "probes"]]);
    assert!(rows.iter().all(|row| row["created"].as_str().unwrap().starts_with("20")), "{rows:?}");
    assert!(rows.iter().filter(|row| row["name"] != "local").all(|row| row["last_used"].is_null()), "{rows:?}");
    let of = |name: &str, kind: &str| ids(&rows, name, kind);
    let [ci, operator, scraper] = [of("ci", "mcp"), of("ci", "admin"), of("scraper", "probes")];
    let refused = sandbox.run(&["token", "remove", "ci"]).code(2);
    refused.says(&["`ci` has 3 tokens", "codeyard token remove ID", &ci[0], &ci[1], &operator[0]]);
    assert_eq!(listed(&sandbox, &[]).len(), 5, "none was removed");
    // One of the kind: the name is enough.
    assert!(sandbox.run(&["token", "remove", "ci", "--admin"]).code(0).stdout.contains(&operator[0]));
    assert!(sandbox.run(&["token", "remove", "scraper"]).code(0).stdout.contains(&scraper[0]));
    assert!(tokens.iter().all(|token| serving.status("/mcp", token) == 200));
    let are_used =
        || listed(&sandbox, &[]).iter().filter(|row| row["name"] == "ci").all(|row| row["last_used"].is_string());
    assert!(until(10_000, are_used), "uses are stored");
    let text = sandbox.run(&["token", "list"]).code(0).stdout;
    assert!(text.starts_with("ID ") && text.contains("LAST USED") && text.contains(&ci[1]), "{text}");
    sandbox.run(&["token", "remove", &ci[1]]).code(0);
    let statuses = || tokens.each_ref().map(|token| serving.status("/mcp", token));
    assert!(until(5_000, || statuses().contains(&401)), "one is refused");
    assert!(statuses().contains(&200), "the other one stays");
    sandbox.run(&["token", "remove", &ci[1]]).code(3).says(&["codeyard token list"]);
    sandbox.run(&["token", "remove", "ci"]).code(0);
}

#[test]
fn a_rotated_token_is_of_the_same_kind_and_the_old_one_says_how_it_ends() {
    let sandbox = Sandbox::new();
    let serving = sandbox.serve(&["--root", "."]);
    let old = add(&sandbox, &["ci"]);
    let id = ids(&listed(&sandbox, &[]), "ci", "mcp").remove(0);
    sandbox.run(&["token", "rotate", "ci"]).code(3).says(&["`ci` is not the id", "codeyard token list"]);
    sandbox.run(&["token", "rotate", "0123456789"]).code(3).says(&["codeyard token list"]);
    for bad in ["5", "x", "-1h", "1.5h", "99999999999999999999s", "4000d", "1\u{fc}"] {
        sandbox.run(&["token", "rotate", &id, &format!("--remove-after={bad}")]).code(2).says(&["90s, 30m, 12h or 7d"]);
    }
    let rotated = sandbox.run(&["token", "rotate", &id]).code(0);
    rotated.says(&["stays valid", &format!("codeyard token remove {id}")]);
    let new = rotated.stdout.trim().to_owned();
    assert!(!rotated.stderr.contains(&new) && [&old, &new].iter().all(|token| serving.status("/mcp", token) == 200));
    let ending = sandbox.run(&["token", "rotate", &id, "--remove-after", "1d"]).code(0);
    ending.says(&["is refused from 20", &format!("codeyard token remove {id}")]);
    assert_eq!(serving.status("/mcp", &old), 200);
    let rows = listed(&sandbox, &[]);
    assert_eq!(rows.iter().filter(|row| row["name"] == "ci" && row["kind"] == "mcp").count(), 3, "{rows:?}");
    assert_eq!(rows.iter().filter(|row| row["ends"].is_string()).map(|row| &row["id"]).collect::<Vec<_>>(), [&id]);
    sandbox.run(&["token", "rotate", &id, "--remove-after", "0s"]).code(0);
    assert!(until(5_000, || serving.status("/mcp", &old) == 401), "it has ended");
    assert_eq!(serving.status("/mcp", &new), 200);
    assert!(listed(&sandbox, &[]).iter().all(|row| row["id"] != *id));
    // Operators' tokens stay operators' tokens.
    let operator = add(&sandbox, &["--admin", "ops"]);
    let id = listed(&sandbox, &["--admin"])[0]["id"].as_str().unwrap().to_owned();
    let rotated = sandbox.run(&["token", "rotate", &id]).code(0).stdout.trim().to_owned();
    assert_eq!(listed(&sandbox, &["--admin"]).len(), 2);
    assert!([operator, rotated].iter().all(|token| serving.status("/mcp", token) == 401));
}
