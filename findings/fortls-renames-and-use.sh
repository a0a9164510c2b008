#!/usr/bin/env bash
# fortls 3.2.2 (PyPI)
#
# One would expect: references and renames of what the cursor is on. Fortran gives an imported name another one by
#   `use m, only: local => name` (Fortran 2018, 14.2.2), and a call may name the arguments, `call bump(n=3)` (15.5.1).
# What happens: asked at the local name, the server answers with the uses of the module's variable in all other places
#   and with none of the local name, and a rename changes those. A rename of the module's variable leaves the `use`
#   statement, one of an argument leaves the calls that name it; neither program compiles afterwards. No message says
#   so.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib fortls==3.2.2 json5==0.17.3 packaging==26.4

mkdir project
cat > project/m.f90 <<'F90'
module m
  integer :: count = 0
contains
  subroutine bump(n)
    integer, intent(in) :: n
    count = count + n
  end subroutine
end module
F90
cat > project/p.f90 <<'F90'
program p
  use m, only: cnt => count, bump
  implicit none
  call bump(n=3)
  cnt = cnt + 1
  print *, cnt
end program
F90
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


server = Server(["lib/bin/fortls", "--disable_autoupdate"], "project")
for name in "m.f90", "p.f90":
    server.open(name, "fortran")
for name, line, word in ("p.f90", 6, "cnt"), ("m.f90", 2, "count"), ("m.f90", 4, "n)"):
    place = server.at(name, line, word)
    edit = server.ask("textDocument/rename", {**place, "newName": "new"})
    changed = sorted(f'{os.path.basename(uri)}:{e["range"]["start"]["line"] + 1}' for uri, edits in edit["changes"].items() for e in edits)
    print(f'{word.strip(")")} of {name}:{line}: references {" ".join(server.references(place))}; renamed {" ".join(changed)}')
server.end()
PY
got=$(python3 t.py)
want='cnt of p.f90:6: references m.f90:2 m.f90:6 m.f90:6; renamed m.f90:2 m.f90:6 m.f90:6
count of m.f90:2: references m.f90:2 m.f90:6 m.f90:6; renamed m.f90:2 m.f90:6 m.f90:6
n of m.f90:4: references m.f90:4 m.f90:5 m.f90:6; renamed m.f90:4 m.f90:5 m.f90:6'
printf '%s\n%s\n' 'One would expect m.f90:2,6,6 and p.f90:2 for count, p.f90:2,5,5,6 for cnt, m.f90:4,5,6 and p.f90:4 for n:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
