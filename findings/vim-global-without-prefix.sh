#!/usr/bin/env bash
# vim-language-server 2.3.1 (npm)
#
# One would expect: in a legacy script `total` and `g:total` are one variable outside of functions (Vim's help,
#   section "internal-variables": without a prefix it's global there), so each has the references of the other.
# What happens: they are two variables, each with the uses that are written in its way. A rename of one leaves the
#   other, so the script stops with E121 or goes on with an old value.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONDONTWRITEBYTECODE=1
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent vim-language-server@2.3.1 >/dev/null

mkdir project
cat > project/a.vim <<'VIM'
let total = 1
function! Add() abort
  let g:total += 1
endfunction
call Add()
echo total
VIM
echo 'echo g:total + total' > project/b.vim
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


server = Server(["node_modules/.bin/vim-language-server", "--stdio"], "project", {"textDocument": {"rename": {}}})
for name in "a.vim", "b.vim":
    server.open(name, "vim")
for line, word in (1, "total"), (3, "g:total"):
    place = server.at("a.vim", line, word)
    place["position"]["character"] += 3
    end = time.time() + 60
    while "b.vim:1" not in (found := server.references(place)) and time.time() < end:
        time.sleep(0.3)
    edit = server.ask("textDocument/rename", {**place, "newName": word.replace("total", "sum")})
    edits = edit.get("changes") or {d["textDocument"]["uri"]: d["edits"] for d in edit["documentChanges"]}
    changed = sorted(f'{os.path.basename(uri)}:{e["range"]["start"]["line"] + 1}' for uri, some in edits.items() for e in some)
    print(f'{word}: references {" ".join(found)}; renamed {" ".join(changed)}')
server.end()
PY
got=$(python3 t.py)
want='total: references a.vim:6 b.vim:1; renamed a.vim:1 a.vim:6 b.vim:1
g:total: references b.vim:1; renamed a.vim:3 b.vim:1'
printf '%s\n%s\n' 'One would expect lines 1, 3 and 6 of a.vim and line 1 of b.vim for both, references without the declaration:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
