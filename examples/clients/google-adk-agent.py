#!/usr/bin/env python3
"""An agent of Google's ADK (`pip install 'google-adk[mcp]'`) with codeyard's tool `lsp`.

    google-adk-agent.py "Who calls accept?"

CODEYARD_URL and CODEYARD_TOKEN say where codeyard serves; with CODEYARD_ROOT, codeyard is started over standard input and output.
The model is that of GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL and GEMINI_MODEL.
"""

import asyncio
import os
import sys

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from google.genai import types
from mcp import StdioServerParameters

URL = os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp/my-repository/agent")
MODEL = os.environ.get("GEMINI_MODEL", "gemini-2.5-flash")
TIMEOUT_S = 150


def connection() -> StdioConnectionParams | StreamableHTTPConnectionParams:
    root = os.environ.get("CODEYARD_ROOT")
    if root:
        arguments = ["stdio", "--root", root, "--catalog", "agent"]
        server = StdioServerParameters(command="codeyard", args=arguments, env=dict(os.environ))
        return StdioConnectionParams(server_params=server, timeout=TIMEOUT_S)
    headers = {"Authorization": "Bearer " + os.environ.get("CODEYARD_TOKEN", "")}
    return StreamableHTTPConnectionParams(url=URL, headers=headers, timeout=TIMEOUT_S)


async def main() -> None:
    toolset = McpToolset(connection_params=connection())
    agent = LlmAgent(name="reader", model=MODEL, instruction="Answer from the code. Use the tool lsp.", tools=[toolset])
    runner = InMemoryRunner(agent=agent, app_name="reader")
    session = await runner.session_service.create_session(app_name="reader", user_id="me")
    question = types.Content(role="user", parts=[types.Part(text=sys.argv[1])])
    run = runner.run_async(user_id="me", session_id=session.id, new_message=question, run_config=RunConfig(max_llm_calls=200))
    async for event in run:
        if event.is_final_response() and event.content:
            print("".join(part.text or "" for part in event.content.parts or []))
    await toolset.close()


asyncio.run(main())
