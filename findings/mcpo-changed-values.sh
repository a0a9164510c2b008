#!/usr/bin/env bash
# mcpo 0.0.20 (PyPI), which serves the tools of MCP servers by OpenAPI, with mcp 1.26.0 and fastapi 0.128.0
#
# One would expect: a tool gets the arguments that were sent, and its text comes back as text: content of type "text"
#   is a string (MCP 2025-11-25, "Tool Result"), and an input schema without additionalProperties allows others.
# What happens: text that can be read as JSON is: the version 3.10 becomes 3.1, a quoted word loses its quotes, 1e400
#   (a commit may be called so) and NaN become null. An argument that is null isn't sent, so that the tool takes its
#   default in place of "no limit"; one that isn't among the properties isn't either, and a tool that takes any object
#   gets {}. Defaults that the schema names are sent as if the caller had given them.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib mcpo==0.0.20 mcp==1.26.0 fastapi==0.128.0 starlette==0.50.0

cat > server.py <<'PY'
import asyncio, json

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

server = Server("server")
limit = {"type": ["integer", "null"], "default": 10}

@server.list_tools()
async def tools():
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return [types.Tool(name="say", inputSchema=text),
            types.Tool(name="search", inputSchema={"type": "object", "properties": {"limit": limit}}),
            types.Tool(name="anything", inputSchema={"type": "object"})]

@server.call_tool(validate_input=False)
async def call(name, arguments):
    text = arguments["text"] if name == "say" else f"{name} got {json.dumps(arguments)}"
    return [types.TextContent(type="text", text=text)]

async def main():
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())

asyncio.run(main())
PY
cat > t.py <<'PY'
import json, os, signal, socket, subprocess, sys, time, urllib.request

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
command = ["lib/bin/mcpo", "--host", "127.0.0.1", "--port", str(port), "--", sys.executable, "server.py"]
process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

def ask(path, arguments=None):
    body = None if arguments is None else json.dumps(arguments).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}", body, {"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=60).read().decode()

try:
    end = time.time() + 120
    while True:
        try:
            ask("openapi.json")
            break
        except OSError:
            if time.time() > end:
                raise
            time.sleep(0.3)
    for text in "3.10", '"quoted"', "1e400", "NaN":
        print(f"{json.dumps(text)} -> {ask('say', {'text': text})}")
    for tool, arguments in ("search", {"limit": None}), ("search", {"other": 1}), ("anything", {"a": 1}):
        print(f"{json.dumps(arguments)} -> {json.loads(ask(tool, arguments))}")
finally:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
PY
got=$(python3 t.py)
want='"3.10" -> 3.1
"\"quoted\"" -> "quoted"
"1e400" -> null
"NaN" -> null
{"limit": null} -> search got {}
{"other": 1} -> search got {"limit": 10}
{"a": 1} -> anything got {}'
printf '%s\n%s\n' 'One would expect the same text in the first four lines, and the same arguments in the others:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
