#!/usr/bin/env bash
# sseclient-py 1.9.0 (PyPI)
#
# One would expect: if the connection ends in the middle of an event, that event is discarded (HTML, "Server-sent
#   events", section "Interpreting an event stream", on the end of the file), and the last id is kept until another
#   one is set, so that the client can resume after it.
# What happens: the half event is delivered like a whole one, with its id, so a client that resumes after this id
#   never gets the rest. An event without an id has id None, not the last one.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib sseclient-py==1.9.0

cat > t.py <<'PY'
import sseclient

chunks = [b"id: 7\ndata: a\n\n", b"data: b\n\n", b"id: 8\ndata: first li"]  # the connection breaks here
for e in sseclient.SSEClient(iter(chunks)).events():
    print(f"id={e.id} data={e.data!r}")
PY
got=$(python3 t.py)
want="id=7 data='a'
id=None data='b'
id=8 data='first li'"
printf 'One would expect id 7 twice and no third line:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
