#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/client 2.4.0 (npm), mcp 2.3.0 (PyPI): clients over HTTP
#
# One would expect: when a server no longer knows the session, as after its restart, it answers 404 and the client starts
#   a new one (MCP 2025-06-18, "Transports", "Session Management": it must send a new InitializeRequest).
# What happens: none of the three does. The call fails, and so does every later call of that client, each with the id of
#   the session that ended: no second initialize arrives at the server, which would have accepted it.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib mcp==2.3.0
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 zod@4.1.12 >/dev/null

cat > client.mjs <<'JS'
const [kind, url] = process.argv.slice(2);
const { Client } = await import(kind === 'sdk' ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StreamableHTTPClientTransport } = await import(
  kind === 'sdk' ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client');
const client = new Client({ name: 't', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
for (let i = 0; i < 4; i++) {
  await client.listTools().then(() => console.log('answer'), () => console.log('error'));
}
process.exit(0);
JS
cat > client.py <<'PY'
import asyncio, logging, sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

logging.disable()


async def main():
    async with streamable_http_client(sys.argv[1]) as (read, write, *_), ClientSession(read, write) as session:
        await session.initialize()
        for _ in range(4):
            try:
                await session.list_tools()
                print("answer")
            except Exception:
                print("error")


asyncio.run(main())
PY
cat > t.py <<'PY'
import http.server, json, subprocess, threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions, known, lists = 0, None, 0

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, kind = message.get("method"), type(self)
        session = self.headers.get("mcp-session-id")
        if method == "initialize":
            kind.sessions += 1
            kind.known = f"s{kind.sessions}"
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
            return self.say(200, {"jsonrpc": "2.0", "id": message["id"], "result": result}, kind.known)
        if method == "tools/list" and session:
            kind.lists += 1
            if kind.lists == 2:
                kind.known = None  # the server was started again
        if session is None or session != kind.known:
            return self.say(404 if session else 400, None)
        if "id" not in message:
            return self.say(202, None)
        self.say(200, {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}})

    def do_GET(self):
        self.say(405, None)

    def do_DELETE(self):
        self.say(200, None)

    def say(self, code, body, session=None):
        data = json.dumps(body).encode() if body else b""
        self.send_response(code)
        self.send_header("content-length", str(len(data)))
        if body:
            self.send_header("content-type", "application/json")
        if session:
            self.send_header("mcp-session-id", session)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


for name, command in (("sdk 1", ["node", "client.mjs", "sdk"]), ("client 2", ["node", "client.mjs", "client"]),
                      ("Python", ["python3", "client.py"])):
    kind = type(name, (Handler,), {})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.handle_error = lambda *_: None  # clients that end without closing their connections
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/mcp"
    ran = subprocess.run([*command, url], capture_output=True, text=True, timeout=60)
    print(f"{name}:", *ran.stdout.split(), f"({kind.sessions} initialize)")
    server.shutdown()
    server.server_close()
PY
got=$(python3 t.py)
want='sdk 1: answer error error error (1 initialize)
client 2: answer error error error (1 initialize)
Python: answer error error error (1 initialize)'
printf '%s\n%s\n' 'One would expect at most one error, and a second initialize:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
