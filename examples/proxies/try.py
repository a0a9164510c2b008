#!/usr/bin/env python3
"""Tries the files of this folder: `codeyard serve` behind nginx, Caddy or haproxy on loopback, with TLS and a certificate made for it.

    try.py nginx CODEYARD     CODEYARD is the program
    try.py caddy CODEYARD
    try.py haproxy CODEYARD

It changes the ports and paths of the files, nothing else, and takes about two minutes. Exit code: 0 if every check is right.
Needed: Python 3, openssl, and the proxy, on the PATH.
"""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
NAME = "code.example.org"
# The address of the client: another one than the proxy's.
CLIENT = "127.0.0.2"
REVISION = "2025-11-25"
failed = []


def check(what, right, seen=""):
    print(f"{'ok ' if right else 'NOT'}  {what}{': ' if seen else ''}{seen}", flush=True)
    if not right:
        failed.append(what)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Client:
    """One connection through the proxy; `context` trusts the certificate."""

    def __init__(self, port, context, token, host=NAME):
        self.port, self.context, self.host, self.token = port, context, host, token
        self.session = None

    def connect(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)
        connection.sock = self.context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), source_address=(CLIENT, 0)), server_hostname=NAME)
        return connection

    def post(self, path, body, connection=None, **more):
        """The response, unread."""
        headers = {"Host": self.host, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": REVISION}
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        connection = connection or self.connect()
        data = body if isinstance(body, bytes) else json.dumps({"jsonrpc": "2.0", **body}).encode()
        connection.request("POST", path, data, headers)
        response = connection.getresponse()
        response.connection = connection
        return response

    def initialize(self, path):
        params = {"protocolVersion": REVISION, "capabilities": {"elicitation": {}}, "clientInfo": {"name": "try", "version": "1"}}
        response = self.post(path, {"id": 1, "method": "initialize", "params": params})
        response.read()
        self.session = response.getheader("Mcp-Session-Id")
        self.post(path, {"method": "notifications/initialized"}).read()


def search(text, **meta):
    params = {"name": "search_code", "arguments": {"query": text}, **({"_meta": meta} if meta else {})}
    return {"id": 7, "method": "tools/call", "params": params}


def events(response):
    """The events of a stream with the seconds at which each arrived."""
    start = time.monotonic()
    while line := response.readline():
        if line.startswith(b"data:") and line[5:].strip():
            yield time.monotonic() - start, json.loads(line[5:])
        elif line.startswith(b":"):
            yield time.monotonic() - start, None


def reason(response):
    try:
        return json.loads(response.read())["error"]["data"]["reason"]
    except (ValueError, KeyError, TypeError):
        return "no answer of codeyard"


def checks(port, context, token, log):
    path = "/mcp/sample/code"
    client = Client(port, context, token)
    client.initialize(path)
    check("a session over TLS", bool(client.session))
    for _ in range(50):
        answer = client.post(path, search("harbour")).read()
        if b"harbour.py" in answer:
            break
        time.sleep(0.2)
    check("a call finds the function", b"harbour.py" in answer)

    connection = client.connect()
    start = time.monotonic()
    for _ in range(200):
        client.post(path, search("harbour"), connection).read()
    check("200 calls on one connection", True, f"{(time.monotonic() - start) * 5:.1f} ms each")

    stranger = Client(port, context, None)
    response = stranger.post(path, search("harbour"))
    check("no token: 401 of codeyard", response.status == 401 and reason(response) == "bearer_required", response.status)
    response = client.post(path, search("harbour"), Origin="https://evil.example")
    check("a foreign Origin: 403 of codeyard", response.status == 403 and reason(response) == "origin_not_allowed", response.status)
    response = Client(port, context, token, host="evil.example").post(path, search("harbour"))
    body = response.read()
    check("a foreign Host gets no answer", response.status in (403, 404, 421) or not body, f"{response.status}, {len(body)} bytes")
    response = client.post(path, b"[" + b" " * 1_500_000 + b"]")
    check("a large body: 413 of codeyard", response.status == 413 and reason(response) == "body_too_large", response.status)
    for probe in ["/metrics", "/livez", "/readyz", "/mcpx", "/"]:
        connection = client.connect()
        connection.request("GET", probe, headers={"Host": NAME})
        status = connection.getresponse().status
        check(f"{probe} is not served", status == 404, status)

    behind = "/code" + path
    forged = {"X_Forwarded_For": "203.0.113.9", "Forwarded": "for=203.0.113.9"}
    check("a call below the prefix /code", b"harbour.py" in client.post(behind, search("harbour"), **forged).read())
    outline = {"name": "get_file_outline", "arguments": {"path": "long.py"}}
    answer = client.post(path, {"id": 8, "method": "tools/call", "params": outline}).read()
    check("a long answer arrives whole", len(answer) > 130_000 and "result" in json.loads(answer), f"{len(answer)} bytes")

    asked = "/mcp/asked/code"
    response = client.post(asked, search("harbour", progressToken="p"))
    seen, answered = [], False
    for at, event in events(response):
        method = (event or {}).get("method")
        seen.append((at, method))
        if method == "elicitation/create":
            prompt = event["id"]
        if method == "notifications/progress" and len(seen) > 4 and not answered:
            answered = True
            reply = {"id": prompt, "result": {"action": "accept", "content": {"decision": "once"}}}
            client.post(asked, reply).read()
    gaps = [b - a for (a, _), (b, _) in zip(seen, seen[1:])]
    check("prompt, progress and answer come one by one", seen[0][1] == "elicitation/create" and seen[0][0] < 1 and max(gaps) < 2,
          f"{len(seen)} events, at most {max(gaps):.1f} s apart")

    response = client.post(asked, search("harbour"))
    stream = events(response)
    prompt = next(stream)[1]["id"]
    time.sleep(70)
    reply = {"id": prompt, "result": {"action": "accept", "content": {"decision": "once"}}}
    client.post(asked, reply).read()
    at, event = next(stream, (0, None))
    check("a prompt that is answered after 70 s without an event", bool(event) and "result" in event, f"{at:.0f} s")
    check("a call after 70 s of rest", b"harbour.py" in client.post(path, search("harbour")).read())

    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "try", "version": "1"}}
    plain = Client(port, context, token)
    listen = {"id": 9, "method": "subscriptions/listen", "params": {"notifications": {}, "_meta": meta}}
    response = plain.post(path, listen, Mcp_Method="subscriptions/listen", MCP_Protocol_Version="2026-07-28")
    stream = events(response)
    times = [next(stream)[0], next(stream)[0]]
    check("the comment of an open subscription", 10 < times[1] < 20, f"after {times[1]:.0f} s")

    before = log.read_text().count("CANCELLED") + log.read_text().count('"cancelled"')
    connection = client.connect()
    response = client.post(asked, search("harbour"), connection)
    next(events(response))
    response.close()
    connection.sock.close()
    connection.close()
    for _ in range(50):
        time.sleep(0.1)
        after = log.read_text().count("CANCELLED") + log.read_text().count('"cancelled"')
        if after > before:
            break
    check("a client that goes away cancels its call", after > before)


def files(top, proxy, http, port):
    """The files of this folder with the ports and paths of this run."""
    config = (HERE.parent / "deploy/codeyard.toml").read_text().replace("127.0.0.1:3939", f"127.0.0.1:{http}").replace("/srv/repos", f"{top}/repos")
    config += "\n[audit]\nenabled = true\n\n[query]\npayload_bytes = 400000\n"
    config += f'\n[[workspace]]\nname = "asked"\nroots = ["{top}/repos/sample"]\npermission = {{ lsp = "ask" }}\n'
    config += f'[[workspace]]\nname = "sample"\nroots = ["{top}/repos/sample"]\n'
    (top / "codeyard.toml").write_text(config)
    if proxy == "nginx":
        text = (HERE / "nginx.conf").read_text()
        text = text.replace("listen [::]:443 ssl http2;", "").replace("listen 443", f"listen 127.0.0.1:{port}")
        text = text.replace("/etc/ssl", str(top)).replace("127.0.0.1:3939", f"127.0.0.1:{http}")
        paths = "".join(f"{kind}_temp_path {top}/{kind};" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        user = "user root;" if os.geteuid() == 0 else ""
        text = f"{user} pid {top}/pid; error_log {top}/proxy.log; events {{}} http {{ access_log off; {paths}\n{text}}}"
        (top / "nginx.conf").write_text(text)
        return ["nginx", "-c", str(top / "nginx.conf"), "-g", "daemon off;"]
    if proxy == "haproxy":
        both = "".join((top / f"{NAME}.{kind}").read_text() for kind in ["pem", "key"])
        (top / f"{NAME}.both").write_text(both)
        text = (HERE / "haproxy.cfg").read_text().replace("bind :443", f"bind 127.0.0.1:{port}")
        text = text.replace("/etc/ssl", str(top)).replace("127.0.0.1:3939", f"127.0.0.1:{http}")
        (top / "haproxy.cfg").write_text(text)
        return ["haproxy", "-db", "-f", str(top / "haproxy.cfg")]
    text = (HERE / "Caddyfile").read_text()
    text = text.replace(f"{NAME} {{", f"{NAME}:{port} {{\n\tbind 127.0.0.1", 1).replace("/etc/ssl", str(top))
    text = text.replace("{\n", "{\n\tadmin off\n\tauto_https disable_redirects\n", 1).replace("127.0.0.1:3939", f"127.0.0.1:{http}")
    (top / "Caddyfile").write_text(text)
    return ["caddy", "run", "--config", str(top / "Caddyfile"), "--adapter", "caddyfile"]


def run(proxy, program, top):
    repository = top / "repos/sample"
    repository.mkdir(parents=True)
    (repository / "harbour.py").write_text("def harbour(ships):\n    return len(ships)\n")
    (repository / "long.py").write_text("".join(f"def unload_{n:04}(ships, cargo):\n    return ships[{n}]\n" for n in range(2000)))
    key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}", "-addext",
           f"subjectAltName=DNS:{NAME}", "-keyout", f"{top}/{NAME}.key", "-out", f"{top}/{NAME}.pem"]
    subprocess.run(key, check=True, capture_output=True)
    http_port, port = free_port(), free_port()
    command = files(top, proxy, http_port, port)
    environment = {**os.environ, "HOME": str(top), "XDG_DATA_HOME": str(top), "CODEYARD_STATE_DIR": str(top / "state")}
    token = subprocess.run([program, "token", "add", "try"], env=environment, check=True, capture_output=True, text=True).stdout.strip()
    log = top / "codeyard.log"
    started = []
    try:
        serve = [program, "serve", "--config", str(top / "codeyard.toml")]
        started.append(subprocess.Popen(serve, env=environment, stderr=log.open("w"), stdout=subprocess.DEVNULL))
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=(top / "proxy.err").open("w")))
        for wanted in [http_port, port]:
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", wanted)) == 0:
                        break
                time.sleep(0.1)
            else:
                sys.exit(f"nothing listens on {wanted}:\n{log.read_text()}\n{(top / 'proxy.err').read_text()}")
        context = ssl.create_default_context(cafile=f"{top}/{NAME}.pem")
        checks(port, context, token, log)
        audited = subprocess.run([program, "audit", "export"], env=environment, check=True, capture_output=True, text=True).stdout
        addresses = {line.get("from") for line in map(json.loads, audited.splitlines()) if line["event"] == "call"}
        check("the audit log has the client's address, whatever the client says", addresses == {CLIENT}, addresses)
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                check(f"{process.args[0]} ends within 30 s", False)
                process.kill()
                process.wait()
    if failed and os.environ.get("TRY_VERBOSE"):
        print(log.read_text()[-4000:], (top / "proxy.err").read_text()[-2000:])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("nginx", "caddy", "haproxy"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        run(sys.argv[1], sys.argv[2], Path(folder))
    sys.exit(1 if failed else 0)
