#!/usr/bin/env bash
# mcp 2.3.0 (PyPI), the Python SDK of MCP, ClientSessionGroup
#
# One would expect: the group offers all tools of its servers (its documentation: it aggregates tools, resources and
#   prompts of the servers). A server may list them in pages (MCP 2025-06-18, "Pagination": clients should support it).
# What happens: the group reads the first page of each list and ignores nextCursor. Tools of later pages aren't in
#   group.tools, and calling one by the group is a KeyError. No warning.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib mcp==2.3.0

cat > server.py <<'PY'
import json, sys

pages = {None: ("one", "next"), "next": ("two", None)}
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    elif message["method"] == "tools/list":
        name, cursor = pages[(message.get("params") or {}).get("cursor")]
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}}], **({"nextCursor": cursor} if cursor else {})}
    elif message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": message["params"]["name"]}]}
    else:
        result = {message["method"].split("/")[0]: []}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
PY
cat > t.py <<'PY'
import asyncio

from mcp import ClientSessionGroup, StdioServerParameters


async def main():
    async with ClientSessionGroup() as group:
        await group.connect_to_server(StdioServerParameters(command="python3", args=["server.py"]))
        print("tools:", *group.tools)
        for name in "one", "two":
            try:
                print(name, "->", (await group.call_tool(name, {})).content[0].text)
            except KeyError as error:
                print(name, "-> KeyError", error)


asyncio.run(main())
PY
got=$(python3 t.py)
want="tools: one
one -> one
two -> KeyError 'two'"
printf '%s\n%s\n' 'One would expect the tools one and two:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
