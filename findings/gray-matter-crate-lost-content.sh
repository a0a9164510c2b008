#!/usr/bin/env bash
# gray_matter 0.3.2 (crates.io)
#
# One would expect: a document without front matter is its own content.
# What happens: one of at most three bytes has no content at all, and one that begins with a thematic break (CommonMark,
#   section "Thematic breaks") loses its first line: --- opens front matter also if nothing closes it.
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
gray_matter = { version = "=0.3.2", default-features = false, features = ["yaml"] }
[profile.dev]
opt-level = 0
debug = 0
TOML
cat > t/src/main.rs <<'RS'
use gray_matter::{Matter, ParsedEntity, Pod, engine::YAML};

fn main() {
    for text in ["Yes!", "Yes", "---\nAfter a break.\n"] {
        let parsed: ParsedEntity<Pod> = Matter::<YAML>::new().parse(text).unwrap();
        println!("{text:?} -> {:?}, has data: {}", parsed.content, parsed.data.is_some());
    }
}
RS
cargo build -q --manifest-path t/Cargo.toml --target-dir target
got=$(target/debug/t)
want='"Yes!" -> "Yes!", has data: false
"Yes" -> "", has data: false
"---\nAfter a break.\n" -> "After a break.", has data: false'
printf 'One would expect the text again:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
