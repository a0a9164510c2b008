#!/usr/bin/env bash
# zuban 0.10.2, basedpyright 1.40.2, jedi-language-server 0.47.0, python-lsp-server 1.15.0, pyrefly 1.5.0 (PyPI),
# TypeScript 7.0.2 (npm, tsc --lsp) and vtsls 0.3.0 (npm), with a client that declares no capabilities
#
# One would expect: the forms that need no capability. LSP 3.17, "WorkspaceEdit": without the client's documentChanges
#   edits are in `changes`. "Document Symbols Request": without hierarchicalDocumentSymbolSupport a flat list with
#   `location`. "Register Capability": a client opts in by dynamicRegistration. ty (0.0.108) keeps all three.
# What happens: zuban, basedpyright, jedi-language-server and python-lsp-server rename by documentChanges alone, which
#   such a client reads as an edit of nothing. pyrefly returns an empty list of symbols instead of a flat one. vtsls
#   returns a tree. TypeScript 7 registers for changes of the configuration.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib ty==0.0.108 zuban==0.10.2 basedpyright==1.40.2 jedi-language-server==0.47.0 python-lsp-server==1.15.0 \
  jedi==0.20.1 pyrefly==1.5.0
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent typescript@7.0.2 @vtsls/language-server@0.3.0 >/dev/null

mkdir project
touch project/pyproject.toml
echo '{}' > project/tsconfig.json
echo 'def total(): pass' > project/a.py
echo 'export function total() {}' > project/a.ts
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
    (["lib/bin/ty", "server"], "a.py", "python"),
    (["lib/bin/zuban", "server"], "a.py", "python"),
    (["lib/bin/basedpyright-langserver", "--stdio"], "a.py", "python"),
    (["lib/bin/jedi-language-server"], "a.py", "python"),
    (["lib/bin/pylsp"], "a.py", "python"),
    (["lib/bin/pyrefly", "lsp"], "a.py", "python"),
    (["node_modules/.bin/vtsls", "--stdio"], "a.ts", "typescript"),
    (["node_modules/.bin/tsc", "--lsp", "--stdio"], "a.ts", "typescript"),
):
    server = Server(command, "project", capabilities={})
    server.open(file, language)
    place = server.at(file, 1, "total")
    settled(lambda: server.references(place))
    edit = server.ask("textDocument/rename", {**place, "newName": "summed"})
    symbols = server.ask("textDocument/documentSymbol", {"textDocument": {"uri": server.uri(file)}})
    form = "none" if not symbols else "flat" if "location" in symbols[0] else "tree"
    registers = "registers" if "client/registerCapability" in server.asked else "registers nothing"
    print(f"{os.path.basename(command[0])}: {', '.join(k for k in edit if edit[k])}; symbols {form}; {registers}")
    server.end()
PY
got=$(python3 t.py)
want='ty: changes; symbols flat; registers nothing
zuban: documentChanges; symbols flat; registers nothing
basedpyright-langserver: documentChanges; symbols flat; registers nothing
jedi-language-server: documentChanges; symbols flat; registers nothing
pylsp: documentChanges; symbols flat; registers nothing
pyrefly: changes; symbols none; registers nothing
vtsls: changes; symbols tree; registers nothing
tsc: changes; symbols flat; registers'
printf '%s\n%s\n' 'One would expect that each says what ty says:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
