#!/usr/bin/env python3
"""An agent of LangChain (`pip install langchain langchain-openai langchain-mcp-adapters`) with codeyard's tool `lsp`.

    langchain-agent.py "Who calls accept?"

CODEYARD_URL and CODEYARD_TOKEN say where codeyard serves; with CODEYARD_ROOT, codeyard is started over standard input and output.
The model is that of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL.
"""

import asyncio
import os
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

URL = os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp/my-repository/agent")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5")
# LangGraph's count of steps; a call of a tool takes two.
MAX_STEPS = 150


def connection() -> dict:
    root = os.environ.get("CODEYARD_ROOT")
    if root:
        arguments = ["stdio", "--root", root, "--catalog", "agent"]
        return {"transport": "stdio", "command": "codeyard", "args": arguments, "env": dict(os.environ)}
    headers = {"Authorization": "Bearer " + os.environ.get("CODEYARD_TOKEN", "")}
    return {"transport": "streamable_http", "url": URL, "headers": headers}


async def main() -> None:
    client = MultiServerMCPClient({"codeyard": connection()})
    # One session for all calls: `client.get_tools()` would begin one for each call.
    async with client.session("codeyard") as session:
        tools = await load_mcp_tools(session)
        agent = create_agent("openai:" + MODEL, tools, system_prompt="Answer from the code. Use the tool lsp.")
        question = {"messages": [{"role": "user", "content": sys.argv[1]}]}
        result = await agent.ainvoke(question, {"recursion_limit": MAX_STEPS})
        print(result["messages"][-1].content)


asyncio.run(main())
