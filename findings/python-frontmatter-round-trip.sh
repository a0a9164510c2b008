#!/usr/bin/env bash
# python-frontmatter 1.3.0 (PyPI)
#
# One would expect: loads followed by dumps keeps a document, but for the layout of the metadata.
# What happens: the content is stripped, so that the indentation of its first line is lost, and with it an indented
#   code block (CommonMark, section "Indented code blocks") becomes a paragraph. A line of four hyphens, a thematic
#   break, counts as a delimiter. Front matter that is a list is thrown away without an error.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib python-frontmatter==1.3.0 PyYAML==6.0.4

cat > t.py <<'PY'
import frontmatter

for text in ("---\na: 1\n---\n\n    code\n    more\n", "----\nNote: text\n----\nbody\n", "---\n- a\n- b\n---\nbody\n"):
    print(repr(text), "->", repr(frontmatter.dumps(frontmatter.loads(text))))
PY
got=$(python3 t.py)
want="'---\na: 1\n---\n\n    code\n    more\n' -> '---\na: 1\n---\n\ncode\n    more'
'----\nNote: text\n----\nbody\n' -> '---\nNote: text\n---\n\nbody'
'---\n- a\n- b\n---\nbody\n' -> '---\n{}\n---\n\nbody'"
printf 'One would expect the same document on both sides of the arrow:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
