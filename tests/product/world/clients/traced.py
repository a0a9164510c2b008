"""The official Python client with the OpenTelemetry SDK: one call inside its own span.

usage: python3 traced.py PLAN.json

Prints the trace and the span as one line of JSON.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

with open(sys.argv[1], encoding="utf-8") as plan_file:
    PLAN = json.load(plan_file)


async def call(client):
    """Retries while the server answers with a timeout."""
    for _ in range(60):
        try:
            return await client.call_tool(PLAN["tool"], PLAN["arguments"])
        except MCPError as error:
            details = (error.error.data or {}).get("details", {})
            if details.get("reason") != "timeout":
                raise
            await asyncio.sleep(min(details["retryAfterMs"], 2000) / 1000)
    raise RuntimeError("no answer")


async def main():
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=PLAN["receiver"])))
    trace.set_tracer_provider(provider)
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {PLAN['token']}"}) as http:
        async with Client(streamable_http_client(PLAN["url"], http_client=http)) as client:
            with trace.get_tracer("agent").start_as_current_span("agent at work") as span:
                await call(client)
                context = span.get_span_context()
    provider.shutdown()
    print(json.dumps({"trace": f"{context.trace_id:032x}", "span": f"{context.span_id:016x}"}))


asyncio.run(main())
