#!/usr/bin/env bash
# @nomicfoundation/solidity-language-server 0.8.4 (npm)
#
# One would expect: textDocument/rename is a question: its answer is an edit that the client may show and drop (LSP
#   3.17, "Rename Request"), so the server knows afterwards what it knew before. The edit keeps a contract compiling.
# What happens: once a rename was asked for, the server takes the name for changed though the document isn't:
#   references and definition of it are empty, and a second rename is, without an error, until the document's text is
#   sent again. The edit also replaces the local name of an import (`import {Base as Parent}` gives `is New`), and it
#   leaves the functions that override the renamed one, arguments by name, calls by `this.`, and `.slot` in assembly.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp XDG_CONFIG_HOME=$tmp XDG_CACHE_HOME=$tmp XDG_DATA_HOME=$tmp PYTHONDONTWRITEBYTECODE=1
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @nomicfoundation/solidity-language-server@0.8.4 >/dev/null

mkdir project
cat > project/A.sol <<'SOL'
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;
import {Base as Parent} from "./B.sol";
contract A is Parent {
    uint256 total;
    function add(uint256 n) public {
        total += n;
        this.add({n: 1});
        assembly { sstore(total.slot, 1) }
    }
    function ping() public override {}
}
SOL
cat > project/B.sol <<'SOL'
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;
contract Base { function ping() public virtual {} }
SOL
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


server = Server(["node_modules/.bin/nomicfoundation-solidity-language-server", "--stdio"], "project")
for name in "A.sol", "B.sol":
    server.open(name, "solidity")

def changed(place):
    edit = server.ask("textDocument/rename", {**place, "newName": "New"}) or {}
    return " ".join(sorted(f'{os.path.basename(uri)}:{e["range"]["start"]["line"] + 1}' for uri, edits in (edit.get("changes") or {}).items() for e in edits))

for name, line, word in ("A.sol", 5, "total"), ("A.sol", 6, "n)"), ("A.sol", 6, "add"), ("B.sol", 3, "ping"), ("B.sol", 3, "Base"):
    place = server.at(name, line, word)
    end = time.time() + 60
    while not (before := server.references(place)) and time.time() < end:
        time.sleep(0.3)
    print(f'{word.strip(")")}: references {" ".join(before)}; renamed {changed(place)}; then references {" ".join(server.references(place)) or "none"}, renamed {changed(place) or "none"}')
server.end()
PY
got=$(python3 t.py)
want='total: references A.sol:5 A.sol:7; renamed A.sol:5 A.sol:7; then references none, renamed none
n: references A.sol:6 A.sol:7; renamed A.sol:6 A.sol:7; then references none, renamed none
add: references A.sol:6; renamed A.sol:6; then references none, renamed none
ping: references B.sol:3; renamed B.sol:3; then references none, renamed none
Base: references A.sol:3 A.sol:4 B.sol:3; renamed A.sol:3 A.sol:4 B.sol:3; then references none, renamed none'
printf '%s\n%s\n' 'One would expect the same lines four times, with A.sol:9 for total, 8 for n and add, 11 for ping, 3 but not 4 for Base:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
