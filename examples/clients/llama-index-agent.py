#!/usr/bin/env python3
"""An agent of LlamaIndex (`pip install llama-index-core llama-index-llms-openai-like llama-index-tools-mcp`) with codeyard's tool `lsp`.

    llama-index-agent.py "Who calls accept?"

CODEYARD_URL and CODEYARD_TOKEN say where codeyard serves; with CODEYARD_ROOT, codeyard is started over standard input and output.
The model is that of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL.
"""

import asyncio
import os
import sys

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

URL = os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp/my-repository/agent")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5")
MAX_STEPS = 150
TIMEOUT_S = 150


def codeyard() -> BasicMCPClient:
    root = os.environ.get("CODEYARD_ROOT")
    if root:
        arguments = ["stdio", "--root", root, "--catalog", "agent"]
        return BasicMCPClient("codeyard", args=arguments, env=dict(os.environ))
    headers = {"Authorization": "Bearer " + os.environ.get("CODEYARD_TOKEN", "")}
    return BasicMCPClient(URL, headers=headers, timeout=TIMEOUT_S)


async def main() -> None:
    tools = await McpToolSpec(codeyard()).to_tool_list_async()
    address = {"api_base": os.environ.get("OPENAI_BASE_URL"), "api_key": os.environ.get("OPENAI_API_KEY")}
    model = OpenAILike(model=MODEL, is_chat_model=True, is_function_calling_model=True, **address)
    agent = FunctionAgent(tools=tools, llm=model, system_prompt="Answer from the code. Use the tool lsp.", timeout=None)
    print(await agent.run(sys.argv[1], max_iterations=MAX_STEPS))


asyncio.run(main())
