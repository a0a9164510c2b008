//! Every language of the fallback in every operation, without any installed server.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::mcp::{Mcp, pause};
use crate::running_server::Yard;
use crate::syntactic::sources::Project;

/// One small file of a language. `NAME` stands where the name is declared first, then where it is used.
struct Row {
    language: &'static str,
    path: &'static str,
    text: &'static str,
    /// Whether the name is that of something that is called.
    is_callable: bool,
}

const fn callable(language: &'static str, path: &'static str, text: &'static str) -> Row {
    Row { language, path, text, is_callable: true }
}

const fn value(language: &'static str, path: &'static str, text: &'static str) -> Row {
    Row { language, path, text, is_callable: false }
}

const SCRIPT: &str = "export function NAME() {}\nexport function user() { NAME(); }\n";
const C: &str = "int NAME(void) { return 1; }\nint user(void) { return NAME(); }\n";
const CLASS: &str = "class A {\n  void NAME() {}\n  void user() { NAME(); }\n}\n";
const COMPONENT: &str = "<script>\nfunction NAME() {}\nfunction user() { NAME(); }\n</script>\n";
const TERRAFORM: &str = "variable \"NAME\" {}\n\noutput \"user\" {\n  value = var.NAME\n}\n";

const ROWS: [Row; 40] = [
    callable("python", "a.py", "def NAME():\n    return 1\n\n\ndef user():\n    return NAME()\n"),
    callable("typescript", "a.ts", SCRIPT),
    callable("typescriptreact", "b.tsx", SCRIPT),
    callable("javascript", "c.js", SCRIPT),
    callable("javascriptreact", "d.jsx", SCRIPT),
    callable("c", "a.c", C),
    callable("cpp", "b.cpp", C),
    callable("cuda-cpp", "c.cu", C),
    callable("rust", "a.rs", "pub fn NAME() {}\nfn user() { NAME(); }\n"),
    callable("go", "a.go", "package m\n\nfunc NAME() {}\n\nfunc user() { NAME() }\n"),
    callable("java", "A.java", CLASS),
    callable("csharp", "A.cs", CLASS),
    callable("ruby", "a.rb", "def NAME\nend\n\ndef user\n  NAME\nend\n"),
    callable("php", "a.php", "<?php\nfunction NAME() {}\nfunction user() { NAME(); }\n"),
    callable("kotlin", "A.kt", "fun NAME() {}\nfun user() { NAME() }\n"),
    callable("swift", "a.swift", "func NAME() {}\nfunc user() { NAME() }\n"),
    callable("scala", "A.scala", "object A {\n  def NAME(): Int = 1\n  def user(): Int = NAME()\n}\n"),
    callable("shellscript", "a.sh", "NAME() {\n  echo\n}\nuser() {\n  NAME\n}\n"),
    callable("lua", "a.lua", "function NAME()\nend\nfunction user()\n  NAME()\nend\n"),
    callable("zig", "a.zig", "pub fn NAME() void {}\npub fn user() void {\n    NAME();\n}\n"),
    callable("dart", "a.dart", "void NAME() {}\nvoid user() { NAME(); }\n"),
    callable("haskell", "A.hs", "module A where\n\nNAME x = x\n\nuser y = NAME y\n"),
    callable("elixir", "a.ex", "defmodule A do\n  def NAME(x), do: x\n  def user(x), do: NAME(x)\nend\n"),
    callable("erlang", "a.erl", "-module(a).\nNAME() -> 1.\nuser() -> NAME().\n"),
    value("terraform", "a.tf", TERRAFORM),
    value("hcl", "a.hcl", TERRAFORM),
    value("terraform-vars", "a.tfvars", "NAME = 1\nuser = NAME\n"),
    value("nix", "a.nix", "let\n  NAME = 1;\nin\n  NAME\n"),
    callable("r", "a.R", "NAME <- function(x) x\nuser <- function(y) NAME(y)\n"),
    callable("elm", "A.elm", "module A exposing (..)\n\n\nNAME x =\n    x\n\n\nuser y =\n    NAME y\n"),
    value("graphql", "a.graphql", "type NAME {\n  a: Int\n}\n\ntype Query {\n  b: NAME\n}\n"),
    callable(
        "solidity",
        "a.sol",
        "contract A {\n  function NAME() public {}\n  function user() public { NAME(); }\n}\n",
    ),
    value("proto", "a.proto", "syntax = \"proto3\";\nmessage NAME {}\nmessage User {\n  NAME a = 1;\n}\n"),
    callable("cmake", "a.cmake", "function(NAME)\nendfunction()\nfunction(user)\n  NAME()\nendfunction()\n"),
    value("makefile", "Makefile", "NAME:\n\techo\n\nuser: NAME\n\techo\n"),
    value("dockerfile", "Dockerfile", "FROM scratch AS NAME\nFROM NAME\n"),
    callable("vue", "A.vue", COMPONENT),
    callable("svelte", "A.svelte", COMPONENT),
    // Only a build with the feature `all-languages` parses these two.
    callable("julia", "a.jl", "function NAME()\nend\nfunction user()\n  NAME()\nend\n"),
    callable("ocaml", "a.ml", "let NAME x = x\nlet user y = NAME y\n"),
];

/// Languages of data and documents, which have outlines only; and one whose files only declare.
const OTHERS: [&str; 6] = ["json", "jsonc", "yaml", "toml", "markdown", "ocaml.interface"];

impl Row {
    fn name(&self) -> String {
        format!("launch{}", self.language.replace(['-', '.'], ""))
    }

    /// The line and the column, from 1, of the name's first or second place.
    fn place(&self, nth: usize) -> (usize, usize) {
        let (at, _) = self.text.match_indices("NAME").nth(nth).expect("the name");
        let before = &self.text[..at].replace("NAME", &self.name());
        (before.matches('\n').count() + 1, before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1)
    }
}

/// The metadata of an answer, and its text. `None`: the build doesn't parse the language.
fn ask(client: &mut Mcp, row: &Row, operation: &str, nth: usize) -> Option<(Value, String)> {
    let (line, character) = row.place(nth);
    let arguments = json!({"operation": operation, "filePath": row.path, "line": line, "character": character,
        "query": row.name()});
    for _ in 0..100 {
        let response: Value = serde_json::from_str(&client.call_text("lsp", &arguments)).expect("JSON");
        let result = &response["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{operation}: {response}"));
        if result["isError"] == false {
            return Some((result["structuredContent"]["metadata"].clone(), text.to_owned()));
        }
        let error = &result["structuredContent"]["metadata"]["error"];
        if error["retryAfterMs"].is_null() && ["julia", "ocaml"].contains(&row.language) {
            return None;
        }
        assert!(!error["retryAfterMs"].is_null(), "{} {operation}: {text}", row.language);
        pause(100);
    }
    panic!("{} {operation}: it never gets ready", row.language);
}

/// Where entries of an answer begin: `path:line`, from 1.
fn places(metadata: &Value) -> BTreeSet<String> {
    fn walk(value: &Value, found: &mut BTreeSet<String>) {
        if let (Some(uri), Some(line)) = (value["uri"].as_str(), value["range"]["start"]["line"].as_u64()) {
            found.insert(format!("{}:{}", uri.rsplit('/').next().unwrap_or_default(), line + 1));
        }
        match value {
            Value::Array(list) => list.iter().for_each(|one| walk(one, found)),
            Value::Object(fields) => fields.values().for_each(|one| walk(one, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    walk(&metadata["result"], &mut found);
    found
}

#[test]
fn every_language_is_answered_in_every_operation() {
    let registry = codeyard_lsp::registry::Registry::builtin();
    let known: BTreeSet<&str> = registry.servers["syntactic"].languages.iter().map(String::as_str).collect();
    let tested: BTreeSet<&str> = ROWS.iter().map(|row| row.language).chain(OTHERS).collect();
    assert_eq!(tested, known, "one row for each language");
    let project = Project::new();
    for path in ["lib/shelf.rb", "main.rb"] {
        std::fs::remove_file(project.path(path)).expect("a file");
    }
    for row in &ROWS {
        project.write(row.path, &row.text.replace("NAME", &row.name()));
    }
    let nothing = tempfile::tempdir().expect("a folder");
    let nothing = nothing.path().to_str().expect("a name");
    let configuration = format!("# syntactic\n[[workspace]]\nname = \"w\"\nroots = [{:?}]\n", project.root);
    let yard = Yard::serve_in(&configuration, &[], &[("PATH", nothing), ("CODEYARD_SERVERS_DIR", nothing)]);
    let mut client = Mcp::connect(&yard.address, "/mcp/w/agent", Some(&yard.token));
    let mut wrong = Vec::new();
    for row in &ROWS {
        wrong.extend(check(&mut client, row));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (path, operation) in [("a.py", "goToDefinition"), ("a.rs", "findReferences"), ("a.go", "hover")] {
        // `def`, `pub` and `package`.
        let arguments = json!({"operation": operation, "filePath": path, "line": 1, "character": 1});
        let response = client.call_text("lsp", &arguments);
        assert!(response.contains("is a keyword or a number, not a name"), "{path}: {response}");
    }
    yard.stop();
}

/// What is wrong with the answers about one language.
fn check(client: &mut Mcp, row: &Row) -> Vec<String> {
    let place = |nth: usize| format!("{}:{}", row.path, row.place(nth).0);
    let declared = place(0);
    let used = place(1);
    let mut wrong = Vec::new();
    let mut expected: Vec<(&str, usize, Option<String>)> = vec![
        ("documentSymbol", 0, None),
        ("workspaceSymbol", 0, Some(declared.clone())),
        ("goToDefinition", 1, Some(declared.clone())),
        ("findReferences", 0, Some(used.clone())),
        ("findReferences", 1, Some(used.clone())),
        ("hover", 1, None),
    ];
    if row.is_callable {
        let calls = ["prepareCallHierarchy", "incomingCalls"].map(|operation| (operation, 0, None));
        expected.extend(calls);
    }
    for (operation, nth, entry) in expected {
        let Some((metadata, text)) = ask(client, row, operation, nth) else { return Vec::new() };
        let fault = match entry {
            _ if !text.contains("By name only") => Some("isn't marked"),
            Some(entry) if !places(&metadata).contains(&entry) => Some("lacks a place"),
            _ if metadata["result"] == json!([]) || metadata["result"].is_null() => Some("is empty"),
            None if operation == "documentSymbol" && !text.contains(&row.name()) => Some("lacks the name"),
            None if operation == "incomingCalls" && !text.contains("user") => Some("lacks the caller"),
            _ => None,
        };
        wrong.extend(fault.map(|fault| format!("{} {operation} {nth} {fault}: {text}", row.language)));
    }
    wrong
}
