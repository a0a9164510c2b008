"""Judges what the model saw, compared with what codeyard sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenarios import USES, Observation, as_json, cursor_in, plain, wait_in

Json = Any
SHOWN_CHARS = 600
# So many characters at the beginning of an answer show which answer a cut one is from.
BEGINNING_CHARS = 40


@dataclass(frozen=True)
class Exchange:
    """A call of a tool, as the host sent it and as codeyard answered it."""

    arguments: Json
    answer: Json

    @property
    def text(self) -> str:
        blocks = self.answer.get("result", {}).get("content") or []
        return "\n".join(block.get("text", "") for block in blocks)

    @property
    def structured(self) -> Json:
        return self.answer.get("result", {}).get("structuredContent")

    @property
    def error(self) -> Json:
        return self.answer.get("error")

    @property
    def is_question(self) -> bool:
        """Whether the answer needs input first; the host then repeats the call with it."""
        return self.answer.get("result", {}).get("resultType") == "input_required"

    @property
    def sentence(self) -> str:
        """The sentence that says what went wrong, or that nothing was found."""
        if self.error is not None:
            return self.error["message"]
        structured = self.structured or {}
        metadata = structured.get("metadata") or {}
        inner = structured.get("error") or metadata.get("error") or {}
        own = inner.get("message") or metadata.get("hint") or structured.get("summary")
        return own or next((line for line in self.text.splitlines() if line), "")


def exchanges(entries: list[Json]) -> list[Exchange]:
    """All calls of tools in a record, in the order in which they were answered."""
    calls: dict[str, Json] = {}
    found = []
    for entry in entries:
        message = entry["message"]
        for single in message if isinstance(message, list) else [message]:
            if not isinstance(single, dict) or "id" not in single:
                continue
            key = json.dumps(single["id"])
            if entry["from"] == "host" and single.get("method") == "tools/call":
                calls[key] = single["params"]
            elif entry["from"] == "codeyard" and "method" not in single and key in calls:
                exchange = Exchange(calls.pop(key).get("arguments"), single)
                if not exchange.is_question:
                    found.append(exchange)
    return found


def inner_values(value: Json) -> Iterator[Json]:
    """The value, what it contains, and what its texts contain as JSON."""
    yield value
    if isinstance(value, dict):
        for member in value.values():
            yield from inner_values(member)
    elif isinstance(value, list):
        for member in value:
            yield from inner_values(member)
    elif isinstance(value, str) and value[:1] in ("{", "["):
        parsed = as_json(value)
        if parsed is not None:
            yield from inner_values(parsed)


def json_texts(seen: str) -> Iterator[Json]:
    """JSON values that begin a line or the text."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r"(?:^|\n|: )(?=[{\[])", seen):
        try:
            yield decoder.raw_decode(seen, found.end())[0]
        except ValueError:
            continue


def has_structured(seen: str, structured: Json) -> bool:
    if structured is None:
        return False
    return repr(structured) in seen or any(inner == structured for value in json_texts(seen) for inner in inner_values(value))


def has_text(seen: str, text: str) -> bool:
    """Whether the text is there, as it is or within texts of JSON or Python."""
    text = text.strip()
    forms = (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    return bool(text) and (any(form in seen for form in forms) or plain(text) in plain(seen))


def saved_file(seen: str) -> bool:
    """Whether the text says that the rest is in a file. The file may be gone with the host."""
    return re.search(r"(?i)(saved|written|stored|full output|output file)[^\n]{0,80}[\s`'\"]/[\w./-]+", seen) is not None


def form(seen: str | None, exchange: Exchange | None) -> str:
    """Which part of codeyard's answer the model saw."""
    if seen is None:
        return "nothing"
    if exchange is None:
        return "not codeyard's answer"
    if exchange.error is not None:
        return error_form(seen, exchange.error)
    text, structured = has_text(seen, exchange.text), has_structured(seen, exchange.structured)
    if (text or structured) and as_json(exchange.text) == exchange.structured:
        return "whole"
    if text and structured:
        return "both"
    if text or structured:
        return "text" if text else "structuredContent"
    compact = json.dumps(exchange.structured, ensure_ascii=False, separators=(",", ":"))
    if saved_file(seen):
        return f"file, preview of {rounded(len(seen))} characters"
    simple = re.sub(r"\s", "", plain(seen))
    for whole in (exchange.text, compact):
        if whole and re.sub(r"\s", "", whole)[:BEGINNING_CHARS] in simple:
            return f"cut to {rounded(len(seen))} characters"
    return "nothing of it"


def error_form(seen: str, error: Json) -> str:
    message = has_text(seen, error["message"])
    details = (error.get("data") or {}).get("details")
    if message and details and has_structured(seen, error.get("data")):
        return "message and data"
    return "message" if message else "nothing of it"


def rounded(length: int) -> int:
    return round(length, -2)


def places(seen: str) -> set[tuple[str, str]]:
    """Files and lines of the references in a text, whatever its form: JSON of the protocol or `path:line:character`."""
    text = plain(seen).replace("'", '"')
    found = set()
    for part in re.split(r'(?="uri")', text):
        name = re.match(r'"uri":\s*"[^"]*?(shop/\w+\.py)"', part)
        line = re.search(r'"start":\s*\{[^}]*?"line":\s*(\d+)', part)
        if name and line:
            found.add((name.group(1), line.group(1)))
    found |= set(re.findall(r"(shop/part_\d\d\.py):(\d+)", text))
    for inner in (inner for value in json_texts(seen) for inner in inner_values(value)):
        if isinstance(inner, dict) and {"uri", "range"} <= inner.keys():
            found.add((inner["uri"][-len("shop/part_00.py") :], str(inner["range"]["start"]["line"])))
    return {place for place in found if "part_" in place[0]}


def judge(name: str, observations: list[Observation], sent: list[Exchange | None]) -> Json:
    """Facts of one scenario: `good` says whether the model got what it needs."""
    last, answer = observations[-1], sent[-1]
    facts: Json = {"sees": form(observations[0].seen, sent[0]), "calls": len(observations)}
    seen = last.seen or ""
    if name == "small":
        facts |= {"sees": form(last.seen, answer), "good": "prices.py" in seen}
    elif name == "long":
        facts |= long_facts(observations, sent)
    elif name == "cold":
        waits = [wait_in(single.seen or "") for single in observations[:-1]]
        answered = "tiny says" in seen
        facts |= {"answered": answered, "time": bool(waits) and all(wait is not None for wait in waits)}
        facts |= {"repeated": len(observations) > 1, "good": answered and facts["time"]}
    elif answer is not None:
        facts["good"] = facts["sees"] == "whole" or has_text(seen, answer.sentence)
    else:
        facts["good"] = False
    facts["shown"] = (observations[0].seen or "")[:SHOWN_CHARS]
    facts["ended"] = last.seen is None
    return facts


def long_facts(observations: list[Observation], sent: list[Exchange | None]) -> Json:
    found = set().union(*(places(single.seen or "") for single in observations))
    characters = [len(single.seen or "") for single in observations]
    longest = max((len(single.text) for single in sent if single is not None), default=0)
    return {
        "found": len(found),
        "cursor": any(cursor_in(single.seen or "") for single in observations),
        "characters": max(characters),
        "sent characters": longest,
        "good": len(found) == USES,
    }


META = "io.modelcontextprotocol/"


def connection(entries: list[Json]) -> Json:
    """What host and codeyard agreed on. A host without sessions names revision and capabilities in each request."""
    host = sent_by("host", entries)
    facts: Json = {"revisions": [], "agreed on": None, "elicitation": None}
    for message in host:
        params = message.get("params") or {}
        meta = params.get("_meta") or {}
        if message.get("method") == "initialize":
            facts["revisions"].append(params.get("protocolVersion"))
            facts["elicitation"] = params.get("capabilities", {}).get("elicitation")
            facts["client"] = params.get("clientInfo")
        elif META + "protocolVersion" in meta:
            facts["revisions"].append(meta[META + "protocolVersion"])
            facts["elicitation"] = meta.get(META + "clientCapabilities", {}).get("elicitation")
            facts["client"] = meta.get(META + "clientInfo")
            if message.get("method") in ("tools/list", "tools/call"):
                facts["agreed on"] = meta[META + "protocolVersion"]
    facts["revisions"] = sorted(set(facts["revisions"]), key=str)
    results = [message["result"] for message in sent_by("codeyard", entries) if isinstance(message.get("result"), dict)]
    begun = next((result["protocolVersion"] for result in results if "protocolVersion" in result), None)
    facts["agreed on"] = facts["agreed on"] or begun
    facts["methods"] = sorted({message["method"] for message in host if "method" in message})
    facts["refused"] = sorted({entry["status"] for entry in entries if entry.get("status", 200) >= 400})
    return facts


def sent_by(sender: str, entries: list[Json]) -> list[Json]:
    return [entry["message"] for entry in entries if entry["from"] == sender and isinstance(entry["message"], dict)]


def permission(entries: list[Json]) -> str:
    """What the host did with codeyard's question to a person, be it a request of codeyard's or an answer that needs input."""
    host, codeyard = sent_by("host", entries), sent_by("codeyard", entries)
    prompts = [message["id"] for message in codeyard if message.get("method") == "elicitation/create"]
    needed = any((message.get("result") or {}).get("resultType") == "input_required" for message in codeyard)
    if not prompts and not needed:
        return "not supported"
    for message in host:
        if prompts and message.get("id") == prompts[0] and "method" not in message:
            return "refused with an error" if "error" in message else action(message.get("result"))
        for response in ((message.get("params") or {}).get("inputResponses") or {}).values():
            return action(response)
    return "not answered"


def action(response: Json) -> str:
    known = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}
    return known.get((response or {}).get("action"), "answered otherwise")
