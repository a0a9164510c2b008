#!/usr/bin/env bash
# lsprotocol 2025.0.0 (PyPI), the types and the converter that pygls and clients in Python use
#
# One would expect: an answer to textDocument/codeAction is read as what it is. LSP 3.17, "Code Action Request": a
#   CodeAction may have an edit and a command, a Command's `command` is a string. Each item of a list counts by
#   itself.
# What happens: whatever has the key "command" becomes a Command. A code action with an edit and a command loses its
#   edit and its kind, and its command's identifier is the text of a Python dictionary; no error. What all workspace
#   symbols are is taken from the first one: if that one has a range and no data, the data of the others is lost, and
#   one without range (3.17, WorkspaceSymbol) makes the whole answer unreadable.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib lsprotocol==2025.0.0 cattrs==26.2.1 attrs==26.1.0

cat > t.py <<'PY'
from lsprotocol import converters, types

converter = converters.get_converter()

def read(method, result):
    return converter.structure({"jsonrpc": "2.0", "id": 1, "result": result}, types.METHOD_TO_TYPES[method][1]).result

place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
[action] = read("textDocument/codeAction", [{
    "title": "Extract", "kind": "refactor.extract",
    "edit": {"changes": {"file:///a": [{"range": place, "newText": "x"}]}},
    "command": {"title": "Rename it", "command": "rename", "arguments": [1]},
}])
print(action)

first = {"name": "a", "kind": 12, "location": {"uri": "file:///a", "range": place}}
second = {"name": "b", "kind": 12, "location": {"uri": "file:///b", "range": place}, "data": 7}
third = {"name": "c", "kind": 12, "location": {"uri": "file:///c"}, "data": 8}
for symbols in [first, second], [second, first], [first, third], [third, first]:
    try:
        found = read("workspace/symbol", symbols)
        print(*(f"{s.name} {getattr(s, 'data', 'no data')}" for s in found), sep=", ")
    except Exception as error:
        print(type(error).__name__)
PY
got=$(python3 t.py)
want="Command(title='Extract', command=\"{'title': 'Rename it', 'command': 'rename', 'arguments': [1]}\", tooltip=None, arguments=None)
a no data, b no data
b 7, a None
ClassValidationError
c 8, a None"
printf '%s\n%s\n' 'One would expect a CodeAction, the data of b, and no error:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
