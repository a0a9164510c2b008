#!/usr/bin/env python3
"""An agent of Pydantic AI (`pip install 'pydantic-ai-slim[openai,mcp]'`) with codeyard's tool `lsp`.

    pydantic-ai.py "Who calls accept?"

CODEYARD_URL and CODEYARD_TOKEN say where codeyard serves; with CODEYARD_ROOT, codeyard is started over standard input and output.
The model is that of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL.
"""

import asyncio
import os
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.usage import UsageLimits

URL = os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp/my-repository/agent")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5")
MAX_REQUESTS = 80
# An error of a tool counts as a try: a language server that starts may need several.
MAX_RETRIES = 10


def codeyard() -> MCPToolset:
    root = os.environ.get("CODEYARD_ROOT")
    if root:
        arguments = ["stdio", "--root", root, "--catalog", "agent"]
        return MCPToolset(StdioTransport("codeyard", arguments), max_retries=MAX_RETRIES)
    headers = {"Authorization": "Bearer " + os.environ.get("CODEYARD_TOKEN", "")}
    return MCPToolset(URL, headers=headers, max_retries=MAX_RETRIES)


async def main() -> None:
    toolset = codeyard()
    agent = Agent(OpenAIChatModel(MODEL), toolsets=[toolset], instructions="Answer from the code. Use the tool lsp.")
    async with agent:
        result = await agent.run(sys.argv[1], usage_limits=UsageLimits(request_limit=MAX_REQUESTS))
        print(result.output)


asyncio.run(main())
