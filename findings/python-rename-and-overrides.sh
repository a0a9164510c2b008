#!/usr/bin/env bash
# ty 0.0.108, basedpyright 1.40.2, zuban 0.10.2 and pyrefly 1.5.0 (PyPI), textDocument/rename
#
# One would expect: a rename doesn't change what the program does (LSP 3.17, "Rename Request": the rename of a symbol in
#   the whole workspace). A method and its overrides have one name, since a call decides between them when it runs.
# What happens: renamed at the base class, ty, basedpyright and zuban rename the method there and at calls on the base
#   class, and leave the override and calls on the subclass. Nothing is reported, the result is valid and runs: the
#   call that reached the override now reaches the base class. pyrefly renames the override too.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib ty==0.0.108 basedpyright==1.40.2 zuban==0.10.2 pyrefly==1.5.0

mkdir project
touch project/pyproject.toml
cat > project/program.py <<'PY'
class Account:
    def fee(self) -> int:
        return 5

class Free(Account):
    def fee(self) -> int:
        return 0

def bill(account: Account) -> int:
    return account.fee()

print(bill(Free()))
PY
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


def renamed(text, edit):
    lines = text.split("\n")
    files = edit.get("changes") or {d["textDocument"]["uri"]: d["edits"] for d in edit["documentChanges"]}
    for change in sum(files.values(), []):
        start, end = change["range"]["start"], change["range"]["end"]
        line = lines[start["line"]]
        lines[start["line"]] = line[:start["character"]] + change["newText"] + line[end["character"]:]
    return "\n".join(lines)


text = open("project/program.py").read()
print("before:", subprocess.run(["python3", "-c", text], capture_output=True, text=True).stdout.strip())
for name, *arguments in ["ty", "server"], ["basedpyright-langserver", "--stdio"], ["zuban", "server"], ["pyrefly", "lsp"]:
    server = Server([f"lib/bin/{name}", *arguments], "project")
    server.open("program.py", "python")
    place = server.at("program.py", 2, "fee")
    settled(lambda: server.references(place))
    new = renamed(text, server.ask("textDocument/rename", {**place, "newName": "cost"}))
    ran = subprocess.run(["python3", "-c", new], capture_output=True, text=True)
    print(f"{name}: {ran.stdout.strip()}, exit code {ran.returncode}")
    server.end()
PY
got=$(python3 t.py)
want='before: 0
ty: 5, exit code 0
basedpyright-langserver: 5, exit code 0
zuban: 5, exit code 0
pyrefly: 0, exit code 0'
printf '%s\n%s\n' 'One would expect 0 of each:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
