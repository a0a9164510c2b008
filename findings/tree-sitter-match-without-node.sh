#!/usr/bin/env bash
# tree-sitter 0.26.1 (PyPI) and web-tree-sitter 0.27.2 (npm) with tree-sitter-python 0.25.0
#
# One would expect: one query has the same matches in both bindings, and a predicate about an optional capture that
#   captured nothing has one meaning.
# What happens: #eq? holds in both. #match? holds in Python's binding and fails in the web binding, so a pattern with
#   an optional part loses its matches there. (#match? also takes the regular expressions of the host: with "(?i)" Python
#   ignores case, the web binding refuses the query.)
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib tree-sitter==0.26.1 tree-sitter-python==0.25.0
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent web-tree-sitter@0.27.2 tree-sitter-python@0.25.0 >/dev/null

cat > queries.json <<'JSON'
["(function_definition name: (identifier) @n parameters: (parameters (identifier)? @p) (#eq? @p \"a\"))",
 "(function_definition name: (identifier) @n parameters: (parameters (identifier)? @p) (#match? @p \"a\"))"]
JSON
printf 'def one(a): pass\ndef none(): pass\n' > source.py
cat > t.py <<'PY'
import json, tree_sitter, tree_sitter_python

language = tree_sitter.Language(tree_sitter_python.language())
tree = tree_sitter.Parser(language).parse(open("source.py", "rb").read())
for text in json.load(open("queries.json")):
    matches = tree_sitter.QueryCursor(tree_sitter.Query(language, text)).matches(tree.root_node)
    print("Python", *sorted(c["n"][0].text.decode() for _, c in matches))
PY
cat > t.cjs <<'JS'
const fs = require('fs'), { Parser, Language, Query } = require('web-tree-sitter');
(async () => {
  await Parser.init();
  const language = await Language.load(require.resolve('tree-sitter-python/tree-sitter-python.wasm'));
  const parser = new Parser();
  parser.setLanguage(language);
  const tree = parser.parse(fs.readFileSync('source.py', 'utf8'));
  for (const text of JSON.parse(fs.readFileSync('queries.json')))
    console.log('web', ...new Query(language, text).matches(tree.rootNode).map(m => m.captures[0].node.text).sort());
})();
JS
got=$(python3 t.py; node t.cjs)
want='Python none one
Python none one
web none one
web one'
printf 'Functions matched with #eq? and with #match?; one would expect the same lines for both bindings:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
