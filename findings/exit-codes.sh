#!/usr/bin/env bash
# TypeScript 7.0.2 (npm, tsc --lsp), pyrefly 1.5.0, zuban 0.10.2, jedi-language-server 0.47.0, ty 0.0.108 (PyPI)
#
# One would expect: a server ends with 0 after shutdown and exit, and with 1 after exit alone (LSP 3.17, "Exit
#   Notification"), so that whoever watches it can tell one from the other. basedpyright (1.40.2) does.
# What happens: TypeScript 7 ends with 1 either way, pyrefly, zuban and jedi-language-server with 0 either way, and ty
#   with 2 in the second case. The exit code tells nothing.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib ty==0.0.108 pyrefly==1.5.0 zuban==0.10.2 basedpyright==1.40.2 jedi-language-server==0.47.0 jedi==0.20.1
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent typescript@7.0.2 >/dev/null

mkdir project
cat > t.py <<'PY'
import atexit, json, os, pathlib, queue, signal, subprocess, threading, time


class Server:
    """A language server; what it asks is answered with null."""

    def __init__(self, command, root, capabilities=None, folders=None):
        self.root, self.number, self.asked, self.replies = pathlib.Path(root).resolve(), 0, [], queue.Queue()
        command = [os.path.abspath(command[0]), *command[1:]]
        self.process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        atexit.register(self.end)
        threading.Thread(target=self.read, daemon=True).start()
        folders = [{"uri": pathlib.Path(f).resolve().as_uri(), "name": str(f)} for f in folders or [root]]
        self.told = self.ask("initialize", {"processId": os.getpid(), "rootUri": self.root.as_uri(),
                                            "workspaceFolders": folders, "capabilities": capabilities or {}})
        self.tell("initialized", {})

    def read(self):
        while line := self.process.stdout.readline():
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
            elif not line.strip():
                message = json.loads(self.process.stdout.read(size))
                if "method" not in message:
                    self.replies.put(message)
                elif "id" in message:
                    self.asked.append(message["method"])
                    items = (message.get("params") or {}).get("items")
                    self.send({"id": message["id"], "result": items and [None] * len(items)})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params=None):
        self.number += 1
        self.send({"id": self.number, "method": method, **({} if params is None else {"params": params})})
        while (reply := self.replies.get(timeout=90)).get("id") != self.number:
            pass
        return reply["result"] if "result" in reply else reply["error"]

    def uri(self, name):
        return (self.root / name).as_uri()

    def open(self, name, language):
        text = (self.root / name).read_text()
        document = {"uri": self.uri(name), "languageId": language, "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def at(self, name, line, word):
        """Where `word` is in a line, counted from 1."""
        column = (self.root / name).read_text().split("\n")[line - 1].index(word)
        return {"textDocument": {"uri": self.uri(name)}, "position": {"line": line - 1, "character": column}}

    def references(self, place):
        found = self.ask("textDocument/references", {**place, "context": {"includeDeclaration": True}})
        return sorted(f'{os.path.basename(f["uri"])}:{f["range"]["start"]["line"] + 1}' for f in found or [])

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def settled(question, seconds=3):
    """The answer that has been the same, and not empty, for some seconds."""
    answer, since, end = None, time.time(), time.time() + 90
    while time.time() < end and (not answer or time.time() - since < seconds):
        time.sleep(0.3)
        if (new := question()) != answer:
            answer, since = new, time.time()
    return answer


for command in (["lib/bin/basedpyright-langserver", "--stdio"], ["node_modules/.bin/tsc", "--lsp", "--stdio"],
                ["lib/bin/pyrefly", "lsp"], ["lib/bin/zuban", "server"], ["lib/bin/jedi-language-server"],
                ["lib/bin/ty", "server"]):
    codes = []
    for orderly in True, False:
        server = Server(command, "project")
        if orderly:
            server.ask("shutdown")
        server.send({"method": "exit"})
        codes.append(server.process.wait(60))
    print(f"{os.path.basename(command[0])}: {codes[0]} with shutdown, {codes[1]} without")
PY
got=$(python3 t.py)
want='basedpyright-langserver: 0 with shutdown, 1 without
tsc: 1 with shutdown, 1 without
pyrefly: 0 with shutdown, 0 without
zuban: 0 with shutdown, 0 without
jedi-language-server: 0 with shutdown, 0 without
ty: 0 with shutdown, 2 without'
printf '%s\n%s\n' 'One would expect 0 with shutdown, 1 without:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
