#!/usr/bin/env bash
# @typespec/compiler 1.17.0 (npm), tsp-server, for TypeSpec
#
# One would expect: the references of a namespace are the same wherever the question is asked, and include its
#   declaration (LSP 3.17, "Find References Request", includeDeclaration). Definition leads from each use to the
#   declaration.
# What happens: asked at the declaration or at a `using`, the answer is that place alone; asked at a use, it is the
#   uses without both. A rename follows: at the declaration it changes the declaration only, and the project doesn't
#   compile. Models, enums and their members are complete from everywhere.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONDONTWRITEBYTECODE=1
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @typespec/compiler@1.17.0 >/dev/null

mkdir project
ln -s ../node_modules project/node_modules
cat > project/main.tsp <<'TSP'
import "./other.tsp";
using Other;
namespace App;
model User {}
model Page { user: App.User; extra: Extra; }
TSP
cat > project/other.tsp <<'TSP'
namespace Other;
model Extra {}
model Group { first: App.User; page: App.Page; }
TSP
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


server = Server(["node_modules/.bin/tsp-server", "--stdio"], "project")
for name in "main.tsp", "other.tsp":
    server.open(name, "typespec")
place = server.at("main.tsp", 4, "User")
end = time.time() + 60
while len(found := server.references(place)) < 3 and time.time() < end:
    time.sleep(0.3)
for name, line, word in ("main.tsp", 4, "User"), ("main.tsp", 3, "App"), ("other.tsp", 3, "App"), ("other.tsp", 1, "Other"), ("main.tsp", 2, "Other"):
    place = server.at(name, line, word)
    edit = server.ask("textDocument/rename", {**place, "newName": "New"}) or {}
    changed = sorted(f'{os.path.basename(uri)}:{e["range"]["start"]["line"] + 1}' for uri, edits in (edit.get("changes") or {}).items() for e in edits)
    print(f'{word} of {name}:{line}: references {" ".join(server.references(place))}; renamed {" ".join(changed)}')
server.end()
PY
got=$(python3 t.py)
want='User of main.tsp:4: references main.tsp:4 main.tsp:5 other.tsp:3; renamed main.tsp:4 main.tsp:5 other.tsp:3
App of main.tsp:3: references main.tsp:3; renamed main.tsp:3
App of other.tsp:3: references main.tsp:5 other.tsp:3 other.tsp:3; renamed main.tsp:5 other.tsp:3 other.tsp:3
Other of other.tsp:1: references other.tsp:1; renamed other.tsp:1
Other of main.tsp:2: references main.tsp:2; renamed main.tsp:2'
printf '%s\n%s\n' 'One would expect main.tsp:3,5 and other.tsp:3,3 for App, other.tsp:1 and main.tsp:2 for Other, from everywhere:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
