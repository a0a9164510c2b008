#!/usr/bin/env bash
# just-lsp 0.10.0 (PyPI), for justfiles
#
# One would expect: references of a recipe or variable in the justfile and what it imports, which the server reads:
#   its definition leads from one to the other (just's manual, "Imports": recipes and variables are those of one
#   justfile).
# What happens: references and renames know one file. At a use of what another file defines they are empty, without
#   the use itself, and a rename at the definition leaves the other files' uses, so that just refuses the justfile.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib just-lsp==0.10.0

mkdir project
cat > project/justfile <<'JUST'
import 'more.just'
version := "1"
build:
    echo {{version}}
all: build pack
JUST
cat > project/more.just <<'JUST'
pack: build
    echo {{version}}
JUST
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


server = Server(["lib/bin/just-lsp"], "project")
for name in "justfile", "more.just":
    server.open(name, "just")
for name, line, word in ("justfile", 3, "build"), ("more.just", 1, "build"), ("justfile", 5, "pack"), ("more.just", 2, "version"):
    place = server.at(name, line, word)
    end = time.time() + 30
    while not (target := server.ask("textDocument/definition", place)) and time.time() < end:
        time.sleep(0.3)
    target = target[0] if isinstance(target, list) else target
    edit = server.ask("textDocument/rename", {**place, "newName": "new"}) or {}
    changed = sorted(f'{os.path.basename(uri)}:{e["range"]["start"]["line"] + 1}' for uri, edits in (edit.get("changes") or {}).items() for e in edits)
    print(f'{word} of {name}:{line}: definition {os.path.basename(target["uri"])}:{target["range"]["start"]["line"] + 1}, references {" ".join(server.references(place)) or "none"}, renamed {" ".join(changed) or "none"}')
server.end()
PY
got=$(python3 t.py)
want='build of justfile:3: definition justfile:3, references justfile:3 justfile:5, renamed justfile:3 justfile:5
build of more.just:1: definition justfile:3, references none, renamed none
pack of justfile:5: definition more.just:1, references none, renamed none
version of more.just:2: definition justfile:2, references none, renamed none'
printf '%s\n%s\n' 'One would expect justfile:3,5 and more.just:1 for build, more.just:1 and justfile:5 for pack, justfile:2,4 and more.just:2 for version:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
