#!/usr/bin/env bash
# yaml-language-server 2.0.0 (npm), textDocument/documentSymbol
#
# One would expect: the outline of a file has the same depth from the first key to the last.
# What happens: after 5,000 symbols (the default of the setting yaml.maxItemsComputed) the outline isn't cut: the keys of
#   the top level go on, but without what is in them. Of 3,000 keys with two keys each, the later ones look like empty
#   ones. No message says so, and the keys that are missing can't be told from keys that aren't there.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent yaml-language-server@2.0.0 >/dev/null

mkdir project
for i in $(seq 3000); do printf 'service%s:\n  image: a\n  port: 1\n' "$i"; done > project/a.yaml
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


server = Server(["node_modules/.bin/yaml-language-server", "--stdio"], "project",
                {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}})
server.open("a.yaml", "yaml")
keys = settled(lambda: server.ask("textDocument/documentSymbol", {"textDocument": {"uri": server.uri("a.yaml")}}))
whole = sum(len(key.get("children") or []) == 2 for key in keys)
none = sum(not key.get("children") for key in keys)
print(f"{len(keys)} keys, {whole} with two children, {none} without any")
PY
got=$(python3 t.py)
want='3000 keys, 1000 with two children, 2000 without any'
printf '%s\n%s\n' 'One would expect 3000 keys with two children:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
