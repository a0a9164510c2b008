#!/usr/bin/env python3
"""A language server that never answers a hover, and records the cancellations that it receives.

usage: python3 mute_lsp.py NOTES
"""

import json
import sys


def read():
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


def note(text):
    with open(sys.argv[1], "a", encoding="utf-8") as notes:
        notes.write(text + "\n")


def main():
    while (message := read()) is not None:
        method = message.get("method")
        if method == "exit":
            return
        if method == "$/cancelRequest":
            note(f"cancelled {message['params']['id']}")
        elif method == "textDocument/hover":
            note(f"asked {message['id']}")
        elif method == "initialize":
            capabilities = {"textDocumentSync": 1, "hoverProvider": True}
            send({"id": message["id"], "result": {"capabilities": capabilities}})
        elif "id" in message and method is not None:
            send({"id": message["id"], "result": None})


main()
