#!/usr/bin/env bash
# zuban 0.10.2, jedi-language-server 0.47.0, pyrefly 1.5.0 and ty 0.0.108 (PyPI), textDocument/rename
#
# One would expect: a program that runs before a rename runs after it (LSP 3.17, "Rename Request": the rename of a
#   symbol in the whole workspace), or an error instead of an edit.
# What happens: each answers with an edit that leaves uses out, and nothing says so. A parameter: zuban and
#   jedi-language-server leave the keyword arguments of calls. A field of a dataclass: zuban and pyrefly leave the
#   keyword arguments of its constructor. A name that __all__ lists: all four leave the string, so that
#   `from m import *` fails.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib zuban==0.10.2 jedi-language-server==0.47.0 jedi==0.20.1 pyrefly==1.5.0 ty==0.0.108

mkdir project
touch project/pyproject.toml
cat > project/m.py <<'PY'
from dataclasses import dataclass
__all__ = ["total"]
def total(size: int) -> int:
    return size * 2
@dataclass
class Point:
    left: int
PY
printf 'from m import total\nprint(total(size=3))\n' > project/parameter.py
printf 'from m import Point\nprint(Point(left=1).left)\n' > project/field.py
printf 'from m import *\nprint(total(1))\n' > project/exported.py
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

import shutil


def apply(edit, folder):
    shutil.copytree("project", folder)
    files = edit.get("changes") or {d["textDocument"]["uri"]: d["edits"] for d in edit["documentChanges"]}
    for uri, changes in files.items():
        path = pathlib.Path(folder, os.path.basename(uri))
        lines = path.read_text().split("\n")
        for change in sorted(changes, key=lambda c: (c["range"]["start"]["line"], -c["range"]["start"]["character"])):
            start, end = change["range"]["start"], change["range"]["end"]
            line = lines[start["line"]]
            lines[start["line"]] = line[:start["character"]] + change["newText"] + line[end["character"]:]
        path.write_text("\n".join(lines))


programs = ["parameter", "field", "exported"]
for name, *arguments in ["zuban", "server"], ["jedi-language-server"], ["pyrefly", "lsp"], ["ty", "server"]:
    server = Server([f"lib/bin/{name}", *arguments], "project")
    for file in "m", *programs:
        server.open(f"{file}.py", "python")
    outcome = []
    for program, line, word in zip(programs, (3, 7, 3), ("size", "left", "total")):
        place = server.at("m.py", line, word)
        settled(lambda: server.references(place))
        apply(server.ask("textDocument/rename", {**place, "newName": "renamed"}), f"{name}-{program}")
        ran = subprocess.run(["python3", f"{name}-{program}/{program}.py"], capture_output=True, text=True)
        outcome.append(f"{program} {'runs' if ran.returncode == 0 else ran.stderr.strip().splitlines()[-1].split(chr(58))[0]}")
    print(f"{name}:", ", ".join(outcome))
    server.end()
PY
got=$(python3 t.py)
want='zuban: parameter TypeError, field TypeError, exported AttributeError
jedi-language-server: parameter TypeError, field runs, exported AttributeError
pyrefly: parameter runs, field TypeError, exported AttributeError
ty: parameter runs, field runs, exported AttributeError'
printf '%s\n%s\n' 'One would expect that all run:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
