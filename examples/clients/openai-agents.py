#!/usr/bin/env python3
"""An agent of the OpenAI Agents SDK (`pip install openai-agents`) with codeyard's tool `lsp`.

    openai-agents.py "Who calls accept?"

CODEYARD_URL and CODEYARD_TOKEN say where codeyard serves; with CODEYARD_ROOT, codeyard is started over standard input and output.
The model is that of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_DEFAULT_MODEL.
"""

import asyncio
import os
import sys

from agents import Agent, Runner, set_default_openai_api
from agents.mcp import MCPServer, MCPServerStdio, MCPServerStreamableHttp

URL = os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp/my-repository/agent")
# A question of codeyard's to a person may wait two minutes; all other calls are answered within seconds.
TIMEOUT_S = 150
MAX_TURNS = 60


def codeyard() -> MCPServer:
    root = os.environ.get("CODEYARD_ROOT")
    if root:
        arguments = ["stdio", "--root", root, "--catalog", "agent"]
        command = {"command": "codeyard", "args": arguments}
        return MCPServerStdio(command, name="codeyard", cache_tools_list=True, client_session_timeout_seconds=TIMEOUT_S)
    connection = {"url": URL, "headers": {"Authorization": "Bearer " + os.environ.get("CODEYARD_TOKEN", "")}}
    return MCPServerStreamableHttp(connection, name="codeyard", cache_tools_list=True, client_session_timeout_seconds=TIMEOUT_S)


async def main() -> None:
    set_default_openai_api("chat_completions")
    async with codeyard() as server:
        agent = Agent(name="reader", instructions="Answer from the code. Use the tool lsp.", mcp_servers=[server])
        result = await Runner.run(agent, sys.argv[1], max_turns=MAX_TURNS)
        print(result.final_output)


asyncio.run(main())
