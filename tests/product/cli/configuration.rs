//! `config`, and the doctor on files alone.

use std::fs;

use crate::cli::harness::{Sandbox, ServeProcess};

/// The revision that `initialize` negotiates at `path` when it asks for 2025-06-18.
fn negotiated(serving: &ServeProcess, path: &str) -> String {
    let params = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#);
    let answer = serving.post(path, &serving.token, &message);
    let (_, rest) = answer.split_once("\"protocolVersion\":\"").unwrap_or_else(|| panic!("{path}: {answer}"));
    rest[..10].to_owned()
}

#[test]
fn endpoints_of_lsp_v1_speak_the_configured_revisions_too() {
    for (section, expected) in [("", "2025-11-25"), ("[protocol]\nrevisions = [\"2025-06-18\"]\n", "2025-06-18")] {
        let sandbox = Sandbox::new();
        let file = sandbox.configure(&format!("{section}[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n"));
        let serving = sandbox.serve(&["--config", &file]);
        for path in ["/mcp", "/mcp/repo/lsp-v1-safe", "/mcp/repo/agent+lsp-v1"] {
            assert_eq!(negotiated(&serving, path), expected, "{path}");
        }
        assert_eq!(negotiated(&serving, "/mcp/repo/agent"), "2025-06-18");
    }
    let sandbox = Sandbox::new();
    let file = sandbox.configure("[protocol]\nrevisions = [\"2024-11-05\"]\n");
    sandbox.run(&["config", "check", &file]).code(1).says(&["2025-03-26", "2026-07-28"]);
}

#[test]
fn check_reports_errors_with_their_location() {
    let sandbox = Sandbox::new();
    let workspace = "[[workspace]]\nname = \"repo\"\nroots = [\"repo\"]\n";
    let cases = [
        ("nonsense".to_owned(), "codeyard.toml:1:"),
        ("colour = 1\n".to_owned(), "colour"),
        (
            format!("{workspace}servers.prefer = [\"nope\"]\n"),
            "workspace[0].servers.prefer: no language server is called `nope`",
        ),
        (format!("{workspace}servers.disable = [\"nope\"]\n"), "workspace[0].servers.disable"),
        (format!("{workspace}prewarm = [\"nope\"]\n"), "workspace[0].prewarm"),
        (format!("{workspace}[workspace.settings.nope]\nx = 1\n"), "workspace[0].settings"),
        ("[[workspace]]\nname = \"a\"\nroots = [\"gone\"]\n".to_owned(), "workspace[0].roots[0]"),
        (format!("{workspace}extra_roots = [\"repo/a.tiny\"]\n"), "workspace[0].extra_roots[0]"),
        ("[servers.ty]\nlanguages = [\"klingon\"]\n".to_owned(), "unknown language `klingon`"),
    ];
    for (text, wanted) in cases {
        fs::write(sandbox.path("codeyard.toml"), &text).unwrap();
        let file = sandbox.path("codeyard.toml").display().to_string();
        sandbox.run(&["config", "check", &file]).code(1).says(&[wanted, "codeyard config check"]);
        let whole = sandbox.run(&["config", "check", "--json", &file]).code(1).json();
        assert_eq!(whole["ok"], false);
        assert!(whole["errors"][0].as_str().unwrap().contains(wanted), "{whole}");
    }
    sandbox.run(&["config", "check", "gone.toml"]).code(1).says(&["gone.toml"]);
}

#[test]
fn check_names_all_errors_at_once() {
    let sandbox = Sandbox::new();
    let text = "colour = 1\n[index]\nthreads = 65\n[log]\nfilter = \"[\"\n[[workspace]]\nname = \"repo\"\nroots = [\"repo\", \"gone\"]\nprewarm = [\"nope\"]\n\
                [[workspace]]\nname = \"two\"\nroots = [\"off\"]\n";
    fs::write(sandbox.path("codeyard.toml"), text).unwrap();
    let file = sandbox.path("codeyard.toml").display().to_string();
    for words in [&["config", "check", &file][..], &["config", "check", "--config", &file]] {
        sandbox.run(words).code(1).says(&[
            "codeyard.toml:1:1: colour: unknown key",
            "codeyard.toml:3:1: index.threads",
            "log.filter: `[`",
            "workspace[0].prewarm: no language server is called `nope`",
            "workspace[0].roots[1]: cannot read",
            "workspace[1].roots[0]: cannot read",
        ]);
    }
    let servers = "[servers.ty]\nlanguages = [\"klingon\"]\n[servers.ruff]\nlanguages = [\"vulcan\"]\n";
    fs::write(sandbox.path("codeyard.toml"), servers).unwrap();
    sandbox.run(&["config", "check", &file]).code(1).says(&["unknown language `klingon`", "unknown language `vulcan`"]);
    sandbox.run(&["config", "check"]).code(2).says(&["FILE"]);
}

#[test]
fn check_of_a_valid_file_shows_what_would_be_served() {
    let sandbox = Sandbox::new();
    let file =
        sandbox.configure("[[workspace]]\nname = \"repo\"\nroots = [\"repo\", \"other\"]\nprewarm = [\"tiny\"]\n");
    let text = sandbox.run(&["config", "check", &file]).code(0).stdout;
    for wanted in ["is valid", "workspace repo (default)", "tiny (1 files): tiny", "127.0.0.1:3939"] {
        assert!(text.contains(wanted), "no `{wanted}` in {text}");
    }
    let whole = sandbox.run(&["config", "check", &file, "--json"]).code(0).json();
    assert_eq!(whole["workspaces"][0]["roots"].as_array().unwrap().len(), 2);
}

#[test]
fn show_and_schema_print_valid_documents() {
    let sandbox = Sandbox::new();
    let default = sandbox.run(&["config", "show"]).code(0).stdout;
    fs::write(sandbox.path("codeyard.toml"), &default).unwrap();
    let file = sandbox.path("codeyard.toml").display().to_string();
    sandbox.run(&["config", "check", &file]).code(0);
    let with_secret = sandbox.configure("[[workspace]]\nname = \"a\"\nroots = [\"repo\"]\nenv = { X = \"hush\" }\n");
    let shown = sandbox.run(&["config", "show", &with_secret]).code(0).stdout;
    assert!(shown.contains("idle_stop_s") && !shown.contains("hush"), "{shown}");
    let schema = sandbox.run(&["config", "schema"]).code(0).json();
    assert!(schema["properties"]["workspace"].is_object(), "{schema}");
}

#[test]
fn doctor_shows_which_server_serves_and_why_others_do_not() {
    let sandbox = Sandbox::new();
    let config = sandbox.configured();
    fs::write(sandbox.path("repo/b.py"), "").unwrap();
    fs::create_dir(sandbox.path("repo/deno")).unwrap();
    fs::write(sandbox.path("repo/deno/deno.json"), "{}").unwrap();
    fs::write(sandbox.path("repo/deno/x.ts"), "").unwrap();
    let whole = sandbox.run(&["doctor", ".", "--config", &config, "--json"]).code(0).json();
    let languages = whole["files"]["languages"].as_array().unwrap();
    let of = |language: &str, kind: &str| {
        let found =
            languages.iter().find(|found| found["language"] == language).unwrap_or_else(|| panic!("{language}"));
        let servers = found["servers"].as_array().unwrap();
        servers.iter().find(|server| server["kind"] == kind).unwrap_or_else(|| panic!("{kind}")).clone()
    };
    let tiny = of("tiny", "tiny");
    assert_eq!((&tiny["verdict"], &tiny["project_roots"]), (&"serves".into(), &serde_json::json!(["."])));
    assert_eq!(of("typescript", "typescript")["verdict"], "not_meant");
    assert!(of("typescript", "typescript")["why"].as_str().unwrap().contains("deno/deno.json"));
    let ty = of("python", "ty");
    assert!(ty["verdict"] == "serves" || ty["command"] == "codeyard servers install ty", "{ty}");
    assert_eq!(whole["limits"].as_array().unwrap().len(), 4);
    let one = sandbox.run(&["doctor", "a.tiny", "--config", &config]).code(0).stdout;
    assert!(one.contains("language tiny") && one.contains("tiny: serves") && !one.contains("python"), "{one}");
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/workspaces/c");
    let text = sandbox.run(&["doctor", sample]).code(0).stdout;
    assert!(text.contains("c (13 files, such as src/broken.c)") && text.contains("clangd"), "{text}");
}
