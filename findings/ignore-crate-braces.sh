#!/usr/bin/env bash
# ignore 0.4.35 (crates.io), Gitignore: the matcher of ripgrep, fd and many others
#
# One would expect: patterns mean what they mean in git; the crate's documentation refers to gitignore(5) for them.
# What happens: {a,b} is an alternative for the crate, and for git just a name. Routes and templates are called such:
#   `{id}.ts` ignores id.ts instead of {id}.ts. A ] that is escaped in a class (`[a\]]`) ends the class.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
mkdir -p t/src
cat > t/Cargo.toml <<'TOML'
[package]
name = "t"
version = "0.0.0"
edition = "2021"
[dependencies]
ignore = "=0.4.35"
[profile.dev]
opt-level = 0
debug = 0
TOML
cat > t/src/main.rs <<'RS'
fn main() {
    let mut builder = ignore::gitignore::GitignoreBuilder::new("/");
    builder.add_line(None, &std::env::args().nth(1).unwrap()).unwrap();
    let rules = builder.build().unwrap();
    let names = ["{id}.ts", "id.ts", "].o", "a.o"];
    let ignored: Vec<_> = names.into_iter().filter(|name| rules.matched(name, false).is_ignore()).collect();
    println!("crate: {}", ignored.join(" "));
}
RS
cargo build -q --manifest-path t/Cargo.toml --target-dir target
git init -q repo
got=$(for pattern in '{id}.ts' '[a\]].o'; do
  printf '%s\n' "$pattern" | tee repo/.gitignore
  { git -C repo check-ignore '{id}.ts' id.ts ].o a.o || true; } | xargs echo git:
  target/debug/t "$pattern"
done)
want='{id}.ts
git: {id}.ts
crate: id.ts
[a\]].o
git: ].o a.o
crate:'
got=$(printf '%s\n' "$got" | sed 's/ *$//')
printf 'Ignored files; one would expect the same from both:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
