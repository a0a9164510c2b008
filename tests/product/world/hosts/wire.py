"""Records what a host and codeyard say to each other over MCP, without changing it.

`Proxy` stands between them over HTTP. `python3 wire.py LOG COMMAND...` stands between them over standard input and output.
One line of JSON for each message: `{"from": "host"|"codeyard", "message": …}`.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

Json = Any
HOP = {"connection", "transfer-encoding", "content-length", "host", "keep-alive"}


class Record:
    """The recorded messages, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()

    def note(self, sender: str, text: str, **more: Json) -> None:
        try:
            message = json.loads(text)
        except ValueError:
            message = text
        with self.lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"from": sender, "message": message, **more}) + "\n")


def messages(path: Path) -> list[Json]:
    """All recorded entries."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Proxy:
    """Forwards HTTP from a free port of loopback to `upstream` ("host:port")."""

    def __init__(self, upstream: str, record: Record) -> None:
        self.upstream = upstream
        self.record = record
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if body:
                    proxy.record.note("host", body.decode())
                upstream = http.client.HTTPConnection(proxy.upstream)
                headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
                upstream.request(self.command, self.path, body or None, {**headers, "Host": proxy.upstream})
                answer = upstream.getresponse()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in HOP:
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                self.relay(answer)

            def relay(self, answer: http.client.HTTPResponse) -> None:
                streams = answer.headers.get_content_type() == "text/event-stream"
                whole = b""
                while part := answer.read1(65536):
                    whole += part
                    while streams and b"\n\n" in whole:
                        event, whole = whole.split(b"\n\n", 1)
                        self.note_event(event.decode())
                    self.wfile.write(part)
                    self.wfile.flush()
                if whole.strip() and not streams:
                    proxy.record.note("codeyard", whole.decode(), status=answer.status)
                elif answer.status >= 400:
                    proxy.record.note("codeyard", "", status=answer.status)

            def note_event(self, event: str) -> None:
                lines = [line[5:].strip() for line in event.splitlines() if line.startswith("data:")]
                if any(lines):
                    proxy.record.note("codeyard", "\n".join(lines))

            do_GET = do_POST = do_DELETE = forward

        return Handler


def copy_lines(source: BinaryIO, target: BinaryIO, sender: str, record: Record) -> None:
    for line in source:
        record.note(sender, line.decode(errors="replace"))
        try:
            target.write(line)
            target.flush()
        except OSError:
            break
    target.close()


def main() -> int:
    record = Record(Path(sys.argv[1]))
    child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    arguments = (sys.stdin.buffer, child.stdin, "host", record)
    threading.Thread(target=copy_lines, args=arguments, daemon=True).start()
    copy_lines(child.stdout, os.fdopen(1, "wb", closefd=False), "codeyard", record)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main())
