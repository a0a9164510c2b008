//! The query language through `search_code`: at the endpoint of a workspace and of a group.

use serde_json::{Value, json};

use crate::engine::code::{settled, start};
use crate::engine::harness::*;

fn plan() -> Plan {
    let one = Site::new(&[
        (
            "src/vault.rs",
            "pub struct Vault;\nimpl Vault {\n    /// Opens it.\n    pub fn unlock(&self) {\n        log(\"vault opened\"); // audited\n        log(\"vault opened\");\n    }\n}\npub fn unlock_all() {}\n",
        ),
        ("tests/vault.rs", "fn test_unlock() {}\n"),
        ("web/door.py", "def unlock():\n    print(\"door opened\")\n"),
    ]);
    let two = Site::new(&[("gate.go", "package gate\n\nfunc Unlock() {\n\tlog(\"gate opened\")\n}\n")]);
    Plan::new(one).workspace(two)
}

async fn ask(yard: &Yard, endpoint: &str, query: &str) -> Value {
    start(yard, endpoint, "search_code", json!({"query": query, "limit": 20, "freshness_policy": "best_effort"}))
        .await
        .ok()
}

/// Rows as `path:line`, sorted.
async fn found(yard: &Yard, endpoint: &str, query: &str) -> Vec<String> {
    let answer = ask(yard, endpoint, query).await;
    let rows = answer["results"].as_array().unwrap_or_else(|| panic!("{query}: {answer}"));
    let mut rows: Vec<String> =
        rows.iter().map(|row| format!("{}:{}", row["path"].as_str().unwrap(), row["line_start"])).collect();
    rows.sort();
    rows
}

async fn opened() -> Yard {
    let yard = plan().open().await;
    for endpoint in ["w0", "w1"] {
        start(&yard, endpoint, "index_repo", json!({})).await.ok();
        loop {
            let status = start(&yard, endpoint, "index_status", json!({})).await.ok();
            if status["index_status"] == "ready" && status["active_job"].is_null() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
    settled(&yard).await;
    yard
}

#[test]
fn filters_narrow_ranked_rows() {
    in_real_time(|| async {
        let yard = opened().await;
        let cases: [(&str, &[&str]); 9] = [
            ("unlock lang:python", &["web/door.py:1"]),
            ("unlock lang:python lang:rust -path:tests", &["src/vault.rs:4", "src/vault.rs:9", "web/door.py:1"]),
            ("unlock path:src", &["src/vault.rs:4", "src/vault.rs:9"]),
            ("unlock path:web/*.py", &["web/door.py:1"]),
            ("sym:unlock kind:method", &["src/vault.rs:4"]),
            ("sym:Vault::unlock", &["src/vault.rs:4"]),
            ("unlock kind:fn -test", &["src/vault.rs:4", "src/vault.rs:9", "web/door.py:1"]),
            ("unlock -sym:all -lang:python -/^tests/", &["src/vault.rs:4"]),
            ("vault kind:struct", &["src/vault.rs:1"]),
        ];
        for (query, rows) in cases {
            assert_eq!(found(&yard, "w0", query).await, rows, "{query}");
        }
        yard.drain().await;
    });
}

#[test]
fn filters_alone_list_files_or_symbols_in_the_order_of_paths() {
    in_real_time(|| async {
        let yard = opened().await;
        let listed = async |endpoint: &str, query: &str| -> Vec<String> {
            let answer = ask(&yard, endpoint, query).await;
            let rows = answer["results"].as_array().unwrap_or_else(|| panic!("{query}: {answer}"));
            let text = |row: &Value| format!("{} {}", row["path"].as_str().unwrap(), row["name"].as_str().unwrap());
            assert_eq!(answer["total_candidates"], rows.len(), "{query}: {answer}");
            rows.iter().map(text).collect()
        };
        let cases: [(&str, &[&str]); 8] = [
            ("lang:rust", &["src/vault.rs vault.rs", "tests/vault.rs vault.rs"]),
            ("path:web", &["web/door.py door.py"]),
            ("lang:rust -path:tests", &["src/vault.rs vault.rs"]),
            (
                "kind:fn",
                &["src/vault.rs unlock", "src/vault.rs unlock_all", "tests/vault.rs test_unlock", "web/door.py unlock"],
            ),
            ("lang:rust kind:struct kind:method", &["src/vault.rs Vault", "src/vault.rs unlock"]),
            ("path:src -kind:impl -kind:fn", &["src/vault.rs Vault"]),
            ("sym:/^unlock$/", &["src/vault.rs unlock", "web/door.py unlock"]),
            ("sym:/_(all|unlock)$/ lang:rust", &["src/vault.rs unlock_all", "tests/vault.rs test_unlock"]),
        ];
        for (query, rows) in cases {
            assert_eq!(listed("w0", query).await, rows, "{query}");
        }
        assert_eq!(listed("@all", "lang:go lang:python").await, ["gate.go gate.go", "web/door.py door.py"]);
        let all = listed("@all", "sym:/^unlock$/ case:no").await;
        assert_eq!(all, ["gate.go Unlock", "src/vault.rs unlock", "web/door.py unlock"]);
        assert_eq!(listed("@all", "lang:kotlin").await, [""; 0]);
        let few = start(&yard, "@all", "search_code", json!({"query": "kind:fn", "limit": 2})).await.ok();
        assert_eq!((&few["total_candidates"], few["results"].as_array().unwrap().len()), (&json!(5), 2), "{few}");
        assert_eq!(few["metadata"]["result_completeness"], "truncated");
        let ranked = found(&yard, "w0", "unlock sym:/^un/ lang:rust").await;
        assert_eq!(ranked, ["src/vault.rs:4", "src/vault.rs:9"]);
        let refused = ask(&yard, "@all", "sym:/(/").await;
        assert_eq!(refused["error"]["code"], "invalid_input", "{refused}");
        yard.drain().await;
    });
}

#[test]
fn phrases_and_expressions_find_lines_that_fulfil_all_terms() {
    in_real_time(|| async {
        let yard = opened().await;
        let cases: [(&str, &[&str]); 6] = [
            (r#""vault opened" lang:rust"#, &["src/vault.rs:5", "src/vault.rs:6"]),
            (r#""vault opened" -audited"#, &["src/vault.rs:6"]),
            (r#""opened" /door|gate/"#, &["web/door.py:2"]),
            (r"/\w+ opened/ path:web", &["web/door.py:2"]),
            (r"/OPENED/ case:no lang:python", &["web/door.py:2"]),
            (r#""Vault opened" case:yes lang:rust"#, &[]),
        ];
        for (query, rows) in cases {
            assert_eq!(found(&yard, "w0", query).await, rows, "{query}");
        }
        let page = start(&yard, "w0", "search_code", json!({"query": "/opened/ lang:rust", "limit": 1})).await.ok();
        let next = page["suggested_next_actions"][0]["arguments"].clone();
        assert_eq!((&next["query"], &next["offset"]), (&json!("/opened/ lang:rust"), &json!(1)), "{page}");
        let second = start(&yard, "w0", "search_code", next).await.ok();
        assert_eq!(
            (&second["results"][0]["line_start"], &second["total_candidates"]),
            (&json!(6), &json!(2)),
            "{second}"
        );
        yard.drain().await;
    });
}

#[test]
fn repo_selects_workspaces_of_a_group_and_names_those_there_are() {
    in_real_time(|| async {
        let yard = opened().await;
        assert_eq!(found(&yard, "@all", "sym:unlock repo:w1").await, ["gate.go:3"]);
        assert_eq!(found(&yard, "@all", "\"opened\" -repo:w0").await, ["gate.go:4"]);
        assert_eq!(found(&yard, "@all", "/gate|door/ lang:go lang:python -print").await, ["gate.go:1", "gate.go:4"]);
        assert_eq!(found(&yard, "w0", "unlock repo:w0 lang:python").await, ["web/door.py:1"]);
        let folder = yard.sites[1].root.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(found(&yard, "w1", &format!("sym:unlock repo:{folder}")).await, ["gate.go:3"]);
        let refused = ask(&yard, "@all", "unlock repo:nope").await;
        assert_eq!(refused["error"]["data"]["allowed"], "w0, w1", "{refused}");
        let refused = ask(&yard, "w0", "unlock repo:w1").await;
        assert_eq!(refused["error"]["code"], "invalid_input", "{refused}");
        for (query, argument) in [("x lang:klingon", "language"), ("/(/ lang:go", "query"), ("file:a x", "query")] {
            let refused = ask(&yard, "@all", query).await;
            assert_eq!(refused["error"]["data"]["argument"], argument, "{refused}");
        }
        yard.drain().await;
    });
}
