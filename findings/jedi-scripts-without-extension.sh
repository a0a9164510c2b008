#!/usr/bin/env bash
# jedi-language-server 0.47.0 and python-lsp-server 1.15.0 (PyPI), both on jedi 0.20.1
#
# One would expect: the uses in all open documents, wherever the question is asked (LSP 3.17, "Find References Request":
#   project-wide references; the client has said that the script is Python, "TextDocumentItem": languageId).
# What happens: jedi searches files that end in .py or .pyi, and the document that the question is about. A script without
#   an extension has its uses in the answer only if one asks in it. Asked at the definition they are missing, although the
#   script is open, and a rename there leaves the script, which then fails at its import. ty 0.0.108 has them each time.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib jedi-language-server==0.47.0 python-lsp-server==1.15.0 jedi==0.20.1 ty==0.0.108

mkdir project
touch project/pyproject.toml
echo 'def core(): return 1' > project/core.py
printf 'from core import core\n\n\ncore()\n' > project/use.py
printf '#!/usr/bin/env python3\nfrom core import core\n\ncore()\n' > project/deploy
cat > t.py <<'PY'
import atexit, json, os, pathlib, queue, signal, subprocess, threading


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


for command in ["jedi-language-server"], ["pylsp"], ["ty", "server"]:
    server = Server([f"lib/bin/{command[0]}", *command[1:]], "project")
    for name in "core.py", "use.py", "deploy":
        server.open(name, "python")
    definition = server.at("core.py", 1, "core")
    print(f"{command[0]}, asked in core.py:", *server.references(definition))
    print(f"{command[0]}, asked in deploy:", *server.references(server.at("deploy", 4, "core")))
    edit = server.ask("textDocument/rename", {**definition, "newName": "renamed"})
    files = edit.get("changes") or [d["textDocument"]["uri"] for d in edit["documentChanges"]]
    print(f"{command[0]}, a rename in core.py changes:", *sorted(map(os.path.basename, files)))
    server.end()
PY
got=$(python3 t.py)
want='jedi-language-server, asked in core.py: core.py:1 use.py:1 use.py:4
jedi-language-server, asked in deploy: core.py:1 deploy:2 deploy:4 use.py:1 use.py:4
jedi-language-server, a rename in core.py changes: core.py use.py
pylsp, asked in core.py: core.py:1 use.py:1 use.py:4
pylsp, asked in deploy: core.py:1 deploy:2 deploy:4 use.py:1 use.py:4
pylsp, a rename in core.py changes: core.py use.py
ty, asked in core.py: core.py:1 deploy:2 deploy:4 use.py:1 use.py:4
ty, asked in deploy: core.py:1 deploy:2 deploy:4 use.py:1 use.py:4
ty, a rename in core.py changes: core.py deploy use.py'
printf '%s\n%s\n' 'One would expect the answers of ty from all three:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
