#!/usr/bin/env bash
# prometheus-parse 0.2.5 (crates.io)
#
# One would expect: each sample line is a sample, or parse() returns an error, as its type allows. Prometheus, "Text
#   format details": a label value is any text, in which \\, \" and \n are escapes; names may hold colons ("Data
#   model").
# What happens: a line whose label value holds `}` is left out, so the routes /users/{id} that web frameworks report
#   are missing, as are metrics with a colon in their name, which recording rules give them, and samples with `{}`. A
#   value is cut into several labels at its commas, or loses what is behind them, and escapes stay as they are. No
#   error.
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
prometheus-parse = "=0.2.5"
[profile.dev]
opt-level = 0
debug = 0
TOML
cat > t/src/main.rs <<'RS'
fn main() {
    let text = r#"
r{route="/users"} 1
r{route="/users/{id}"} 2
job:r:rate5m{route="/users"} 3
r{} 4
r{file="a,b"} 5
r{query="x,user=1"} 6
r{text="say \"hi\"\n"} 7
"#;
    let lines = text.lines().map(|line| Ok(line.to_string()));
    for sample in prometheus_parse::Scrape::parse(lines).unwrap().samples {
        let mut labels: Vec<_> = sample.labels.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        labels.sort();
        println!("{}, {}, {:?}", sample.metric, labels.join(", "), sample.value);
    }
}
RS
cargo build -q --manifest-path t/Cargo.toml --target-dir target
got=$(target/debug/t)
want='r, route: /users, Untyped(1.0)
r, file: a, Untyped(5.0)
r, query: x, user: 1, Untyped(6.0)
r, text: say \"hi\"\n, Untyped(7.0)'
printf '%s\n%s\n' 'One would expect seven samples, each with one label or none:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
