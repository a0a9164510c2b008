#!/usr/bin/env bash
# lsp-types 0.97.0 (crates.io), which tower-lsp, async-lsp and many servers and clients use
#
# One would expect: a message that is read and written again says the same. The crate's documentation says that it
#   supports LSP 3.16, and 3.17 with the feature "proposed", which is on here.
# What happens: four fields are lost without an error. Of 3.16, the annotationId of an edit, so that a client no longer
#   knows which edits need a confirmation. Of 3.17, the data of a workspace symbol that has a range, without which
#   workspaceSymbol/resolve fails; the itemDefaults of a completion list, though the crate has the client's capability
#   for them; a server's typeHierarchyProvider, though it has the requests of type hierarchies.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
mkdir -p t/src
cat > t/Cargo.toml <<'TOML'
[package]
name = "t"
version = "0.0.0"
edition = "2021"
[dependencies]
lsp-types = { version = "=0.97.0", features = ["proposed"] }
serde = "1"
serde_json = "1"
[profile.dev]
opt-level = 0
debug = 0
TOML
cat > t/src/main.rs <<'RS'
use lsp_types::*;
use serde_json::json;

fn check(field: &str, kept: bool) {
    println!("{field}: {}", if kept { "kept" } else { "lost" });
}

fn again<T: for<'a> serde::Deserialize<'a> + serde::Serialize>(message: serde_json::Value) -> String {
    serde_json::to_string(&serde_json::from_value::<T>(message).unwrap()).unwrap()
}

fn main() {
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
    let edit = again::<WorkspaceEdit>(json!({
        "documentChanges": [{
            "textDocument": {"uri": "file:///a", "version": 1},
            "edits": [{"range": range, "newText": "x", "annotationId": "risky"}]
        }],
        "changeAnnotations": {"risky": {"label": "Risky", "needsConfirmation": true}}
    }));
    check("annotationId", edit.contains("annotationId"));
    let symbols = again::<WorkspaceSymbolResponse>(json!([
        {"name": "a", "kind": 12, "location": {"uri": "file:///a", "range": range}, "data": 7}
    ]));
    check("data", symbols.contains("data"));
    let list = again::<CompletionResponse>(json!({"isIncomplete": false, "items": [], "itemDefaults": {"data": 7}}));
    check("itemDefaults", list.contains("itemDefaults"));
    let server = again::<ServerCapabilities>(json!({"typeHierarchyProvider": true}));
    check("typeHierarchyProvider", server.contains("typeHierarchyProvider"));
}
RS
cargo build -q --manifest-path t/Cargo.toml --target-dir target
got=$(target/debug/t)
want='annotationId: lost
data: lost
itemDefaults: lost
typeHierarchyProvider: lost'
printf '%s\n%s\n' 'One would expect that each is kept:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
