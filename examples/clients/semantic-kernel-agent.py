#!/usr/bin/env python3
"""An agent of Semantic Kernel (`pip install 'semantic-kernel[mcp]'`) with codeyard's tool `lsp`.

    semantic-kernel-agent.py "Who calls accept?"

CODEYARD_URL and CODEYARD_TOKEN say where codeyard serves; with CODEYARD_ROOT, codeyard is started over standard input and output.
The model is that of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL.
"""

import asyncio
import os
import sys

from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin

URL = os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp/my-repository/agent")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5")
TIMEOUT_S = 150
MAX_STEPS = 150


def codeyard() -> MCPStdioPlugin | MCPStreamableHttpPlugin:
    root = os.environ.get("CODEYARD_ROOT")
    if root:
        arguments = ["stdio", "--root", root, "--catalog", "agent"]
        return MCPStdioPlugin("codeyard", "codeyard", args=arguments, env=dict(os.environ), load_prompts=False)
    headers = {"Authorization": "Bearer " + os.environ.get("CODEYARD_TOKEN", "")}
    return MCPStreamableHttpPlugin("codeyard", URL, headers=headers, request_timeout=TIMEOUT_S, load_prompts=False)


async def main() -> None:
    async with codeyard() as tools:
        agent = ChatCompletionAgent(
            service=OpenAIChatCompletion(ai_model_id=MODEL),
            name="reader",
            instructions="Answer from the code. Use the tool lsp.",
            plugins=[tools],
            function_choice_behavior=FunctionChoiceBehavior.Auto(maximum_auto_invoke_attempts=MAX_STEPS),
        )
        print(await agent.get_response(messages=sys.argv[1]))


asyncio.run(main())
