#!/usr/bin/env python3
"""An agent of smolagents (`pip install 'smolagents[mcp,openai]' 'mcp<2'`) with codeyard's tool `lsp`.

    smolagents-agent.py "Who calls accept?"

CODEYARD_URL and CODEYARD_TOKEN say where codeyard serves; with CODEYARD_ROOT, codeyard is started over standard input and output.
The model is that of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL.
"""

import os
import sys

from mcp import StdioServerParameters
from smolagents import MCPClient, OpenAIModel, ToolCallingAgent

URL = os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp/my-repository/agent")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5")
MAX_STEPS = 150


def connection() -> StdioServerParameters | dict:
    root = os.environ.get("CODEYARD_ROOT")
    if root:
        arguments = ["stdio", "--root", root, "--catalog", "agent"]
        return StdioServerParameters(command="codeyard", args=arguments, env=dict(os.environ))
    headers = {"Authorization": "Bearer " + os.environ.get("CODEYARD_TOKEN", "")}
    return {"url": URL, "transport": "streamable-http", "headers": headers}


def main() -> None:
    model = OpenAIModel(MODEL, api_base=os.environ.get("OPENAI_BASE_URL"))
    # The text of an answer says more than its structured content: how an error can be avoided, and when to ask again.
    with MCPClient(connection(), structured_output=False) as tools:
        # Otherwise a call needs all arguments of the tool.
        for tool in tools:
            for name, argument in tool.inputs.items():
                argument["nullable"] = name != "operation"
        agent = ToolCallingAgent(tools, model, instructions="Answer from the code. Use the tool lsp.", max_steps=MAX_STEPS)
        print(agent.run(sys.argv[1]))


main()
