#!/usr/bin/env python3
"""A session of an agent: who calls this, and where is it implemented? Python's standard library only.

    who_calls.py accept --root examples/workspaces/typescript
    who_calls.py price --file larder/pricing.py --root examples/workspaces/python

It starts `codeyard stdio --catalog agent`, looks for the name, and asks the one tool `lsp` about the best match: its hover, its
implementations, its callers. A language server that isn't ready yet says when to come back, and that is what happens here.
Exit code: 0 found, 1 not found or an error in an answer, 2 no codeyard.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.parse

REVISION = "2025-11-25"
PATIENCE = 30


class Codeyard:
    """One session over standard input and output."""

    def __init__(self, program, root):
        command = [program, "stdio", "--root", root, "--catalog", "agent"]
        quiet = {"CODEYARD_LOG": "warn", **os.environ}
        self.process = subprocess.Popen(command, env=quiet, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.next_id = 0
        client = {"name": "who_calls.py", "version": "1"}
        self.request("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.next_id += 1
        self.send({"id": self.next_id, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.next_id:
                if "error" in message:
                    sys.exit(message["error"]["message"])
                return message["result"]
        sys.exit(2)

    def lsp(self, operation, **arguments):
        """The whole result: all pages, and as patient as the server asks for."""
        arguments["operation"] = operation
        found = None
        for _ in range(PATIENCE):
            result = self.request("tools/call", {"name": "lsp", "arguments": arguments})
            metadata = result["structuredContent"]["metadata"]
            if not result["isError"]:
                page = metadata["result"]
                found = found + page if found else page
                if "nextCursor" not in metadata:
                    return found
                arguments["cursor"] = metadata["nextCursor"]
                continue
            if "retryAfterMs" not in metadata["error"]:
                sys.exit(result["content"][0]["text"])
            time.sleep(metadata["error"]["retryAfterMs"] / 1000)
        sys.exit(result["content"][0]["text"])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def path_of(uri):
    return urllib.parse.unquote(urllib.parse.urlsplit(uri).path)


def named_at(name, location):
    """Where the name stands in what a symbol's location covers, as the tool takes it: counted from 1."""
    path, start = path_of(location["uri"]), location["range"]["start"]
    with open(path, encoding="utf-8", newline="") as file:
        lines = file.read().split("\n")
    for line in range(start["line"], len(lines)):
        begin = start["character"] if line == start["line"] else 0
        at = lines[line].find(name, begin)
        if at >= 0:
            before = lines[line][:at].encode("utf-16-le")
            return {"filePath": path, "line": line + 1, "character": len(before) // 2 + 1}
    sys.exit(f"{name} isn't where it was said to be")


def place(root, uri, position):
    return f"{os.path.relpath(path_of(uri), root)}:{position['line'] + 1}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="what to look for")
    parser.add_argument("--root", default=".", help="the repository")
    parser.add_argument("--file", help="take the match in this file, relative to the repository")
    parser.add_argument("--codeyard", default="codeyard", help="the program")
    options = parser.parse_args()
    root = os.path.realpath(options.root)
    try:
        codeyard = Codeyard(options.codeyard, root)
    except OSError as error:
        print(f"{options.codeyard}: {error}; build it, or say where it is with --codeyard", file=sys.stderr)
        return 2

    symbols = codeyard.lsp("workspaceSymbol", query=options.name)
    if options.file:
        symbols = [symbol for symbol in symbols if place(root, symbol["location"]["uri"], {"line": 0}) == options.file + ":1"]
    if not symbols:
        print(f"nothing is called {options.name}")
        return 1
    best = symbols[0]
    at = named_at(options.name, best["location"])
    uri = best["location"]["uri"]
    print(f"{best['name']} ({best.get('containerName', 'no container')}), {place(root, uri, {'line': at['line'] - 1})}")

    hover = codeyard.lsp("hover", **at)
    if hover:
        words = [line for line in hover["contents"]["value"].splitlines() if line.strip(" `-")]
        print("  " + words[0] if not words[0].startswith("```") else "  " + words[1])
    print("implemented in")
    for found in codeyard.lsp("goToImplementation", **at):
        print("  " + place(root, found["uri"], found["range"]["start"]))
    print("called by")
    for call in codeyard.lsp("incomingCalls", **at):
        caller = call["from"]
        lines = ", ".join(str(called["start"]["line"] + 1) for called in call["fromRanges"])
        print(f"  {caller['name']}, {place(root, caller['uri'], caller['selectionRange']['start'])} (in line {lines})")
    codeyard.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
