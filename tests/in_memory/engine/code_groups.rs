//! Groups of workspaces at one endpoint of the catalog `code`: merged rows, workspaces that can't answer, and who sees what.

use std::fs;
use std::time::Duration;

use codeyard_config::GroupSection;
use codeyard_gateway::service::{Principal, Service};
use serde_json::{Value, json};

use crate::engine::code::start;
use crate::engine::harness::*;

const PATIENCE: Duration = Duration::from_secs(60);

async fn ask(yard: &Yard, group: &str, tool: &str, arguments: Value) -> Value {
    start(yard, group, tool, arguments).await.ok()
}

/// Asks until every workspace of the group takes part.
async fn complete(yard: &Yard, group: &str, tool: &str, arguments: Value) -> Value {
    let asked = async {
        loop {
            let answer = ask(yard, group, tool, arguments.clone()).await;
            let metadata = &answer["metadata"];
            if metadata["incomplete_workspaces"].is_null() && metadata["freshness_status"] == "fresh" {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answer) => answer,
        Err(_) => panic!("never complete: {}", ask(yard, group, tool, arguments).await),
    }
}

/// Rows as `workspace path:line`.
fn rows(answer: &Value) -> Vec<String> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = answer["results"].as_array().unwrap_or_else(|| panic!("{answer}"));
    rows.iter().map(|row| format!("{} {}:{}", text(row, "workspace"), text(row, "path"), row["line_start"])).collect()
}

fn three() -> Plan {
    let one = Site::new(&[("src/a.rs", "fn alpha() {}\nfn unlock_vault() {}\n")]);
    let two = Site::new(&[("b.rs", "fn beta() {}\nfn alpha() {}\n"), ("only.rs", "fn only_here() {}\n")]);
    let three = Site::new(&[("c.py", "def alpha():\n    pass\n"), ("src/a.rs", "fn gamma() {}\n")]);
    Plan::new(one).workspace(two).workspace(three).tune(|config| {
        let group = |names: &[&str]| GroupSection { workspaces: names.iter().map(|name| (*name).to_owned()).collect() };
        config.groups.insert("pair".into(), group(&["w*", "!w2"]));
        config.groups.insert("empty".into(), group(&["nothing-*"]));
    })
}

#[test]
fn rows_of_all_workspaces_are_merged_in_the_order_of_their_scores() {
    in_real_time(|| async {
        let yard = three().open().await;
        let found = complete(&yard, "@all", "locate_symbol", json!({"name": "alpha"})).await;
        assert_eq!(rows(&found), ["w2 c.py:1", "w1 b.rs:2", "w0 src/a.rs:1"], "a public one, then paths");
        assert_eq!(found["total_candidates"], 3);
        let searched = complete(&yard, "@all", "search_code", json!({"query": "alpha"})).await;
        assert_eq!(searched["query_intent"], "symbol");
        assert_eq!(rows(&searched)[..3].len(), 3);
        let again = ask(&yard, "@all", "search_code", json!({"query": "alpha"})).await;
        assert_eq!(searched, again, "the same question has the same answer");
        let pair = complete(&yard, "@pair", "locate_symbol", json!({"name": "alpha"})).await;
        assert_eq!(rows(&pair), ["w1 b.rs:2", "w0 src/a.rs:1"]);
        let one = complete(&yard, "@all", "locate_symbol", json!({"name": "alpha", "workspace": "w2"})).await;
        assert_eq!(rows(&one), ["w2 c.py:1"]);
        let handle = found["results"][2]["symbol_id"].clone();
        let by_handle = ask(&yard, "@all", "locate_symbol", json!({"symbol_id": handle})).await;
        assert_eq!(rows(&by_handle), ["w0 src/a.rs:1"]);
        assert_eq!(by_handle["metadata"].get("incomplete_workspaces"), None, "{by_handle}");
        let refused = ask(&yard, "@all", "locate_symbol", json!({"symbol_id": "sym.unknown"})).await;
        assert_eq!(refused["error"]["code"], "symbol_not_found");
        yard.drain().await;
    });
}

#[test]
fn a_name_that_one_workspace_has_comes_first_and_its_neighbours_know_their_workspace() {
    in_real_time(|| async {
        let yard = three().open().await;
        let found = complete(&yard, "@all", "search_code", json!({"query": "unlock_vault"})).await;
        assert_eq!(rows(&found)[0], "w0 src/a.rs:2");
        for action in found["suggested_next_actions"].as_array().unwrap() {
            assert_eq!(action["arguments"]["workspace"], "w0", "{action}");
            let tool = action["tool"].as_str().unwrap();
            let next = ask(&yard, "@all", tool, action["arguments"].clone()).await;
            assert_eq!(next.get("error"), None, "{next}");
        }
        yard.drain().await;
    });
}

#[test]
fn a_name_that_no_workspace_has_has_the_nearest_names_of_all() {
    in_real_time(|| async {
        let yard = three().open().await;
        let nearest = "No symbol is named 'alhpa'. The nearest name is alpha.";
        let located = complete(&yard, "@all", "locate_symbol", json!({"name": "alhpa"})).await;
        assert_eq!((rows(&located), &located["metadata"]["warnings"]), (vec![], &json!([nearest])), "{located}");
        let merged = complete(&yard, "@all", "locate_symbol", json!({"name": "only_hree"})).await;
        assert_eq!(merged["metadata"]["warnings"][0], "No symbol is named 'only_hree'. The nearest name is only_here.");
        let searched = complete(&yard, "@all", "search_code", json!({"query": "alhpa"})).await;
        assert_eq!(searched["metadata"]["warnings"], json!([nearest]), "one sentence for all: {searched}");
        assert_eq!(rows(&searched).len(), 3);
        let other_kind = complete(&yard, "@all", "locate_symbol", json!({"name": "alpha", "kind": "struct"})).await;
        let warning = other_kind["metadata"]["warnings"][0].as_str().unwrap();
        assert!(warning.starts_with("No struct is named 'alpha', but another symbol is: fn"), "{warning}");
        let known = complete(&yard, "@all", "locate_symbol", json!({"name": "only_here"})).await;
        assert_eq!((rows(&known).len(), known["metadata"].get("warnings")), (1, None));
        yard.drain().await;
    });
}

#[test]
fn a_name_or_phrase_that_no_workspace_has_is_said_whatever_rows_follow() {
    in_real_time(|| async {
        let yard = three().open().await;
        let warnings = |answer: &Value| answer["metadata"]["warnings"].clone();
        let nothing = complete(&yard, "@all", "search_code", json!({"query": "zzqqxx"})).await;
        assert_eq!((rows(&nothing).len(), warnings(&nothing)), (0, json!(["No symbol is named 'zzqqxx'."])));
        // Lines have the word, but no symbol has the name.
        let lines = complete(&yard, "@all", "search_code", json!({"query": "pass"})).await;
        assert_eq!(rows(&lines), ["w2 c.py:2"]);
        assert_eq!(warnings(&lines), json!(["No symbol is named 'pass'."]));
        let phrase = complete(&yard, "@all", "search_code", json!({"query": "\"alpha beta\""})).await;
        assert!(!rows(&phrase).is_empty(), "ranked rows follow: {phrase}");
        assert_eq!(warnings(&phrase), json!(["No line contains \"alpha beta\"."]));
        let found = complete(&yard, "@all", "search_code", json!({"query": "\"def alpha\""})).await;
        assert_eq!((rows(&found), warnings(&found)), (vec!["w2 c.py:1".to_owned()], Value::Null));
        yard.drain().await;
    });
}

#[test]
fn a_wrong_query_is_refused_even_while_a_workspace_has_no_index() {
    in_real_time(|| async {
        let yard = three().open().await;
        complete(&yard, "@all", "locate_symbol", json!({"name": "alpha", "workspace": "w0"})).await;
        for query in ["/(/", "alpha path:{a", "alpha -/(/"] {
            let refused = ask(&yard, "@all", "search_code", json!({"query": query})).await;
            assert_eq!(refused["error"]["code"], "invalid_input", "{query}: {refused}");
            assert_eq!(refused["metadata"].get("incomplete_workspaces"), None, "{query}: {refused}");
        }
        yard.drain().await;
    });
}

#[test]
fn rows_behind_many_that_the_query_leaves_out_are_found_in_all_workspaces() {
    in_real_time(|| async {
        let many = |prefix: &str| (0..60).map(|at| format!("fn make_{prefix}{at}() {{}}\n")).collect::<String>();
        let one = Site::new(&[("a.rs", &many("a")), ("z.rs", "fn zoom() {}\n")]);
        let two = Site::new(&[("b.rs", &many("b")), ("z.rs", "fn zap() {}\n")]);
        let yard = Plan::new(one).workspace(two).open().await;
        let query = json!({"query": "kind:fn -sym:make_a -sym:make_b", "limit": 2});
        let found = complete(&yard, "@all", "search_code", query).await;
        assert_eq!(rows(&found), ["w0 z.rs:1", "w1 z.rs:1"], "{found}");
        assert_eq!(found["total_candidates"], 2);
        assert_eq!(found["metadata"]["result_completeness"], "complete");
        yard.drain().await;
    });
}

#[test]
fn lines_of_all_workspaces_form_one_list_with_pages() {
    in_real_time(|| async {
        let yard = three().open().await;
        let text =
            |offset: usize, limit: usize| json!({"query": "alpha", "mode": "text", "offset": offset, "limit": limit});
        let all = complete(&yard, "@all", "search_code", text(0, 50)).await;
        assert_eq!(rows(&all), ["w0 src/a.rs:1", "w1 b.rs:2", "w2 c.py:1"], "in the order of the workspaces");
        let mut paged = Vec::new();
        let mut next = text(0, 1);
        loop {
            let page = ask(&yard, "@all", "search_code", next.clone()).await;
            assert_eq!(page["total_candidates"], 3);
            paged.extend(rows(&page));
            let more =
                page["suggested_next_actions"].as_array().unwrap().iter().find(|next| next["tool"] == "search_code");
            match more {
                Some(more) => next = more["arguments"].clone(),
                None => break,
            }
        }
        assert_eq!(paged, rows(&all));
        let beyond = ask(&yard, "@all", "search_code", text(3, 10)).await;
        assert_eq!((rows(&beyond).len(), &beyond["total_candidates"]), (0, &json!(3)));
        // No symbol has this name, so the lines of all workspaces are shown.
        let fallback = complete(&yard, "@all", "search_code", json!({"query": "pass"})).await;
        assert_eq!(rows(&fallback), ["w2 c.py:2"]);
        yard.drain().await;
    });
}

#[test]
fn scores_are_those_of_one_index_of_everything() {
    in_real_time(|| async {
        let rare: String = (0..40).map(|n| format!("fn open_gate_{n}() {{}}\n")).collect();
        let one = Site::new(&[("many.rs", &rare)]);
        let two = Site::new(&[("few.rs", "/// Opens the gate of the yard.\nfn swing() {}\nfn other() {}\n")]);
        let both = Site::new(&[
            ("many.rs", &rare),
            ("few.rs", "/// Opens the gate of the yard.\nfn swing() {}\nfn other() {}\n"),
        ]);
        let yard = Plan::new(one).workspace(two).workspace(both).tune(|config| {
            config.groups.insert("split".into(), GroupSection { workspaces: vec!["w0".into(), "w1".into()] });
        });
        let yard = yard.open().await;
        let query = json!({"query": "opens the gate", "limit": 60, "detail_level": "location"});
        let split = complete(&yard, "@split", "search_code", query.clone()).await;
        let whole =
            complete(&yard, "@all", "search_code", json!({"query": "opens the gate", "limit": 60, "workspace": "w2"}))
                .await;
        let scores = |answer: &Value| -> Vec<(String, Value)> {
            let rows = answer["results"].as_array().unwrap().iter();
            rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row["score"].clone())).collect()
        };
        assert_eq!(scores(&split), scores(&whole));
        yard.drain().await;
    });
}

#[test]
fn a_broken_workspace_is_named_and_disturbs_no_other() {
    in_real_time(|| async {
        let yard = three().open().await;
        complete(&yard, "@all", "locate_symbol", json!({"name": "alpha"})).await;
        let yard = yard.reopen().await;
        // The database of the workspace with `only_here` is damaged.
        let indexes = yard.site().base().join("state").join(codeyard_state::INDEX_FOLDER);
        let status = ask(&yard, "w1", "index_status", json!({})).await;
        assert_eq!(status["index_status"], "ready");
        let yard = yard.reopen().await;
        for folder in fs::read_dir(indexes).unwrap() {
            let database = folder.unwrap().path().join("index.sqlite");
            let holds = fs::read(&database).unwrap().windows(9).any(|window| window == b"only_here")
                || fs::read(database.with_file_name("index.sqlite-wal"))
                    .is_ok_and(|wal| wal.windows(7).any(|w| w == b"only.rs"))
                || fs::read(&database).unwrap().windows(7).any(|window| window == b"only.rs");
            if holds {
                fs::write(&database, vec![b'x'; 10_000]).unwrap();
                for side in ["index.sqlite-wal", "index.sqlite-shm"] {
                    _ = fs::remove_file(database.with_file_name(side));
                }
            }
        }
        let found = ask(&yard, "@all", "locate_symbol", json!({"name": "alpha"})).await;
        assert_eq!(rows(&found), ["w2 c.py:1", "w0 src/a.rs:1"], "{found}");
        let left_out = &found["metadata"]["incomplete_workspaces"];
        assert_eq!(
            (&left_out[0]["workspace"], &left_out[0]["reason"]),
            (&json!("w1"), &json!("index_incompatible")),
            "{found}"
        );
        assert_eq!(found["metadata"]["result_completeness"], "partial");
        assert!(found["metadata"]["warnings"][0].as_str().unwrap().starts_with("Left out w1: "), "{found}");
        // The workspace that can't answer may have the symbol.
        let unknown = ask(&yard, "@all", "locate_symbol", json!({"symbol_id": "sym.unknown"})).await;
        assert_eq!(unknown["error"]["code"], "symbol_not_found");
        assert_eq!(unknown["metadata"]["incomplete_workspaces"][0]["workspace"], "w1", "{unknown}");
        assert_eq!(unknown["metadata"]["result_completeness"], "partial");
        let statuses = ask(&yard, "@all", "index_status", json!({})).await;
        let names: Vec<&Value> =
            statuses["workspaces"].as_array().unwrap().iter().map(|one| &one["workspace"]).collect();
        assert_eq!(names, ["w0", "w1", "w2"]);
        let health = ask(&yard, "@all", "health_check", json!({})).await;
        assert_eq!(health["status"], "error");
        assert_eq!(health["projects"].as_array().unwrap().len(), 3);
        yard.drain().await;
    });
}

#[test]
fn workspaces_that_are_not_indexed_yet_are_started_and_named() {
    in_real_time(|| async {
        let yard = three().open().await;
        // One workspace has an index, so the call doesn't wait for the others.
        complete(&yard, "@all", "locate_symbol", json!({"name": "alpha", "workspace": "w0"})).await;
        let first = ask(&yard, "@all", "search_code", json!({"query": "alpha", "limit": 50})).await;
        let left_out = first["metadata"]["incomplete_workspaces"].as_array().cloned().unwrap_or_default();
        for one in &left_out {
            assert!(["indexing", "not_indexed"].contains(&one["reason"].as_str().unwrap()), "{first}");
            assert_ne!(one["workspace"], "w0");
        }
        assert!(rows(&first).contains(&"w0 src/a.rs:1".to_owned()), "{first}");
        let all = complete(&yard, "@all", "search_code", json!({"query": "alpha", "limit": 50})).await;
        assert!(rows(&all).len() >= 3, "asking again is enough: {all}");
        yard.drain().await;
    });
}

#[test]
fn jobs_states_and_outlines_have_one_entry_for_each_workspace() {
    in_real_time(|| async {
        let yard = three().open().await;
        let jobs = ask(&yard, "@pair", "index_repo", json!({})).await;
        let of = |entry: &Value| (entry["workspace"].clone(), entry["job_id"].is_string());
        let begun: Vec<_> = jobs["jobs"].as_array().unwrap_or_else(|| panic!("{jobs}")).iter().map(of).collect();
        assert_eq!(begun, [(json!("w0"), true), (json!("w1"), true)]);
        complete(&yard, "@all", "locate_symbol", json!({"name": "alpha"})).await;
        let statuses = ask(&yard, "@all", "index_status", json!({})).await;
        for one in statuses["workspaces"].as_array().unwrap() {
            assert_eq!((&one["index_status"], &one["active_job"]), (&json!("ready"), &Value::Null), "{one}");
        }
        let health = ask(&yard, "@all", "health_check", json!({})).await;
        let named: Vec<&Value> = health["projects"].as_array().unwrap().iter().map(|one| &one["workspace"]).collect();
        assert_eq!(
            (health["status"].as_str().unwrap(), named),
            ("ready", vec![&json!("w0"), &json!("w1"), &json!("w2")])
        );
        let root = yard.sites[1].root.display().to_string();
        let one = ask(&yard, "@all", "health_check", json!({"workspace": root})).await;
        assert_eq!(one["projects"].as_array().unwrap().len(), 1);

        let outline = ask(&yard, "@all", "get_file_outline", json!({"path": "only.rs"})).await;
        assert_eq!((&outline["workspace"], &outline["symbols"][0]["name"]), (&json!("w1"), &json!("only_here")));
        let several = ask(&yard, "@all", "get_file_outline", json!({"path": "src/a.rs"})).await;
        assert_eq!(several["error"]["data"]["allowed"], "w0, w2", "{several}");
        let named = ask(&yard, "@all", "get_file_outline", json!({"path": "src/a.rs", "workspace": "w2"})).await;
        assert_eq!(named["symbols"][0]["name"], "gamma");
        let absolute = yard.sites[2].root.join("src/a.rs").display().to_string();
        let absolute = ask(&yard, "@all", "get_file_outline", json!({"path": absolute})).await;
        assert_eq!(absolute["workspace"], "w2", "{absolute}");
        let missing = ask(&yard, "@all", "get_file_outline", json!({"path": "none.rs"})).await;
        assert_eq!(missing["error"]["code"], "file_not_found");
        yard.drain().await;
    });
}

#[test]
fn a_workspace_that_the_group_does_not_have_is_refused_with_those_it_has() {
    in_real_time(|| async {
        let yard = three().open().await;
        let refused = ask(&yard, "@pair", "search_code", json!({"query": "alpha", "workspace": "w2"})).await;
        assert_eq!(refused["error"]["code"], "workspace_not_registered");
        assert_eq!(refused["error"]["data"]["allowed"], "w0, w1");
        let refused = ask(&yard, "w0", "search_code", json!({"query": "alpha", "workspace": "w1"})).await;
        assert_eq!(refused["error"]["code"], "workspace_not_allowed");
        let own = ask(&yard, "w0", "index_status", json!({"workspace": "w0"})).await;
        assert_eq!(own.get("error"), None);
        yard.drain().await;
    });
}

#[test]
fn groups_are_endpoints_for_their_tenant_and_the_catalog_code_only() {
    in_real_time(|| async {
        let yard = three().open().await;
        let endpoint = |principal: &Principal, group: &str, catalogs: Option<&str>| {
            yard.gateway.endpoint(principal, Some(group), catalogs).map(|endpoint| endpoint.group.unwrap().at())
        };
        let local = Principal::local();
        assert_eq!(endpoint(&local, "@all", Some("code")).as_deref(), Some("@all"));
        assert_eq!(endpoint(&local, "@pair", Some("code")).as_deref(), Some("@pair"));
        for (group, catalogs) in [
            ("@all", None),
            ("@all", Some("lsp-v1")),
            ("@all", Some("agent+code")),
            ("@none", Some("code")),
            ("@empty", Some("code")),
        ] {
            assert_eq!(endpoint(&local, group, catalogs), None, "{group} {catalogs:?}");
        }
        let endpoint = yard.gateway.endpoint(&local, Some("@all"), Some("code")).unwrap();
        assert!(yard.gateway.instructions(&endpoint).unwrap().contains("'@all'"));
        yard.drain().await;
    });
}

#[test]
fn a_removed_workspace_leaves_its_groups() {
    in_real_time(|| async {
        let yard = three().open().await;
        complete(&yard, "@all", "locate_symbol", json!({"name": "alpha"})).await;
        let mut config = yard.config.clone();
        config.workspaces.retain(|workspace| workspace.name.as_str() != "w1");
        config.groups.insert("pair".into(), GroupSection { workspaces: vec!["w2".into()] });
        yard.engine().configure(config).await.unwrap();
        let all = complete(&yard, "@all", "locate_symbol", json!({"name": "alpha"})).await;
        assert_eq!(rows(&all), ["w2 c.py:1", "w0 src/a.rs:1"]);
        let pair = complete(&yard, "@pair", "locate_symbol", json!({"name": "alpha"})).await;
        assert_eq!(rows(&pair), ["w2 c.py:1"], "a reload changes the groups");
        yard.drain().await;
    });
}
