#!/usr/bin/env bash
# bash-language-server 5.8.1 (npm), references and rename
#
# One would expect: references of a variable are its uses, and a rename changes the same places (both ask about a symbol,
#   LSP 3.17, "Find References Request" and "Rename Request").
# What happens: the two have rules of their own. References are all words of that name in all scripts of the folder: a
#   local variable of a function, and scripts that neither source each other nor share a process. The rename follows
#   scopes and `source`. Both leave out `trap cleanup EXIT`, so that a script whose function was renamed ends with
#   "command not found".
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent bash-language-server@5.8.1 >/dev/null

mkdir project
cat > project/a.sh <<'SH'
name=one
cleanup() { echo "$name"; }
trap cleanup EXIT
SH
echo 'other() { local name=two; echo "$name"; }' > project/b.sh
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


server = Server(["node_modules/.bin/bash-language-server", "start"], "project")
server.open("a.sh", "shellscript")
server.open("b.sh", "shellscript")
for line, word in (1, "name"), (2, "cleanup"):
    place = server.at("a.sh", line, word)
    print(f"references of {word}:", *settled(lambda: server.references(place)))
    edit = server.ask("textDocument/rename", {**place, "newName": "renamed"})
    files = edit.get("changes") or {d["textDocument"]["uri"]: d["edits"] for d in edit["documentChanges"]}
    changed = [f'{os.path.basename(uri)}:{e["range"]["start"]["line"] + 1}' for uri, edits in files.items() for e in edits]
    print(f"rename of {word}:", *sorted(changed))
PY
got=$(python3 t.py)
want='references of name: a.sh:1 a.sh:2 b.sh:1 b.sh:1
rename of name: a.sh:1 a.sh:2
references of cleanup: a.sh:2
rename of cleanup: a.sh:2'
printf '%s\n%s\n' 'One would expect a.sh:1 a.sh:2 twice, then a.sh:2 a.sh:3 twice:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
