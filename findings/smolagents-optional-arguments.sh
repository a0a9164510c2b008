#!/usr/bin/env bash
# smolagents 1.26.0 (PyPI) with mcpadapt 0.1.19 and mcp 1.30.0, tools of an MCP server
#
# One would expect: an argument that the input schema of a tool doesn't list under "required" can be left out (MCP
#   2025-06-18, "Tool": inputSchema is a JSON Schema). MCPClient makes the tools of a server tools of an agent.
# What happens: "required" is dropped, and the model is told that all arguments are required. A call without an optional
#   one is refused before it reaches the server, whether the server has a default or not; null isn't taken either. With
#   nullable set on each optional argument of the tool, the same call is answered.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib smolagents==1.26.0 mcpadapt==0.1.19 mcp==1.30.0

cat > server.py <<'PY'
from mcp.server.fastmcp import FastMCP

server = FastMCP("server", log_level="ERROR")

@server.tool()
def search(text: str, limit: int = 10) -> str:
    return f"{limit} hits of {text}"

server.run()
PY
cat > t.py <<'PY'
import os

from mcp import StdioServerParameters
from smolagents import MCPClient
from smolagents.models import get_tool_json_schema
from smolagents.tools import validate_tool_arguments


def call(tool, arguments):
    try:
        validate_tool_arguments(tool, arguments)  # as an agent does before each call
        return tool(**arguments)
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


with MCPClient(StdioServerParameters(command="python3", args=["server.py"], env=dict(os.environ)), structured_output=False) as (tool,):
    print("required:", get_tool_json_schema(tool)["function"]["parameters"]["required"])
    print("left out:", call(tool, {"text": "a"}))
    print("null:", call(tool, {"text": "a", "limit": None}))
    tool.inputs["limit"]["nullable"] = True
    print("left out, nullable:", call(tool, {"text": "a"}))
PY
got=$(python3 t.py)
want="required: ['text', 'limit']
left out: ValueError: Argument limit is required
null: TypeError: Argument limit has type 'null' but should be 'integer'
left out, nullable: 10 hits of a"
printf '%s\n%s\n' "One would expect required: ['text'], and 10 hits of a where limit is left out:" "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
