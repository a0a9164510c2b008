#!/usr/bin/env python3
"""A language server for tests of load: answers one request at a time, each in the same time, and can push diagnostics all the time.

--takes-ms N   time for an answer
--push-kb N    size of each pushed set of diagnostics; with it, sets are pushed without a pause while a file named "attack" lies in the root
--answer-kb N  size of a hover
"""

import argparse
import json
import os
import sys
import threading
import time
from urllib.parse import unquote, urlparse

CAPABILITIES = {"textDocumentSync": 1, "hoverProvider": True}
WRITE = threading.Lock()


def read():
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with WRITE:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        sys.stdout.buffer.flush()


def push(root, size):
    """Pushes while it may; each set differs from the last one."""
    here = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    number = 0
    while True:
        if not os.path.exists(os.path.join(root, "attack")):
            time.sleep(0.05)
            continue
        number += 1
        items = [{"range": here, "severity": 2, "message": f"{number} {item} " + "x" * 1000} for item in range(size)]
        params = {"uri": f"file://{root}/file{number % 50}.busy", "diagnostics": items}
        send({"method": "textDocument/publishDiagnostics", "params": params})


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--takes-ms", type=float, default=0)
    options.add_argument("--push-kb", type=int, default=0)
    options.add_argument("--answer-kb", type=int, default=1)
    options = options.parse_args()
    ended = 0.0
    while (message := read()) is not None:
        method = message.get("method")
        if method == "exit":
            return
        if method == "initialize" and options.push_kb:
            root = unquote(urlparse(message["params"]["workspaceFolders"][0]["uri"]).path)
            threading.Thread(target=push, args=(root, options.push_kb), daemon=True).start()
        if "id" not in message or method is None:
            continue
        result = None
        if method == "initialize":
            result = {"capabilities": CAPABILITIES, "serverInfo": {"name": "busy", "version": "1"}}
        if method == "textDocument/hover":
            result = {"contents": {"kind": "plaintext", "value": "busy " + "y" * (1000 * options.answer_kb)}}
            ended = max(ended, time.monotonic()) + options.takes_ms / 1000
            time.sleep(max(0.0, ended - time.monotonic()))
            ended = max(ended, time.monotonic() - 0.005)
        send({"id": message["id"], "result": result})


main()
