#!/usr/bin/env python3
"""An agent of CrewAI (`pip install crewai mcp`, Python 3.12) with codeyard's tool `lsp`.

    crewai-agent.py "Who calls accept?"

CODEYARD_URL and CODEYARD_TOKEN say where codeyard serves; with CODEYARD_ROOT, codeyard is started over standard input and output.
The model is that of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL.
"""

import os
import sys

from crewai import LLM, Agent
from crewai.mcp import MCPServerHTTP, MCPServerStdio

URL = os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp/my-repository/agent")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5")
MAX_STEPS = 150


def codeyard() -> MCPServerHTTP | MCPServerStdio:
    root = os.environ.get("CODEYARD_ROOT")
    if root:
        # The tool's name begins with the command, and is cut if it is long.
        os.chdir(root)
        root = "."
        arguments = ["stdio", "--root", root, "--catalog", "agent"]
        return MCPServerStdio(command="codeyard", args=arguments, env=dict(os.environ))
    return MCPServerHTTP(url=URL, headers={"Authorization": "Bearer " + os.environ.get("CODEYARD_TOKEN", "")})


def main() -> None:
    agent = Agent(
        role="reader",
        goal="Answer from the code.",
        backstory="You use the tool lsp.",
        llm=LLM(model="openai/" + MODEL, base_url=os.environ.get("OPENAI_BASE_URL")),
        mcps=[codeyard()],
        max_iter=MAX_STEPS,
    )
    print(agent.kickoff(sys.argv[1]).raw)


main()
