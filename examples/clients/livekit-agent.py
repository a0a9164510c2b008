#!/usr/bin/env python3
"""An agent of LiveKit (`pip install 'livekit-agents[mcp,openai]'`), in text, with codeyard's tool `lsp`.

    livekit-agent.py "Who calls accept?"

CODEYARD_URL and CODEYARD_TOKEN say where codeyard serves; with CODEYARD_ROOT, codeyard is started over standard input and output.
The model is that of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL.
"""

import asyncio
import os
import sys

from livekit.agents import Agent, AgentSession
from livekit.agents.llm.mcp import MCPServer, MCPServerHTTP, MCPServerStdio, MCPToolset
from livekit.plugins import openai

URL = os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp/my-repository/agent")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5")
TIMEOUT_S = 150
MAX_STEPS = 150


def codeyard() -> MCPServer:
    root = os.environ.get("CODEYARD_ROOT")
    if root:
        arguments = ["stdio", "--root", root, "--catalog", "agent"]
        return MCPServerStdio("codeyard", arguments, env=dict(os.environ), client_session_timeout_seconds=TIMEOUT_S)
    headers = {"Authorization": "Bearer " + os.environ.get("CODEYARD_TOKEN", "")}
    # Without `transport_type` only an address that ends with `mcp` is one of streamable HTTP.
    return MCPServerHTTP(URL, "streamable_http", headers=headers, client_session_timeout_seconds=TIMEOUT_S)


async def main() -> None:
    tools = MCPToolset(id="codeyard", mcp_server=codeyard())
    agent = Agent(instructions="Answer from the code. Use the tool lsp.", tools=[tools])
    async with AgentSession(llm=openai.LLM(model=MODEL), max_tool_steps=MAX_STEPS) as session:
        await session.start(agent)
        result = await session.run(user_input=sys.argv[1])
        print(result.events[-1].item.text_content)


asyncio.run(main())
