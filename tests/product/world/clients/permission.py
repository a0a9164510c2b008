"""A session of the official Python client whose user is prompted for permission, as a plan says; the observations are printed
as one line of JSON.

usage: python3 permission.py PLAN.json

It checks nothing: the test that started it knows the expected answers.
"""

import asyncio
import contextlib
import json
import sys

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

with open(sys.argv[1], encoding="utf-8") as plan_file:
    PLAN = json.load(plan_file)


class Person:
    """Answers as the step says, and records the prompt."""

    def __init__(self):
        self.answer = None
        self.asked = []
        self.waits = None
        self.withdrawn = anyio.Event()

    async def __call__(self, _context, params):
        self.asked.append({"message": params.message, "schema": params.requested_schema, "mode": params.mode})
        if self.waits is None:
            return ElicitResult(**self.answer)
        self.waits.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.withdrawn.set()


@contextlib.asynccontextmanager
async def connect(person):
    if "url" not in PLAN:
        server = StdioServerParameters(command=PLAN["command"], args=PLAN["args"], env=PLAN["env"])
        async with Client(server, mode="legacy", elicitation_callback=person) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {PLAN['token']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(60)) as http:
        transport = streamable_http_client(PLAN["url"], http_client=http)
        async with Client(transport, mode="legacy", elicitation_callback=person) as client:
            yield client


def answer_report(answer):
    return {"isError": answer.is_error, "text": answer.content[0].text, "content": answer.structured_content}


async def steps(report):
    """One call per step; `answer` is the user's answer to a prompt."""
    person = Person()
    async with connect(person) as client:
        for step in PLAN["steps"]:
            person.answer, person.asked = step["answer"], []
            answer = await client.call_tool(PLAN["tool"], PLAN["arguments"])
            report["steps"].append({**answer_report(answer), "asked": person.asked})


async def unable(report):
    """A client without a person to prompt."""
    async with connect(None) as client:
        report["unable"] = answer_report(await client.call_tool(PLAN["tool"], PLAN["arguments"]))


async def cancelled(report):
    """The call is cancelled during the prompt."""
    person = Person()
    person.waits = anyio.Event()
    async with connect(person) as client:
        async with anyio.create_task_group() as tasks:
            scope = anyio.CancelScope()

            async def call():
                with scope:
                    await client.call_tool(PLAN["tool"], PLAN["arguments"])

            tasks.start_soon(call)
            await person.waits.wait()
            scope.cancel()
        with anyio.move_on_after(30):
            await person.withdrawn.wait()
        report["withdrawn"] = person.withdrawn.is_set()
        person.waits, person.answer, person.asked = None, PLAN["steps"][0]["answer"], []
        report["afterCancel"] = {**answer_report(await client.call_tool(PLAN["tool"], PLAN["arguments"])), "asked": person.asked}


async def main():
    report = {"steps": []}
    await unable(report)
    await cancelled(report)
    await steps(report)
    print(json.dumps(report))


asyncio.run(main())
