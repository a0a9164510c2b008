#!/usr/bin/env bash
# llama-index-tools-mcp 0.6.0 (PyPI) with llama-index-core 0.14.25 and mcp 2.3.0
#
# One would expect: when a server answers a call with a JSON-RPC error, BasicMCPClient.call_tool raises what the session
#   of the SDK raises, MCPError with the server's message (the SDK's documentation of ClientSession), so that an agent
#   can show the message to its model.
# What happens: the exception is an ExceptionGroup of the transport's task group, once or several times nested, and its
#   text is "unhandled errors in a TaskGroup (1 sub-exception)". That is what a model of FunctionAgent sees of every
#   JSON-RPC error. An error in the result (isError) keeps its text.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib llama-index-tools-mcp==0.6.0 llama-index-core==0.14.25 mcp==2.3.0

cat > server.py <<'PY'
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "no such method"}}
    if message["method"] == "initialize":
        answer = {"result": {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}}
    elif message["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("error", "result")]}}
    elif message["method"] == "tools/call" and message["params"]["name"] == "error":
        answer = {"error": {"code": -32602, "message": "line 9 is beyond the end"}}
    elif message["method"] == "tools/call":
        answer = {"result": {"content": [{"type": "text", "text": "line 9 is beyond the end"}], "isError": True}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
PY
cat > t.py <<'PY'
import asyncio

from llama_index.tools.mcp import BasicMCPClient


async def main():
    client = BasicMCPClient("python3", args=["server.py"])
    try:
        print("JSON-RPC error:", await client.call_tool("error", {}))
    except BaseException as error:
        print("JSON-RPC error:", type(error).__name__, "-", error)
    print("error in the result:", (await client.call_tool("result", {})).content[0].text)


asyncio.run(main())
PY
got=$(python3 t.py)
want="JSON-RPC error: ExceptionGroup - unhandled errors in a TaskGroup (1 sub-exception)
error in the result: line 9 is beyond the end"
printf '%s\n%s\n' 'One would expect "line 9 is beyond the end" for both:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
