#!/usr/bin/env python3
"""The smallest language server: knows words and lines beginning with "def". For tests of the command line."""

import json
import sys
from urllib.parse import unquote, urlparse

CAPABILITIES = {
    "textDocumentSync": 1,
    "hoverProvider": True,
    "definitionProvider": True,
    "documentSymbolProvider": True,
    "workspaceSymbolProvider": True,
}


def read():
    length = 0
    while (line := sys.stdin.buffer.readline().strip()):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


def span(line, start, end):
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def lines(uri):
    with open(unquote(urlparse(uri).path), encoding="utf-8") as file:
        return file.read().splitlines()


def symbols(uri):
    for number, text in enumerate(lines(uri)):
        if text.startswith("def "):
            here = span(number, 4, len(text))
            yield {"name": text[4:], "kind": 12, "range": here, "selectionRange": here}


def answer(method, params):
    if method == "initialize":
        return {"capabilities": CAPABILITIES, "serverInfo": {"name": "tiny", "version": "7"}}
    if method == "textDocument/hover":
        text = lines(params["textDocument"]["uri"])[params["position"]["line"]]
        return {"contents": {"kind": "plaintext", "value": "tiny says: " + text}}
    if method == "textDocument/documentSymbol":
        return list(symbols(params["textDocument"]["uri"]))
    if method == "textDocument/definition":
        uri = params["textDocument"]["uri"]
        return [{"uri": uri, "range": found["range"]} for found in symbols(uri)]
    return None if method == "shutdown" else []


def main():
    print("tiny is here", file=sys.stderr, flush=True)
    while (message := read()) is not None:
        if message.get("method") == "exit":
            return
        if "id" in message and "method" in message:
            send({"id": message["id"], "result": answer(message["method"], message.get("params") or {})})


main()
