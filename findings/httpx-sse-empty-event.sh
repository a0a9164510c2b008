#!/usr/bin/env bash
# httpx-sse 0.4.3 with httpx 0.28.1 (PyPI)
#
# One would expect: a block without a `data` field sets the id, the retry time or the event type and dispatches
#   nothing (HTML, "Server-sent events", section "Interpreting an event stream": an empty data buffer ends the step).
# What happens: it is delivered as an event with data "". A client that parses the data of each event as JSON-RPC
#   fails at a block that only gives an id or a retry time, with which servers open a resumable stream.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib httpx-sse==0.4.3 httpx==0.28.1

cat > t.py <<'PY'
import httpx, httpx_sse

stream = b"id: 1\n\nretry: 500\n\nevent: note\n\nid: 2\ndata: {}\n\n"
answer = lambda request: httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream)
with httpx.Client(transport=httpx.MockTransport(answer)) as client:
    with httpx_sse.connect_sse(client, "GET", "http://localhost/") as source:
        for e in source.iter_sse():
            print(f"{e.event} id={e.id} data={e.data!r}")
PY
got=$(python3 t.py)
want="message id=1 data=''
message id=1 data=''
note id=1 data=''
message id=2 data='{}'"
printf 'One would expect the last line only:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
