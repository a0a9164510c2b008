#!/usr/bin/env bash
# tree-sitter 0.26.1 with tree-sitter-python 0.25.0 (PyPI); the same in web-tree-sitter, because the C library does it
#
# One would expect: captures() returns the captures of the matches that matches() returns, in another order. That is
#   how the documentation ("Using Parsers", "Query API") tells them apart.
# What happens: captures() hands out a capture as soon as the rest of its pattern can't fail, and evaluates predicates
#   at that moment. A predicate about an optional node that comes later in the file isn't decided yet and counts as
#   met, so names are returned whose match is rejected afterwards.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib tree-sitter==0.26.1 tree-sitter-python==0.25.0

cat > t.py <<'PY'
import tree_sitter, tree_sitter_python

language = tree_sitter.Language(tree_sitter_python.language())
tree = tree_sitter.Parser(language).parse(b"def plain(a): pass\ndef method(self): pass\ndef empty(): pass\n")
query = tree_sitter.Query(language, """
  (function_definition name: (identifier) @name
    parameters: (parameters . (identifier)? @first) (#eq? @first "self"))""")
matches = tree_sitter.QueryCursor(query).matches(tree.root_node)
captures = tree_sitter.QueryCursor(query).captures(tree.root_node)
print("matches: ", sorted(c["name"][0].text.decode() for _, c in matches))
print("captures:", sorted(n.text.decode() for n in captures["name"]))
PY
got=$(python3 t.py)
want="matches:  ['empty', 'method']
captures: ['empty', 'method', 'plain']"
printf 'One would expect the same names twice (without plain, whose first parameter is not self):\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
