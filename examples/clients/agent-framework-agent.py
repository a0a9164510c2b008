#!/usr/bin/env python3
"""An agent of Microsoft's Agent Framework (`pip install agent-framework-openai mcp tenacity`) with codeyard's tool `lsp`.

    agent-framework-agent.py "Who calls accept?"

CODEYARD_URL and CODEYARD_TOKEN say where codeyard serves; with CODEYARD_ROOT, codeyard is started over standard input and output.
The model is that of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL.
"""

import asyncio
import os
import sys

from agent_framework import Agent, MCPStdioTool, MCPStreamableHTTPTool
from agent_framework.openai import OpenAIChatCompletionClient

URL = os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp/my-repository/agent")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5")
TIMEOUT_S = 150
LIMITS = {
    # Otherwise the model learns of an error only that there was one.
    "include_detailed_errors": True,
    # An answer that says when to ask again counts as an error: a language server that starts may need several.
    "max_consecutive_errors_per_request": 10,
    "max_iterations": 150,
}


def codeyard() -> MCPStdioTool | MCPStreamableHTTPTool:
    root = os.environ.get("CODEYARD_ROOT")
    if root:
        arguments = ["stdio", "--root", root, "--catalog", "agent"]
        return MCPStdioTool("codeyard", "codeyard", args=arguments, env=dict(os.environ), load_prompts=False)
    headers = {"Authorization": "Bearer " + os.environ.get("CODEYARD_TOKEN", "")}
    return MCPStreamableHTTPTool("codeyard", URL, static_headers=headers, request_timeout=TIMEOUT_S, load_prompts=False)


async def main() -> None:
    client = OpenAIChatCompletionClient(MODEL, function_invocation_configuration=LIMITS)
    async with codeyard() as tools:
        agent = Agent(client, "Answer from the code. Use the tool lsp.", name="reader", tools=tools)
        print(await agent.run(sys.argv[1]))


asyncio.run(main())
