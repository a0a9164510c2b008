#!/usr/bin/env bash
# crewai 1.15.30 (PyPI, Python 3.10 to 3.13) with mcp 1.30.0, on Python 3.11
#
# One would expect: an agent with mcps=[MCPServerHTTP(url=...)] (its documentation: native MCP support) gives its model
#   the answer of the tool that it calls.
# What happens: on Python 3.11 the model gets "Error executing tool: ... Error during MCP client disconnect: no running
#   event loop" in place of each answer, although the server has answered. The connection is opened within
#   asyncio.wait_for, which is a task of its own before Python 3.12, and closed outside of it, which anyio refuses;
#   crewai then reports an older exception that happens to be the context. The same agent on Python 3.12 gets "3".
set -euo pipefail
tmp=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1 CREWAI_DISABLE_TELEMETRY=true
python=$(command -v python3.11) || { echo "this needs python3.11"; exit 2; }
"$python" -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib crewai==1.15.30 mcp==1.30.0

cat > server.py <<'PY'
import socket

import uvicorn
from mcp.server.fastmcp import FastMCP

server = FastMCP("server")

@server.tool()
def add(a: int, b: int) -> str:
    return str(a + b)

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run([listener])
PY
cat > t.py <<'PY'
import sys

from crewai import Agent, BaseLLM
from crewai.mcp import MCPServerHTTP


class Model(BaseLLM):
    """Calls the tool, then answers with what it sees."""

    def supports_function_calling(self):
        return True

    def call(self, messages, tools=None, **_):
        seen = [message["content"] for message in messages if message["role"] == "tool"]
        if seen:
            return seen[0]
        function = {"name": tools[0]["function"]["name"], "arguments": '{"a": 1, "b": 2}'}
        return [{"id": "1", "type": "function", "function": function}]


mcps = [MCPServerHTTP(url=f"http://127.0.0.1:{sys.argv[1]}/mcp")]
agent = Agent(role="r", goal="g", backstory="b", llm=Model(model="m"), mcps=mcps)
print("the model sees:", agent.kickoff("Add 1 and 2.").raw)
PY
"$python" server.py >port 2>server.log &
server=$!
while [ ! -s port ]; do kill -0 "$server"; sleep 0.2; done
got=$("$python" t.py "$(cat port)" 2>t.log | grep '^the model sees')
want="the model sees: Error executing tool: Error executing MCP tool add: Error during MCP client disconnect: no running event loop"
printf '%s\n%s\n' 'One would expect that the model sees 3:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
