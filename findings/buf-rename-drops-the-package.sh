#!/usr/bin/env bash
# buf-bin 1.75.0 (PyPI), the language server of buf
#
# One would expect: a rename replaces the name and leaves what stands before it (LSP 3.17, "Rename Request": the
#   rename of the symbol), and references are all names that resolve to it (protobuf.dev, "Packages and Name
#   Resolution").
# What happens: the whole qualified name is replaced: b.v1.Role in another package becomes Kind alone, which `buf
#   build` doesn't find any more. A message that others are nested in isn't found in their qualified names,
#   User.Inner, an enum's value isn't where it is used as a default or in an option, and a message isn't where it is
#   extended: those keep the old name. The edit is a success without a warning.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib buf-bin==1.75.0

mkdir -p project/a/v1 project/b/v1
echo 'version: v2' > project/buf.yaml
cat > project/a/v1/a.proto <<'PROTO'
syntax = "proto2";
package a.v1;
import "b/v1/b.proto";
message User {
  message Inner {}
  optional b.v1.Role role = 1 [default = ROLE_A];
}
message Group {
  optional User.Inner inner = 1;
}
extend b.v1.Open {
  optional string more = 100;
}
PROTO
cat > project/b/v1/b.proto <<'PROTO'
syntax = "proto2";
package b.v1;
enum Role {
  ROLE_NONE = 0;
  ROLE_A = 1;
}
message Open {
  extensions 100 to 200;
}
PROTO
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


server = Server(["lib/bin/buf", "lsp", "serve"], "project")
names = "a/v1/a.proto", "b/v1/b.proto"
for name in names:
    server.open(name, "proto")

def build():
    done = subprocess.run(["../lib/bin/buf", "build"], cwd="project", capture_output=True, text=True)
    return done.stdout.strip() + done.stderr.strip() or "right"

print("build:", build())
a, b = names
for name, line, word, new in (b, 3, "Role", "Kind"), (a, 4, "User", "Person"), (b, 5, "ROLE_A", "ROLE_B"), (b, 7, "Open", "Closed"):
    texts = {server.uri(n): (server.root / n).read_text().split("\n") for n in names}
    edit, end = None, time.time() + 60
    while not (edit and edit.get("changes")) and time.time() < end:
        edit = server.ask("textDocument/rename", {**server.at(name, line, word), "newName": new})
        time.sleep(0.3)
    print(f"{word} to {new}")
    before = {n: (server.root / n).read_text() for n in names}
    for uri, edits in sorted(edit["changes"].items()):
        for e in sorted(edits, key=lambda e: -e["range"]["start"]["character"]):
            start, end = e["range"]["start"], e["range"]["end"]
            old = texts[uri][start["line"]]
            texts[uri][start["line"]] = old[:start["character"]] + e["newText"] + old[end["character"]:]
            print(f'  {uri[-7:]}:{start["line"] + 1} {old.strip()} -> {texts[uri][start["line"]].strip()}')
    for n in names:
        (server.root / n).write_text("\n".join(texts[server.uri(n)]))
    print("  build:", build().split("\n")[0])
    for n in names:
        (server.root / n).write_text(before[n])
server.end()
PY
got=$(python3 t.py)
want='build: right
Role to Kind
  a.proto:6 optional b.v1.Role role = 1 [default = ROLE_A]; -> optional Kind role = 1 [default = ROLE_A];
  b.proto:3 enum Role { -> enum Kind {
  build: a/v1/a.proto:6:12:cannot find `Kind` in this scope
User to Person
  a.proto:4 message User { -> message Person {
  build: a/v1/a.proto:9:12:cannot find `User.Inner` in this scope
ROLE_A to ROLE_B
  b.proto:5 ROLE_A = 1; -> ROLE_B = 1;
  build: a/v1/a.proto:6:42:cannot find `ROLE_A` in this scope
Open to Closed
  b.proto:7 message Open { -> message Closed {
  build: a/v1/a.proto:11:8:cannot find `b.v1.Open` in this scope'
printf '%s\n%s\n' 'One would expect four builds that are right:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
