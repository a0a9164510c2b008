"""Sessions of the official Python client, as a plan says; the observations are printed as one line of JSON.

usage: python3 session.py PLAN.json

It checks nothing: the test that started it knows the expected answers.
"""

import asyncio
import contextlib
import json
import sys

import anyio
import httpx2
import jsonschema
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

with open(sys.argv[1], encoding="utf-8") as plan_file:
    PLAN = json.load(plan_file)
HEADERS = {"Authorization": f"Bearer {PLAN.get('token')}"}


@contextlib.asynccontextmanager
async def connect(*, end_session):
    """A client with its observed session ids."""
    sessions = []

    async def note(request):
        session = request.headers.get("mcp-session-id")
        if session is not None and session not in sessions:
            sessions.append(session)

    if "url" not in PLAN:
        server = StdioServerParameters(command=PLAN["command"], args=PLAN["args"], env=PLAN["env"])
        async with Client(server, mode=PLAN["mode"]) as client:
            yield client, sessions
        return
    http = httpx2.AsyncClient(headers=HEADERS, timeout=httpx2.Timeout(60), event_hooks={"request": [note]})
    async with http:
        transport = streamable_http_client(PLAN["url"], http_client=http, terminate_on_close=end_session)
        async with Client(transport, mode=PLAN["mode"]) as client:
            yield client, sessions


def error_report(error):
    return {"code": error.error.code, "message": error.error.message, "data": error.error.data}


async def refusal(client, question):
    """The error of a call that must fail."""
    try:
        answer = await client.call_tool(question["tool"], question["arguments"])
    except MCPError as error:
        return error_report(error)
    return {"unexpected": answer.model_dump(mode="json")}


async def ask(client, question):
    """Retries while the server answers with a timeout."""
    for _ in range(60):
        try:
            return await client.call_tool(question["tool"], question["arguments"])
        except MCPError as error:
            details = (error.error.data or {}).get("details", {})
            if details.get("reason") != "timeout":
                raise
            await asyncio.sleep(min(details["retryAfterMs"], 2000) / 1000)
    raise RuntimeError(f"{question['tool']}: no answer")


async def page(client, paged, cursor):
    arguments = {**paged["arguments"], "pageSize": paged["pageSize"], "cursor": cursor}
    return (await ask(client, {"tool": paged["tool"], "arguments": arguments})).structured_content


def fits(schema, content):
    return jsonschema.Draft202012Validator(schema).is_valid(content)


async def listing(client, report):
    listed = await client.list_tools()
    report["tools"] = [tool.name for tool in listed.tools]
    report["moreTools"] = listed.next_cursor
    for tool in listed.tools:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
    return {tool.name: tool.output_schema for tool in listed.tools}


async def questions(client, schemas, report):
    report["answers"], report["notSchematic"] = {}, []
    for question in PLAN["questions"]:
        answer = await ask(client, question)
        content = answer.structured_content
        blocks = [block.model_dump(mode="json") for block in answer.content]
        report["answers"][question["name"]] = {
            "structuredContent": content,
            "content": blocks,
            "isError": answer.is_error,
        }
        mutilated = {name: value for name, value in content.items() if name != "summary"}
        schema = schemas[question["tool"]]
        if not fits(schema, content) or fits(schema, mutilated):
            report["notSchematic"].append(question["name"])


async def paging(client, report):
    report["pages"], cursor = [], None
    while True:
        found = await page(client, PLAN["paged"], cursor)
        report["pages"].append(found["items"])
        cursor = found["nextCursor"]
        if cursor is None:
            return


async def cancelled_once(client):
    """Cancels at the first progress; false if the request timed out before."""
    silent = PLAN["silent"]
    with anyio.CancelScope() as scope:

        async def enough(_progress, _total, _message):
            scope.cancel()

        with contextlib.suppress(MCPError):
            await client.call_tool(silent["tool"], silent["arguments"], progress_callback=enough)
    return scope.cancelled_caught


async def silence(client, report):
    """A request that is never answered: first until its timeout, then cancelled at its first progress."""
    silent = PLAN["silent"]
    report["progress"] = []

    async def note(progress, _total, _message):
        report["progress"].append(progress)

    try:
        answer = await client.call_tool(silent["tool"], silent["arguments"], progress_callback=note)
        report["silence"] = {"unexpected": answer.model_dump(mode="json")}
    except MCPError as error:
        report["silence"] = error_report(error)
    report["asked"] = 2
    while not await cancelled_once(client) and report["asked"] < 6:
        report["asked"] += 1
    report["afterCancel"] = (await ask(client, PLAN["questions"][0])).structured_content


async def late_status(session):
    """The status of a request in a session that has ended."""
    accept = {"Accept": "application/json, text/event-stream", "Mcp-Session-Id": session}
    async with httpx2.AsyncClient(headers={**HEADERS, **accept}) as http:
        answer = await http.post(PLAN["url"], json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        return answer.status_code


async def main():
    report = {}
    async with connect(end_session=False) as (client, first):
        report["server"] = {"name": client.server_info.name, "version": client.server_info.version}
        report["capabilities"] = client.server_capabilities.model_dump(mode="json", exclude_none=True)
        report["protocol"] = client.protocol_version
        await client.send_ping()
        schemas = await listing(client, report)
        await questions(client, schemas, report)
        report["refusals"] = [await refusal(client, question) for question in PLAN["refused"]]
        await paging(client, report)
        await silence(client, report)
        report["begun"] = await page(client, PLAN["paged"], None)
    async with connect(end_session=True) as (client, second):
        try:
            report["continued"] = await page(client, PLAN["paged"], report["begun"]["nextCursor"])
        except MCPError as error:
            report["continued"] = error_report(error)
    report["newSession"] = "url" not in PLAN or (len(first) == 1 and len(second) == 1 and first != second)
    if "url" in PLAN:
        report["endedStatus"] = await late_status(second[0])
    print(json.dumps(report))


asyncio.run(main())
