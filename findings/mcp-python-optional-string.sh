#!/usr/bin/env bash
# mcp 2.3.0 (PyPI), the Python SDK of MCP, MCPServer tools
#
# One would expect: a tool with a parameter `text: str | None` gets the string that the client sent. The schema that the
#   SDK lists for it says that strings are accepted.
# What happens: if the annotation isn't exactly `str`, strings that are JSON are parsed before they are checked. The
#   text "null" arrives as None. A text that is a JSON object or list (a file's content, say) is refused as "not a valid
#   string". With `str | list[str]` the text ["a"] arrives as a list. With `text: str` all three arrive as sent.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib mcp==2.3.0

cat > t.py <<'PY'
import asyncio, logging

from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer

logging.disable()
server = MCPServer("t")


@server.tool()
def plain(text: str) -> str:
    return repr(text)


@server.tool()
def optional(text: str | None = None) -> str:
    return repr(text)


@server.tool()
def either(text: str | list[str]) -> str:
    return repr(text)


async def main():
    async with Client(server) as client:
        for tool in "plain", "optional", "either":
            for text in "null", '{"a": 1}', '["a"]':
                result = await client.call_tool(tool, {"text": text})
                print(tool, text, "->", "refused" if result.is_error else result.content[0].text)


asyncio.run(main())
PY
got=$(python3 t.py)
want="plain null -> 'null'
plain {\"a\": 1} -> '{\"a\": 1}'
plain [\"a\"] -> '[\"a\"]'
optional null -> None
optional {\"a\": 1} -> refused
optional [\"a\"] -> refused
either null -> refused
either {\"a\": 1} -> refused
either [\"a\"] -> ['a']"
printf '%s\n%s\n' 'One would expect the text itself, nine times:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
