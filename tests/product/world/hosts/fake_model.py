"""A model service on loopback that plays a script.

It speaks four dialects: OpenAI chat completions, OpenAI responses, Anthropic messages and Gemini generateContent, each as one
JSON text or as a stream of events, as the host asks. It knows nothing of scenarios: a `Director` decides each answer. Every
request is recorded as one line of JSON.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

Json = Any
MODEL = "fake-model"
USAGE_TOKENS = 7


@dataclass(frozen=True)
class Tool:
    """A tool that the host offers to the model; in some dialects in a namespace, in some hosts through another tool."""

    name: str
    namespace: str | None = None
    through: str | None = None


@dataclass(frozen=True)
class Call:
    """The model calls a tool."""

    id: str
    tool: Tool
    arguments: Json


@dataclass(frozen=True)
class Text:
    """The model ends its turn."""

    text: str


@dataclass(frozen=True)
class Request:
    """What a request says, whatever its dialect. A result's key is the id of its call; Gemini has the last call's only.

    `said` is all that the user said, if there are no results: some agents send results as the user's words."""

    tools: list[Tool]
    results: dict[str, str]
    said: str = ""


class Director(Protocol):
    """Decides what the model answers."""

    def answer(self, request: Request) -> Call | Text: ...


def joined(content: Json) -> str:
    """Text of a content that is a text, a block, or a list of blocks."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(joined(part) for part in content)
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return content["text"]
    return json.dumps(content, ensure_ascii=False)


class Chat:
    """OpenAI chat completions."""

    @staticmethod
    def read(body: Json) -> Request:
        functions = [tool["function"] for tool in body.get("tools") or [] if "function" in tool]
        tools = [Tool(function["name"]) for function in functions]
        messages = body.get("messages", [])
        answers = [message for message in messages if message.get("role") == "tool"]
        results = {message["tool_call_id"]: joined(message.get("content")) for message in answers}
        said = [] if results else [joined(message.get("content")) for message in messages if message.get("role") == "user"]
        return Request(tools, results, "\n".join(said))

    @staticmethod
    def message(answer: Call | Text) -> tuple[Json, str]:
        if isinstance(answer, Text):
            return {"role": "assistant", "content": answer.text}, "stop"
        function = {"name": answer.tool.name, "arguments": json.dumps(answer.arguments)}
        call = {"index": 0, "id": answer.id, "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"

    @classmethod
    def whole(cls, answer: Call | Text) -> Json:
        message, reason = cls.message(answer)
        choices = [{"index": 0, "message": message, "finish_reason": reason}]
        return {**cls.envelope("chat.completion", choices), **cls.usage()}

    @classmethod
    def events(cls, answer: Call | Text) -> Iterator[str]:
        message, reason = cls.message(answer)
        kind = "chat.completion.chunk"
        yield data(cls.envelope(kind, [{"index": 0, "delta": message, "finish_reason": None}]))
        yield data(cls.envelope(kind, [{"index": 0, "delta": {}, "finish_reason": reason}]))
        yield data({**cls.envelope(kind, []), **cls.usage()})
        yield "data: [DONE]\n\n"

    @staticmethod
    def envelope(kind: str, choices: list[Json]) -> Json:
        return {"id": "chat-1", "object": kind, "created": 1, "model": MODEL, "choices": choices}

    @staticmethod
    def usage() -> Json:
        counts = {"prompt_tokens": USAGE_TOKENS, "completion_tokens": USAGE_TOKENS, "total_tokens": 2 * USAGE_TOKENS}
        return {"usage": counts}


class Responses:
    """OpenAI responses."""

    @staticmethod
    def read(body: Json) -> Request:
        tools: list[Tool] = []
        for tool in body.get("tools") or []:
            if tool.get("type") == "namespace":
                tools += [Tool(inner["name"], tool["name"]) for inner in tool.get("tools", [])]
            elif "name" in tool:
                tools.append(Tool(tool["name"]))
        items = body.get("input") if isinstance(body.get("input"), list) else []
        answers = [item for item in items if item.get("type") == "function_call_output"]
        return Request(tools, {item["call_id"]: joined(item.get("output")) for item in answers})

    @staticmethod
    def item(answer: Call | Text) -> Json:
        if isinstance(answer, Text):
            content = [{"type": "output_text", "text": answer.text, "annotations": []}]
            return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        namespace = {} if answer.tool.namespace is None else {"namespace": answer.tool.namespace}
        arguments = json.dumps(answer.arguments)
        call = {"name": answer.tool.name, "arguments": arguments, **namespace}
        return {"type": "function_call", "id": "fc_" + answer.id, "call_id": answer.id, "status": "completed", **call}

    @staticmethod
    def response(status: str, output: list[Json]) -> Json:
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        counts = {"input_tokens": USAGE_TOKENS, "output_tokens": USAGE_TOKENS, "total_tokens": 2 * USAGE_TOKENS}
        fixed = {"object": "response", "created_at": 1, "model": MODEL, "error": None, "parallel_tool_calls": False}
        choice = {"tools": [], "tool_choice": "auto", "usage": {**counts, **details}}
        return {"id": "resp_1", "status": status, "output": output, **fixed, **choice}

    @classmethod
    def whole(cls, answer: Call | Text) -> Json:
        return cls.response("completed", [cls.item(answer)])

    @classmethod
    def events(cls, answer: Call | Text) -> Iterator[str]:
        item = cls.item(answer)
        at = {"output_index": 0, "item_id": item["id"]}
        steps: list[Json] = [
            {"type": "response.created", "response": cls.response("in_progress", [])},
            {"type": "response.output_item.added", "output_index": 0, "item": cls.begun(item)},
        ]
        if isinstance(answer, Text):
            part = {"content_index": 0, **at}
            steps += [
                {"type": "response.content_part.added", "part": {"type": "output_text", "text": "", "annotations": []}, **part},
                {"type": "response.output_text.delta", "delta": answer.text, **part},
                {"type": "response.output_text.done", "text": answer.text, **part},
                {"type": "response.content_part.done", "part": item["content"][0], **part},
            ]
        else:
            steps += [
                {"type": "response.function_call_arguments.delta", "delta": item["arguments"], **at},
                {"type": "response.function_call_arguments.done", "arguments": item["arguments"], **at},
            ]
        steps += [
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": cls.response("completed", [item])},
        ]
        for number, step in enumerate(steps):
            yield f"event: {step['type']}\n" + data({**step, "sequence_number": number})

    @staticmethod
    def begun(item: Json) -> Json:
        empty = {"content": []} if item["type"] == "message" else {"arguments": ""}
        return {**item, "status": "in_progress", **empty}


class Anthropic:
    """Anthropic messages."""

    @staticmethod
    def read(body: Json) -> Request:
        tools = [Tool(tool["name"]) for tool in body.get("tools") or []]
        results: dict[str, str] = {}
        for message in body.get("messages", []):
            blocks = message["content"] if isinstance(message.get("content"), list) else []
            for block in blocks:
                if block.get("type") == "tool_result":
                    results[block["tool_use_id"]] = joined(block.get("content"))
        return Request(tools, results)

    @staticmethod
    def block(answer: Call | Text) -> tuple[Json, str]:
        if isinstance(answer, Text):
            return {"type": "text", "text": answer.text}, "end_turn"
        return {"type": "tool_use", "id": answer.id, "name": answer.tool.name, "input": answer.arguments}, "tool_use"

    @staticmethod
    def message(content: list[Json], reason: str | None) -> Json:
        usage = {"input_tokens": USAGE_TOKENS, "output_tokens": USAGE_TOKENS}
        end = {"stop_reason": reason, "stop_sequence": None, "usage": usage}
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": content, **end}

    @classmethod
    def whole(cls, answer: Call | Text) -> Json:
        block, reason = cls.block(answer)
        return cls.message([block], reason)

    @classmethod
    def events(cls, answer: Call | Text) -> Iterator[str]:
        block, reason = cls.block(answer)
        if isinstance(answer, Text):
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": answer.text}
        else:
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}
        end = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": USAGE_TOKENS}}
        steps: list[Json] = [
            {"type": "message_start", "message": cls.message([], None)},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", **end},
            {"type": "message_stop"},
        ]
        for step in steps:
            yield f"event: {step['type']}\n" + data(step)


class Gemini:
    """Gemini generateContent."""

    @staticmethod
    def read(body: Json) -> Request:
        groups = [group.get("functionDeclarations", []) for group in body.get("tools") or []]
        tools = [Tool(tool["name"]) for group in groups for tool in group]
        contents = body.get("contents") or [{}]
        parts = [part for content in contents for part in content.get("parts", [])]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        last = contents[-1].get("parts", [])
        results = {answer["id"]: Gemini.seen(answer) for answer in answers if answer.get("id")}
        if any("functionResponse" in part for part in last):
            results["last"] = Gemini.seen(answers[-1])
        return Request(tools, results)

    @staticmethod
    def seen(answer: Json) -> str:
        """The response's only text, if that is all it has, else all of it as JSON."""
        response = answer.get("response")
        if isinstance(response, dict) and len(response) == 1:
            only = next(iter(response.values()))
            if isinstance(only, str):
                return only
        return json.dumps(response, ensure_ascii=False)

    @staticmethod
    def whole(answer: Call | Text) -> Json:
        if isinstance(answer, Text):
            part: Json = {"text": answer.text}
        else:
            part = {"functionCall": {"id": answer.id, "name": answer.tool.name, "args": answer.arguments}}
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        usage = {"promptTokenCount": USAGE_TOKENS, "candidatesTokenCount": USAGE_TOKENS, "totalTokenCount": 2 * USAGE_TOKENS}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL}

    @classmethod
    def events(cls, answer: Call | Text) -> Iterator[str]:
        yield data(cls.whole(answer))


Dialect = type[Chat] | type[Responses] | type[Anthropic] | type[Gemini]


def data(value: Json) -> str:
    return f"data: {json.dumps(value)}\n\n"


def dialect_of(path: str) -> Dialect | None:
    """The dialect of an address."""
    path = path.split("?")[0]
    if path.endswith("/chat/completions"):
        return Chat
    if path.endswith("/responses"):
        return Responses
    if path.endswith("/messages"):
        return Anthropic
    return Gemini if path.endswith(("enerateContent",)) else None


class FakeModel:
    """The service, on a free port of loopback, until it is closed."""

    def __init__(self, director: Director, record: Path) -> None:
        self.director = director
        self.record = record
        self.lock = threading.Lock()
        self.outside: set[str] = set()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def note(self, entry: Json) -> None:
        with self.lock, self.record.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_CONNECT(self) -> None:
                """The hosts' proxy is this server: nothing outside of loopback is reached, but it is noted."""
                model.outside.add(self.path.split(":")[0])
                self.close_connection = True
                self.send(403, "text/plain", "nothing outside of loopback")

            def do_HEAD(self) -> None:
                self.send(200, "text/plain", "")

            def do_GET(self) -> None:
                model.note({"method": "GET", "path": self.path})
                if self.path.startswith("http://"):
                    model.outside.add(self.path.split("/")[2].split(":")[0])
                    self.send(403, "text/plain", "nothing outside of loopback")
                elif self.path.split("?")[0].endswith("/models"):
                    self.send_json({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "fake"}]})
                else:
                    self.send(404, "text/plain", "no such page")

            def do_POST(self) -> None:
                raw = self.body()
                body = json.loads(raw) if raw.strip().startswith(b"{") else None
                model.note({"method": "POST", "path": self.path, "body": body})
                dialect = dialect_of(self.path)
                if self.path.split("?")[0].endswith(("/count_tokens", ":countTokens")):
                    self.send_json({"input_tokens": USAGE_TOKENS, "totalTokens": USAGE_TOKENS})
                elif dialect is None or body is None:
                    self.send(404, "text/plain", "no such page")
                else:
                    self.reply(dialect, body)

            def reply(self, dialect: Dialect, body: Json) -> None:
                with model.lock:
                    answer = model.director.answer(dialect.read(body))
                if body.get("stream") or "streamGenerateContent" in self.path:
                    self.send(200, "text/event-stream", "".join(dialect.events(answer)))
                else:
                    self.send_json(dialect.whole(answer))

            def body(self) -> bytes:
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                whole = b""
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    whole += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return whole

            def send_json(self, value: Json) -> None:
                self.send(200, "application/json", json.dumps(value))

            def send(self, status: int, kind: str, text: str) -> None:
                content = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

        return Handler
