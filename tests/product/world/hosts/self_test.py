"""Tests of the lab itself: the dialects of the fake model, what a script finds in a text, and the judge."""

from __future__ import annotations

import json
import tempfile
import unittest
import urllib.request
from pathlib import Path
from typing import Any

import facts
import scenarios
from fake_model import Anthropic, Call, Chat, FakeModel, Gemini, Request, Responses, Text, Tool
from scenarios import Step, Observation, Player

Json = Any
CALL = Call("call_1", Tool("mcp__codeyard__lsp"), {"operation": "hover"})


class Fixed:
    """A director with one answer, which keeps the request."""

    def __init__(self, answer: Call | Text) -> None:
        self.fixed = answer
        self.request = Request([], {})

    def answer(self, request: Request) -> Call | Text:
        self.request = request
        return self.fixed


def post(answer: Call | Text, path: str, body: Json) -> tuple[str, Request]:
    """What the service answers, and what it understood."""
    director = Fixed(answer)
    with tempfile.TemporaryDirectory() as folder:
        model = FakeModel(director, Path(folder) / "requests.jsonl")
        try:
            request = urllib.request.Request(model.address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=10) as answered:
                return answered.read().decode(), director.request
        finally:
            model.close()


class Dialects(unittest.TestCase):
    def test_chat(self) -> None:
        tool = {"type": "function", "function": {"name": "mcp__codeyard__lsp"}}
        result = {"role": "tool", "tool_call_id": "call_0", "content": [{"type": "text", "text": "seen"}]}
        text, request = post(CALL, "/v1/chat/completions", {"tools": [tool], "messages": [result]})
        self.assertEqual(json.loads(text)["choices"][0]["message"]["tool_calls"][0]["id"], "call_1")
        self.assertEqual(request, Request([Tool("mcp__codeyard__lsp")], {"call_0": "seen"}))
        text, _ = post(CALL, "/v1/chat/completions", {"stream": True})
        self.assertTrue(text.endswith("data: [DONE]\n\n") and '"tool_calls"' in text)

    def test_responses(self) -> None:
        tool = {"type": "namespace", "name": "mcp__codeyard", "tools": [{"name": "lsp"}]}
        result = {"type": "function_call_output", "call_id": "call_0", "output": "seen"}
        text, request = post(Text("end"), "/v1/responses", {"tools": [tool], "input": [result]})
        self.assertEqual(json.loads(text)["output"][0]["content"][0]["text"], "end")
        self.assertEqual(request, Request([Tool("lsp", "mcp__codeyard")], {"call_0": "seen"}))
        events = "".join(Responses.events(Call("call_1", Tool("lsp", "mcp__codeyard"), {})))
        self.assertIn('"namespace": "mcp__codeyard"', events)

    def test_anthropic(self) -> None:
        block = {"type": "tool_result", "tool_use_id": "call_0", "content": [{"type": "text", "text": "seen"}]}
        body = {"tools": [{"name": "mcp__codeyard__lsp"}], "messages": [{"role": "user", "content": [block]}], "stream": True}
        text, request = post(CALL, "/v1/messages?beta=true", body)
        self.assertEqual([line[7:] for line in text.splitlines() if line.startswith("event: ")][0], "message_start")
        self.assertEqual(request, Request([Tool("mcp__codeyard__lsp")], {"call_0": "seen"}))
        self.assertEqual(Anthropic.whole(Text("end"))["stop_reason"], "end_turn")

    def test_gemini(self) -> None:
        part = {"functionResponse": {"name": "lsp", "response": {"output": "seen"}}}
        body = {"contents": [{"role": "user", "parts": [part]}]}
        text, request = post(CALL, "/v1beta/models/x:streamGenerateContent?alt=sse", body)
        self.assertIn('"functionCall"', text)
        self.assertEqual(request.results, {"last": "seen"})
        self.assertEqual(Gemini.read({"contents": []}).tools, [])

    def test_results_as_words_of_the_user(self) -> None:
        body: Json = {"messages": [{"role": "user", "content": "Look."}]}
        player = Player({"small": lambda: scenarios.once("lsp", {})})
        tools = [{"type": "function", "function": {"name": name}} for name in ("lsp", "final_answer")]
        player.answer(Chat.read({**body, "tools": tools}))
        body["messages"] += [{"role": "assistant", "content": "Calling"}, {"role": "user", "content": "Observation: seen"}]
        end = player.answer(Chat.read({**body, "tools": tools}))
        self.assertEqual(player.observations[0].seen, "\nObservation: seen")
        self.assertEqual(end, Call("end", Tool("final_answer"), {"answer": scenarios.DONE}))

    def test_texts_of_contents(self) -> None:
        self.assertEqual(Chat.read({"messages": [{"role": "tool", "tool_call_id": "a", "content": None}]}).results, {"a": ""})


class Scripts(unittest.TestCase):
    def test_cursors(self) -> None:
        cursor = "v1.0123456789abcdef"
        for text in (f'"nextCursor": "{cursor}"', f'\\"nextCursor\\":\\"{cursor}\\"', f'with cursor "{cursor}".', f"the cursor is `{cursor}`"):
            self.assertEqual(scenarios.cursor_in(text), cursor, text)
        self.assertIsNone(scenarios.cursor_in('"nextCursor":null,"summary":"Returned 160 references."'))

    def test_times_to_wait(self) -> None:
        self.assertEqual(scenarios.wait_in("Ask again in 2 s."), 2.0)
        self.assertEqual(scenarios.wait_in('{\\"retryAfterMs\\":500}'), 0.5)
        self.assertIsNone(scenarios.wait_in("try again after the hinted time"))

    def test_a_player_follows_what_it_sees(self) -> None:
        player = Player({"long": lambda: scenarios.in_pages("lsp", {"operation": "findReferences"})})
        tools = [Tool("codeyard_lsp")]
        first = player.answer(Request(tools, {}))
        assert isinstance(first, Call)
        second = player.answer(Request(tools, {first.id: '"nextCursor": "v1.0123456789abcdef"'}))
        assert isinstance(second, Call)
        self.assertEqual(second.arguments["cursor"], "v1.0123456789abcdef")
        self.assertIsInstance(player.answer(Request(tools, {second.id: "the rest"})), Text)
        self.assertEqual([single.seen for single in player.observations][1], "the rest")

    def test_a_tool_of_the_host_itself_is_not_codeyards(self) -> None:
        self.assertFalse(scenarios.is_codeyard(Tool("opencode_lsp")))
        self.assertTrue(scenarios.is_codeyard(Tool("mcp_codeyard_lsp")))
        cut = Tool("mcp_127_0_0_1_41781_mcp_shop_lsp_v1_safe_vscode_lsp_docu_12345678")
        self.assertTrue(scenarios.is_tool(cut, "vscode_lsp_documentSymbols"))
        self.assertFalse(scenarios.is_tool(cut, "vscode_lsp_definition"))


class Judge(unittest.TestCase):
    answer = {"result": {"content": [{"type": "text", "text": "[\n  1\n]"}], "structuredContent": {"metadata": {"result": [1]}}}}

    def form(self, seen: str) -> str:
        return facts.form(seen, facts.Exchange({}, self.answer))

    def test_forms(self) -> None:
        self.assertEqual(self.form("[\n  1\n]"), "text")
        self.assertEqual(self.form('Output:\n{"metadata":{"result":[1]}}'), "structuredContent")
        self.assertEqual(self.form(json.dumps(self.answer["result"])), "both")
        self.assertEqual(self.form("{}"), "nothing of it")
        self.assertEqual(facts.form(None, None), "nothing")

    def test_texts_of_python(self) -> None:
        answer = facts.Exchange({}, {"result": {"content": [{"type": "text", "text": "a\n'b' \"c\""}], "structuredContent": {"a": None}}})
        self.assertEqual(facts.form(f"text={answer.text!r} structured={answer.structured!r}", answer), "both")

    def test_texts_within_texts(self) -> None:
        sentence = 'Set it to "allow".'
        self.assertTrue(facts.has_text(json.dumps({"error": json.dumps({"message": sentence})}), sentence))
        self.assertFalse(facts.has_text("{}", ""))

    def test_cut_and_saved(self) -> None:
        text = json.dumps([{"uri": "file:///shop/part_01.py", "number": number} for number in range(200)], indent=2)
        exchange = facts.Exchange({}, {"result": {"content": [{"type": "text", "text": text}]}})
        self.assertTrue(facts.form(text[:3000] + "\n[cut]", exchange).startswith("cut to 3000"))
        self.assertTrue(facts.form("Too large. Saved to: /tmp/out.txt\n" + text[:500], exchange).startswith("file"))

    def test_places(self) -> None:
        location = {"uri": "file:///a/shop/part_07.py", "range": {"start": {"line": 3, "character": 1}}}
        self.assertEqual(facts.places(json.dumps([location])), {("shop/part_07.py", "3")})
        self.assertEqual(facts.places(json.dumps([location], sort_keys=True)), {("shop/part_07.py", "3")})
        self.assertEqual(facts.places("shop/part_07.py:4:2  round_price"), {("shop/part_07.py", "4")})

    def test_questions_of_both_kinds(self) -> None:
        prompt = {"from": "codeyard", "message": {"id": "p", "method": "elicitation/create"}}
        declined = {"from": "host", "message": {"id": "p", "result": {"action": "decline"}}}
        self.assertEqual(facts.permission([prompt, declined]), "declined")
        self.assertEqual(facts.permission([prompt]), "not answered")
        self.assertEqual(facts.permission([declined]), "not supported")
        call = {"from": "host", "message": {"id": 1, "method": "tools/call", "params": {"arguments": {}}}}
        question = {"from": "codeyard", "message": {"id": 1, "result": {"resultType": "input_required", "inputRequests": {"p": {}}}}}
        params = {"arguments": {}, "inputResponses": {"p": {"action": "cancel"}}}
        again = {"from": "host", "message": {"id": 2, "method": "tools/call", "params": params}}
        answer = {"from": "codeyard", "message": {"id": 2, "result": {"content": []}}}
        self.assertEqual(facts.permission([call, question, again, answer]), "cancelled")
        self.assertEqual(len(facts.exchanges([call, question, again, answer])), 1)

    def test_a_host_without_sessions(self) -> None:
        meta = {facts.META + "protocolVersion": "2026-07-28", facts.META + "clientCapabilities": {"elicitation": {}}}
        listing = {"from": "host", "message": {"id": 1, "method": "tools/list", "params": {"_meta": meta}}}
        found = facts.connection([listing])
        self.assertEqual((found["revisions"], found["agreed on"], found["elicitation"]), (["2026-07-28"], "2026-07-28", {}))

    def test_errors_need_their_sentence(self) -> None:
        metadata = {"error": {"code": "NOT_FOUND"}}
        result = {"content": [{"type": "text", "text": "File not found: a.py"}], "structuredContent": {"metadata": metadata}, "isError": True}
        exchange = facts.Exchange({}, {"result": result})
        step = Step("lsp", {})
        code = facts.judge("missing", [Observation("missing", step, json.dumps({"metadata": metadata}))], [exchange])
        self.assertFalse(code["good"])
        self.assertTrue(facts.judge("missing", [Observation("missing", step, "File not found: a.py")], [exchange])["good"])


if __name__ == "__main__":
    unittest.main()
