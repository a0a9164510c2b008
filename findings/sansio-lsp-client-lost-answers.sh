#!/usr/bin/env bash
# sansio-lsp-client 0.13.0 (PyPI), by which editors in Python speak to language servers
#
# One would expect: answers are returned as they are. LSP 3.17: a completion is a list of items or a CompletionList
#   ("Completion Request"), its items' tags are a list, diagnostics have the version of the text they are for
#   ("PublishDiagnostics Notification"), and by its id an answer belongs to a question, as `message_id` of events
#   shows.
# What happens: a list of items, with which bash-language-server and others answer, is no completion at all, the same
#   as null, without an error; a list of tags is one. Diagnostics lose their version, tags and data, so that old ones
#   can't be told from new ones. The events of references, implementations, declarations, type definitions and
#   workspace symbols have no message_id: of two questions at a time nobody knows which one was answered.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib sansio-lsp-client==0.13.0 pydantic==2.14.4

cat > t.py <<'PY'
import json

from sansio_lsp_client import Client, Position, TextDocumentIdentifier, TextDocumentPosition

def receive(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    [event] = client.recv(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    return event

client = Client(root_uri="file:///project")
receive(id=0, result={"capabilities": {}})
place = TextDocumentPosition(textDocument=TextDocumentIdentifier(uri="file:///a"), position=Position(line=0, character=0))
for result in [{"label": "a"}], {"isIncomplete": False, "items": [{"label": "a"}]}, {"isIncomplete": False, "items": [{"label": "a", "tags": [1]}]}:
    try:
        found = receive(id=client.completion(place), result=result).completion_list
        print("completion:", found and [item.label for item in found.items])
    except Exception as error:
        print("completion:", type(error).__name__)
span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
diagnostic = {"range": span, "message": "m", "tags": [1], "data": 7}
event = receive(method="textDocument/publishDiagnostics", params={"uri": "file:///a", "version": 3, "diagnostics": [diagnostic]})
print("diagnostics:", sorted(event.model_dump(exclude_none=True)), sorted(event.diagnostics[0].model_dump(exclude_none=True)))
for name in "definition", "references", "implementation", "declaration", "typeDefinition":
    event = receive(id=getattr(client, name)(place), result=[])
    print(f"{name}: message_id {getattr(event, 'message_id', None)}")
event = receive(id=client.workspace_symbol("a"), result=[])
print(f"workspace symbols: message_id {getattr(event, 'message_id', None)}")
PY
got=$(python3 t.py)
want="completion: None
completion: ['a']
completion: ValidationError
diagnostics: ['diagnostics', 'uri'] ['message', 'range']
definition: message_id 4
references: message_id None
implementation: message_id None
declaration: message_id None
typeDefinition: message_id None
workspace symbols: message_id None"
printf '%s\n%s\n' 'One would expect three times [a], a version, tags and data, and a number in each other line:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
