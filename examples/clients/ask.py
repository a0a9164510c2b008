#!/usr/bin/env python3
"""The smallest client: initialize, list the tools, call one, print the answer. Python's standard library only.

    ask.py                                         list the tools
    ask.py vscode.lsp.workspaceSymbols '{"query": "Order"}'

--url and --token, or CODEYARD_URL and CODEYARD_TOKEN, say where and with what. Exit code: 0 an answer, 1 an error in
the answer, 2 no answer.
"""

import argparse
import json
import os
import sys
import urllib.error
import urllib.request

REVISION = "2025-11-25"
TIMEOUT_S = 30


class NoAnswer(Exception):
    """The server couldn't be reached, or refused the request."""


class Client:
    """One session over Streamable HTTP."""

    def __init__(self, url, token):
        self.url = url
        self.headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if token:
            self.headers["Authorization"] = "Bearer " + token
        self.next_id = 0

    def initialize(self):
        params = {
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": {"name": "ask.py", "version": "1"},
        }
        result = self.request("initialize", params)["result"]
        self.headers["MCP-Protocol-Version"] = result["protocolVersion"]
        self.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def request(self, method, params):
        """The whole response: it has `result` or `error`."""
        self.next_id += 1
        body = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        for message in self.send("POST", body):
            if message.get("id") == self.next_id:
                return message
        raise NoAnswer(f"no response to {method}")

    def close(self):
        self.send("DELETE", None)

    def send(self, verb, body):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url, data, self.headers, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
                session = response.headers.get("Mcp-Session-Id")
                if session:
                    self.headers["Mcp-Session-Id"] = session
                return messages(response.headers.get_content_type(), response.read().decode())
        except urllib.error.HTTPError as error:
            raise NoAnswer(f"{error.code} {error.reason}: {error.read().decode(errors='replace').strip()}") from None
        except OSError as error:
            raise NoAnswer(f"{self.url}: {error}") from None


def messages(kind, text):
    """The JSON-RPC messages of a body, be it one JSON text or a stream of events."""
    if not text.strip():
        return []
    if kind != "text/event-stream":
        return [json.loads(text)]
    events = text.replace("\r\n", "\n").split("\n\n")
    data = ["\n".join(line[5:].lstrip() for line in event.split("\n") if line.startswith("data:")) for event in events]
    return [json.loads(item) for item in data if item]


def first_sentence(text):
    return text.split(". ")[0].split("\n")[0]


def show_tools(tools):
    for tool in tools:
        wanted = ", ".join(tool["inputSchema"].get("required", []))
        print(f"{tool['name']}({wanted})\n    {first_sentence(tool.get('description', ''))}")


def show_answer(response):
    """Prints result or error; says whether it was a result."""
    if "error" in response:
        error = response["error"]
        print(f"error {error['code']}: {error['message']}")
        if "data" in error:
            print(json.dumps(error["data"], indent=2, ensure_ascii=False))
        return False
    result = response["result"]
    if "structuredContent" in result:
        print(json.dumps(result["structuredContent"], indent=2, ensure_ascii=False))
    else:
        print("\n".join(part.get("text", "") for part in result.get("content", [])))
    return not result.get("isError", False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", nargs="?", help="name of a tool; without it the tools are listed")
    parser.add_argument("arguments", nargs="?", default="{}", help="its arguments, a JSON object")
    parser.add_argument("--url", default=os.environ.get("CODEYARD_URL", "http://127.0.0.1:3939/mcp"))
    parser.add_argument("--token", default=os.environ.get("CODEYARD_TOKEN", ""))
    options = parser.parse_args()
    try:
        arguments = json.loads(options.arguments)
    except json.JSONDecodeError as error:
        parser.error(f"the arguments are no JSON: {error}")
    try:
        client = Client(options.url, options.token)
        server = client.initialize()["serverInfo"]
        listed = client.request("tools/list", {})
        tools = listed["result"]["tools"]
        print(f"{server['name']} {server['version']}, {len(tools)} tools", file=sys.stderr)
        good = True
        if options.tool is None:
            show_tools(tools)
        else:
            good = show_answer(client.request("tools/call", {"name": options.tool, "arguments": arguments}))
        client.close()
    except NoAnswer as reason:
        print(f"no answer: {reason}", file=sys.stderr)
        return 2
    except (KeyError, ValueError) as reason:
        print(f"not an MCP answer: {reason!r}", file=sys.stderr)
        return 2
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
