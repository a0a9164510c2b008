#!/usr/bin/env bash
# tree-sitter-typescript 0.23.2 and tree-sitter-rust 0.24.2 (PyPI), the TAGS_QUERY that each brings
#
# One would expect: the query finds the functions, classes and methods of its language, each once; the documentation of
#   tree-sitter, "Code Navigation", describes tags queries so.
# What happens: that of TypeScript has only what JavaScript doesn't have (interfaces, abstract classes, signatures). It
#   has to be joined with the query of tree-sitter-javascript, which isn't in the package. That of Rust tags each
#   function in a block twice, and those of a mod as methods.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib tree-sitter==0.26.1 tree-sitter-typescript==0.23.2 tree-sitter-rust==0.24.2

cat > t.py <<'PY'
import tree_sitter, tree_sitter_rust, tree_sitter_typescript

def run(name, language, query, source):
    language = tree_sitter.Language(language)
    tree = tree_sitter.Parser(language).parse(source)
    assert not tree.root_node.has_error
    matches = tree_sitter.QueryCursor(tree_sitter.Query(language, query)).matches(tree.root_node)
    tags = [f"{c['name'][0].text.decode()}:{kind[11:]}" for _, c in matches for kind in c if kind.startswith("definition.")]
    print(name, *sorted(tags))

run("TypeScript", tree_sitter_typescript.language_typescript(), tree_sitter_typescript.TAGS_QUERY,
    b"function f() {}\nclass K { m() {} }\nenum E { A }\ntype T = string;\ninterface I {}\nabstract class B {}\n")
run("Rust", tree_sitter_rust.language(), tree_sitter_rust.TAGS_QUERY,
    b"fn f() {}\nmod x { fn g() {} }\nimpl S { fn m() {} }\n")
PY
got=$(python3 t.py)
want='TypeScript B:class I:interface
Rust f:function g:function g:method m:function m:method x:module'
printf 'One would expect f, K, m, E and T in TypeScript, and no name twice in Rust:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
