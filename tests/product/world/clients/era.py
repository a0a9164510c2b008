"""One session of an official Python client of any version, as a plan says; the observations are printed as one line of JSON.

usage: python3 era.py PLAN.json

It checks nothing: the test that started it knows the expected answers.
"""

import asyncio
import contextlib
import json
import sys

import anyio

try:
    from mcp import Client
except ImportError:
    Client = None

with open(sys.argv[1], encoding="utf-8") as plan_file:
    PLAN = json.load(plan_file)
HEADERS = {"Authorization": f"Bearer {PLAN.get('token')}"}
REPORT = {"questions": []}


class FirstVersion:
    """Clients before 2.0: a session over two streams."""

    @contextlib.asynccontextmanager
    async def connect(self):
        from mcp import ClientSession, StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamablehttp_client
        from mcp.types import ElicitResult

        async def answer(_context, params):
            REPORT["questions"].append(params.model_dump(mode="json", by_alias=True, exclude_none=True))
            return ElicitResult(action="accept", content={"decision": "once"})

        if "url" in PLAN:
            streams = streamablehttp_client(PLAN["url"], headers=HEADERS)
        else:
            streams = stdio_client(StdioServerParameters(command=PLAN["command"], args=PLAN["args"], env=PLAN["env"]))
        async with streams as (read, write, *_), ClientSession(read, write, elicitation_callback=answer) as session:
            REPORT["protocol"] = (await session.initialize()).protocolVersion
            yield session

    @staticmethod
    def fields(answer):
        return answer.content, answer.structuredContent, bool(answer.isError)

    @staticmethod
    def has_schema(tool):
        return tool.outputSchema is not None


class SecondVersion:
    """Clients from 2.0 on."""

    @contextlib.asynccontextmanager
    async def connect(self):
        import httpx2
        from mcp import StdioServerParameters
        from mcp.client.streamable_http import streamable_http_client
        from mcp_types import ElicitResult

        async def answer(_context, params):
            REPORT["questions"].append(params.model_dump(mode="json", by_alias=True, exclude_none=True))
            return ElicitResult(action="accept", content={"decision": "once"})

        async with contextlib.AsyncExitStack() as stack:
            if "url" in PLAN:
                http = await stack.enter_async_context(httpx2.AsyncClient(headers=HEADERS, timeout=httpx2.Timeout(60)))
                server = streamable_http_client(PLAN["url"], http_client=http)
            else:
                server = StdioServerParameters(command=PLAN["command"], args=PLAN["args"], env=PLAN["env"])
            client = await stack.enter_async_context(Client(server, mode="auto", elicitation_callback=answer))
            REPORT["protocol"] = client.protocol_version
            yield client

    @staticmethod
    def fields(answer):
        return answer.content, answer.structured_content, bool(answer.is_error)

    @staticmethod
    def has_schema(tool):
        return tool.output_schema is not None


VERSION = FirstVersion() if Client is None else SecondVersion()


def summary(answer):
    content, structured, is_error = VERSION.fields(answer)
    text = content[0].text if content else None
    return {"text": text, "structuredContent": structured, "isError": is_error}


async def ask(client, call):
    """Calls again while the server says when to."""
    for _ in range(60):
        answer = summary(await client.call_tool(call["tool"], call["arguments"]))
        error = ((answer["structuredContent"] or {}).get("metadata") or {}).get("error") or {}
        if "retryAfterMs" not in error:
            return answer
        await asyncio.sleep(min(error["retryAfterMs"], 2000) / 1000)
    raise RuntimeError(f"{call['tool']}: no answer")


async def cancelled(client):
    """Cancels a call that is never answered, at its first progress."""
    REPORT["progress"] = 0
    with anyio.CancelScope() as scope:

        async def enough(_progress, _total, _message):
            REPORT["progress"] += 1
            scope.cancel()

        with contextlib.suppress(Exception):
            await client.call_tool(PLAN["silent"]["tool"], PLAN["silent"]["arguments"], progress_callback=enough)
    return scope.cancelled_caught


async def main():
    async with VERSION.connect() as client:
        listed = (await client.list_tools()).tools
        REPORT["tools"] = [tool.name for tool in listed]
        REPORT["outputSchemas"] = sum(VERSION.has_schema(tool) for tool in listed)
        REPORT["answers"] = {}
        for call in PLAN["calls"]:
            REPORT["answers"][call["name"]] = await ask(client, call)
        REPORT["cancelled"] = await cancelled(client)
        REPORT["after"] = (await ask(client, PLAN["calls"][0]))["isError"]
    print(json.dumps(REPORT))


asyncio.run(main())
