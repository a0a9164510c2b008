#!/usr/bin/env bash
# pygls 2.1.1 (PyPI), TextDocument
#
# One would expect: lines end at \n, \r\n and \r, and nowhere else (LSP 3.17, "Text Documents": the list of end-of-line
#   sequences).
# What happens: lines are split with str.splitlines, for which a form feed, a vertical tab, U+001C to U+001E, U+0085,
#   U+2028 and U+2029 are ends of lines too. A form feed between sections is common in older C, Lisp and Python. An edit
#   below it is made one line too high: the server's text is another one from then on, and it stays so. word_at_position
#   and offset_at_position are wrong in the same way.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib pygls==2.1.1

cat > t.py <<'PY'
from lsprotocol.types import Position, Range, TextDocumentContentChangePartial
from pygls.workspace import Workspace
from lsprotocol.types import TextDocumentItem, VersionedTextDocumentIdentifier

text = "int a;\n\f\nint b;\nint c;\n"
workspace = Workspace(None)
workspace.put_text_document(TextDocumentItem(uri="file:///a.c", language_id="c", version=1, text=text))
document = workspace.get_text_document("file:///a.c")
print("word at line 3, column 4 (c):", document.word_at_position(Position(3, 4)))
change = TextDocumentContentChangePartial(text="renamed", range=Range(Position(3, 4), Position(3, 5)))
workspace.update_text_document(VersionedTextDocumentIdentifier(uri="file:///a.c", version=2), change)
print("c renamed:", repr(workspace.get_text_document("file:///a.c").source))
PY
got=$(python3 t.py)
want='word at line 3, column 4 (c): b
c renamed: '"'int a;\\n\\x0c\\nint renamed;\\nint c;\\n'"
printf '%s\n%s\n' 'One would expect the word c, and that it is renamed:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
