#!/usr/bin/env python3
"""An agent of Haystack (`pip install mcp-haystack`) with codeyard's tool `lsp`.

    haystack-agent.py "Who calls accept?"

CODEYARD_URL and CODEYARD_TOKEN say where codeyard serves; with CODEYARD_ROOT, codeyard is started over standard input and output.
The model is that of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL.
"""

import os
import sys

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret
from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo, StreamableHttpServerInfo

URL = os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp/my-repository/agent")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5")
MAX_STEPS = 150


def connection() -> StdioServerInfo | StreamableHttpServerInfo:
    root = os.environ.get("CODEYARD_ROOT")
    if root:
        arguments = ["stdio", "--root", root, "--catalog", "agent"]
        return StdioServerInfo(command="codeyard", args=arguments, env=dict(os.environ))
    return StreamableHttpServerInfo(url=URL, token=Secret.from_env_var("CODEYARD_TOKEN"))


def main() -> None:
    model = OpenAIChatGenerator(model=MODEL, api_base_url=os.environ.get("OPENAI_BASE_URL"))
    tools = MCPToolset(connection(), invocation_timeout=150)
    agent = Agent(
        chat_generator=model,
        tools=tools,
        system_prompt="Answer from the code. Use the tool lsp.",
        max_agent_steps=MAX_STEPS,
        # Otherwise an answer that says when to ask again ends the run.
        raise_on_tool_invocation_failure=False,
    )
    print(agent.run(messages=[ChatMessage.from_user(sys.argv[1])])["last_message"].text)
    tools.close()


main()
