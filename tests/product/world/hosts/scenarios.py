"""The workspace of the lab, and what the fake model does in each scenario.

A scenario is a generator: it yields a `Step` (a call of one of codeyard's tools) and gets back what the model sees of the answer.
So it can only go on with what the host lets it see: a cursor, a time to wait.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fake_model import Call, Request, Text, Tool

Json = Any
FILES = 40
USES = 4 * FILES
MAX_PAGES = 40
MAX_ATTEMPTS = 8
MAX_WAIT_S = 5.0
# How often a call is repeated whose answer the host didn't give back to the model.
MAX_UNANSWERED = 2
# Tools of hosts that make other tools known, and how often one is called.
SEARCHES = ("ToolSearch", "tool_search")
MAX_SEARCHES = 3
DONE = "All is done."
# A tool that ends the turn of an agent.
END = "final_answer"
# A tool through which tools are called that a search has shown.
BRIDGE = "tool_call"
SAFE = tuple("vscode_lsp_" + name for name in ("definition", "references", "hover", "documentSymbols", "workspaceSymbols"))
TOOLS = ("lsp", *SAFE, "search_code", "get_file_outline")

USER = '''"""Part {n:02} of the shop."""

from shop.prices import round_price


def price_{n:02}(amount: float) -> float:
    """Price of part {n:02}."""
    first = round_price(amount) + {n}
    second = round_price(first) + 1
    return round_price(second)
'''
PRICES = '''"""Prices."""


def round_price(amount: float) -> float:
    """Rounds to cents."""
    return round(amount, 2)
'''


class Shop:
    """A Python project: `round_price` is imported and used three times in each of 40 files. `notes.cold` belongs to a
    language server that takes its time to start."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("pyproject.toml", '[project]\nname = "shop"\nversion = "1.0.0"\n')
        self.write("shop/__init__.py", "")
        self.write("shop/prices.py", PRICES)
        self.write("notes.cold", "def shelf\nuse shelf\n")
        for number in range(FILES):
            self.write(f"shop/part_{number:02}.py", USER.format(n=number))

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()


@dataclass(frozen=True)
class Step:
    """A call of one of codeyard's tools, by codeyard's own name."""

    tool: str
    arguments: Json


Script = Generator[Step, str, None]


def plain(seen: str) -> str:
    """The text with the quotes and lines that a host may have put into texts of JSON or Python."""
    return re.sub(r"\\+n", "\n", re.sub(r"""\\+(["'])""", r"\1", seen))


def cursor_in(seen: str) -> str | None:
    """A cursor in a text, whatever its form: a member of an object or a word of a sentence."""
    found = re.search(r"""[cC]ursor["'`]?\s*(?:[:=]|is|to)?\s*["'`]([^"'`\s]{16,})["'`]""", plain(seen))
    return found.group(1) if found else None


def wait_in(seen: str) -> float | None:
    """The time to wait that a text names, in seconds."""
    text = plain(seen)
    if found := re.search(r"retry_?[aA]fter_?[mM]s\D{0,4}(\d+)", text):
        return int(found.group(1)) / 1000
    if found := re.search(r"(?:again|retry)[^.]*? in (?:about )?(\d+(?:\.\d+)?) ?(ms|s|seconds?)\b", text, re.I):
        return float(found.group(1)) / (1000 if found.group(2) == "ms" else 1)
    return None


def in_pages(tool: str, arguments: Json) -> Script:
    """Follows the cursors that can be seen."""
    seen = yield Step(tool, arguments)
    for _ in range(MAX_PAGES):
        cursor = cursor_in(seen)
        if cursor is None:
            return
        seen = yield Step(tool, {**arguments, "cursor": cursor})


def until_answered(tool: str, arguments: Json, mark: str) -> Script:
    """Asks again, after the time that the answer names, until the answer holds `mark`."""
    for _ in range(MAX_ATTEMPTS):
        seen = yield Step(tool, arguments)
        if mark in seen:
            return
        time.sleep(min(wait_in(seen) or 1.0, MAX_WAIT_S))


def once(tool: str, arguments: Json) -> Script:
    yield Step(tool, arguments)


def agent(shop: Shop) -> dict[str, Callable[[], Script]]:
    """Scenarios of the catalog `agent`."""
    use = {"filePath": "shop/part_01.py", "line": 8, "character": 13}
    cold = {"operation": "hover", "filePath": "notes.cold", "line": 2, "character": 5}
    return {
        "small": lambda: once("lsp", {"operation": "goToDefinition", **use}),
        "long": lambda: in_pages("lsp", {"operation": "findReferences", **use}),
        "cold": lambda: until_answered("lsp", cold, "tiny says"),
        "empty": lambda: once("lsp", {"operation": "workspaceSymbol", "query": "zzqqx"}),
        "missing": lambda: once("lsp", {"operation": "documentSymbol", "filePath": "shop/nope.py"}),
        "nowhere": lambda: once("lsp", {"operation": "goToDefinition", **use, "character": 2}),
    }


def safe(shop: Shop) -> dict[str, Callable[[], Script]]:
    """Scenarios of the catalog `lsp-v1-safe`."""
    use = {"uri": shop.uri("shop/part_01.py"), "position": {"line": 7, "character": 12}}
    cold = {"uri": shop.uri("notes.cold"), "position": {"line": 1, "character": 4}}
    beyond = {"uri": use["uri"], "position": {"line": 999, "character": 0}}
    return {
        "small": lambda: once("vscode_lsp_definition", use),
        "long": lambda: in_pages("vscode_lsp_references", {**use, "includeDeclaration": True}),
        "cold": lambda: until_answered("vscode_lsp_hover", cold, "tiny says"),
        "empty": lambda: once("vscode_lsp_workspaceSymbols", {"query": "zzqqx"}),
        "missing": lambda: once("vscode_lsp_documentSymbols", {"uri": shop.uri("shop/nope.py")}),
        "nowhere": lambda: once("vscode_lsp_definition", beyond),
    }


def code(_: Shop) -> dict[str, Callable[[], Script]]:
    """Scenarios of the catalog `code`: the first call begins the index, so it is repeated until there is one."""
    query = {"query": "round_price", "limit": 3}
    return {
        "small": lambda: until_answered("search_code", query, "prices.py"),
        "empty": lambda: once("search_code", {"query": "kind:fn zzqqx", "mode": "symbol"}),
        "missing": lambda: once("get_file_outline", {"path": "shop/nope.py"}),
    }


def with_permission(_: Shop) -> dict[str, Callable[[], Script]]:
    """The workspace whose calls need a person's permission, with the catalog `agent`."""
    return {"ask": lambda: once("lsp", {"operation": "documentSymbol", "filePath": "shop/prices.py"})}


def brief(shop: Shop) -> dict[str, Callable[[], Script]]:
    """One scenario only, for the second transport."""
    return {"small": agent(shop)["small"]}


@dataclass
class Observation:
    """A call, and what the model saw of its answer: `None` if the host never gave it back."""

    scenario: str
    step: Step
    seen: str | None = None


class Player:
    """Plays scenarios one after the other, over as many runs of the host as it takes."""

    def __init__(self, scenarios: dict[str, Callable[[], Script]]) -> None:
        self.waiting = list(scenarios.items())
        self.observations: list[Observation] = []
        self.offered: list[str] = []
        self.script: Script | None = None
        self.call: Call | None = None
        self.calls = 0
        self.searches = 0
        self.unanswered = 0
        self.end: Tool | None = None
        self.said = ""

    @property
    def has_more(self) -> bool:
        return self.script is not None or bool(self.waiting)

    def give_up(self) -> None:
        """The host's run has ended: its open scenario doesn't continue."""
        self.script, self.call, self.unanswered = None, None, 0

    def answer(self, request: Request) -> Call | Text:
        """What the model answers to a request of the host."""
        self.end = next((tool for tool in request.tools if tool.name == END), None)
        try:
            return self.next_answer(request)
        finally:
            self.said = request.said

    def next_answer(self, request: Request) -> Call | Text:
        tools = [tool for tool in request.tools if is_codeyard(tool)] or bridged(request)
        if not tools:
            return self.search(request.tools)
        self.offered = [tool.name if tool.namespace is None else f"{tool.namespace}/{tool.name}" for tool in tools]
        if self.call is not None:
            seen = request.results.get(self.call.id, request.results.get("last"))
            if seen is None:
                seen = request.said[len(self.said) :] or None
            if seen is None and self.unanswered < MAX_UNANSWERED:
                self.unanswered += 1
                return self.call
            self.unanswered = 0
            if self.script is not None:
                self.observations[-1].seen = seen
                return self.next_call(tools, self.script, seen or "")
        return self.next_scenario(tools)

    def search(self, tools: list[Tool]) -> Call | Text:
        """Some hosts offer their tools only after a search. A request without such a tool isn't about the shop."""
        search = next((tool for tool in tools if tool.name in SEARCHES), None)
        if search is None or self.searches == MAX_SEARCHES:
            return Text("A short title")
        self.searches += 1
        names = ",".join(f"mcp__codeyard__{name}" for name in TOOLS)
        return Call(f"search_{self.searches}", search, {"query": f"select:{names}", "max_results": len(TOOLS)})

    def next_call(self, tools: list[Tool], script: Script, seen: str | None) -> Call | Text:
        try:
            step = next(script) if seen is None else script.send(seen)
        except StopIteration:
            self.script = None
            return self.next_scenario(tools)
        tool = find_tool(tools, step.tool)
        self.observations.append(Observation(self.name, step))
        if tool is None:
            self.give_up()
            return self.next_scenario(tools)
        self.calls += 1
        name = f"call_{self.calls:04}"
        if tool.through is None:
            self.call = Call(name, tool, step.arguments)
        else:
            self.call = Call(name, Tool(tool.through), {"name": tool.name, "arguments": step.arguments})
        return self.call

    def next_scenario(self, tools: list[Tool]) -> Call | Text:
        if not self.waiting:
            self.give_up()
            return Text(DONE) if self.end is None else Call("end", self.end, {"answer": DONE})
        self.name, begin = self.waiting.pop(0)
        self.script = begin()
        return self.next_call(tools, self.script, None)




def bridged(request: Request) -> list[Tool]:
    """Tools that a search has shown and that are called through another tool."""
    bridge = next((tool for tool in request.tools if tool.name == BRIDGE), None)
    shown = "".join(text for name, text in request.results.items() if name.startswith("search_"))
    if bridge is None:
        return []
    return [Tool(name, through=BRIDGE) for name in re.findall(r'"name":\s*"(mcp__codeyard__\w+)"', shown)]


def words(name: str) -> str:
    """The name in small letters: `vscode_lsp_document_symbols`."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def is_codeyard(tool: Tool) -> bool:
    return any(is_tool(tool, name) for name in TOOLS)


def is_tool(tool: Tool, name: str) -> bool:
    """Whether the host's tool is codeyard's tool of this name, perhaps with the server's name or address in front."""
    own, name = words(tool.name), words(name)
    if own == name:
        return True
    return re.search("codeyard|_mcp_", own) is not None and (own.endswith("_" + name) or is_cut(own, name))


def is_cut(own: str, name: str) -> bool:
    """Whether a long name ends with the beginning of this one and a digest."""
    found = re.fullmatch(r".*_(vscode_lsp_\w+)_[0-9a-f]{8}", own)
    return found is not None and name.startswith(found.group(1))


def find_tool(tools: list[Tool], name: str) -> Tool | None:
    matching = [tool for tool in tools if is_tool(tool, name)]
    return max(matching, key=lambda tool: "codeyard" in f"{tool.namespace} {tool.name}", default=None)


def as_json(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None
