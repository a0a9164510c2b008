#!/usr/bin/env bash
# bash-language-server 5.8.1 (npm), textDocument/didOpen
#
# One would expect: a document that is opened after "initialized" is known, whenever the client answers the server's own
#   question for the configuration (LSP 3.17, "DidOpenTextDocument Notification" and "Configuration Request": nothing says
#   that documents have to wait for this answer).
# What happens: of the documents that are opened before the client has answered workspace/configuration, only the last
#   one is read. The answer takes a round trip, so a client that opens its documents right after "initialized" loses the
#   others, without a sign. A lost script without an extension has no outline and no references, and its uses are missing
#   elsewhere; for a lost `.sh` the answers are those of the text on the disk. An edit brings a document back. A client
#   that doesn't declare workspace.configuration loses none, as it isn't asked.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp BASH_IDE_LOG_LEVEL=info
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent bash-language-server@5.8.1 >/dev/null

mkdir project
echo 'log() { echo "$1" >&2; }' > project/lib.sh
for name in deploy release; do
  printf '#!/usr/bin/env bash\nsource ./lib.sh\nmain() { log %s; }\nmain\n' "$name" > "project/$name"
done
cat > t.py <<'PY'
import atexit, json, os, pathlib, queue, signal, subprocess, threading


class Server:
    """A language server; nothing that it asks is answered by itself."""

    def __init__(self, command, root, capabilities):
        self.root, self.number, self.messages = pathlib.Path(root).resolve(), 0, queue.Queue()
        command = [os.path.abspath(command[0]), *command[1:]]
        self.process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        atexit.register(self.end)
        threading.Thread(target=self.read, daemon=True).start()
        self.ask("initialize", {"processId": os.getpid(), "rootUri": self.root.as_uri(), "capabilities": capabilities})
        self.tell("initialized", {})

    def read(self):
        while line := self.process.stdout.readline():
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
            elif not line.strip():
                self.messages.put(json.loads(self.process.stdout.read(size)))

    def wait(self, wanted):
        """The next message that is wanted; those before it are dropped."""
        while not wanted(message := self.messages.get(timeout=90)):
            pass
        return message

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        reply = self.wait(lambda m: "method" not in m and m.get("id") == self.number)
        return reply["result"] if "result" in reply else reply["error"]

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


texts = {name: pathlib.Path("project", name).read_text() for name in ("lib.sh", "deploy", "release")}
texts["lib.sh"] = "# shellcheck shell=bash\n" + texts["lib.sh"]  # not saved: on the disk the function is in line 1


def open_all(server):
    for name, text in texts.items():
        document = {"uri": (server.root / name).as_uri(), "languageId": "shellscript", "version": 1, "text": text}
        server.tell("textDocument/didOpen", {"textDocument": document})


def answer_configuration(server):
    question = server.wait(lambda m: m.get("method") == "workspace/configuration")
    server.send({"id": question["id"], "result": [None] * len(question["params"]["items"])})


def wait_for_analysis(server):
    ended = "BackgroundAnalysis: Completed"
    server.wait(lambda m: m.get("method") == "window/logMessage" and ended in m["params"]["message"])


def show(what, server):
    places = []
    for name in "deploy", "release":
        place = {"textDocument": {"uri": (server.root / name).as_uri()}, "position": {"line": 2, "character": 9}}
        found = server.ask("textDocument/references", {**place, "context": {"includeDeclaration": True}})
        found = sorted(f'{os.path.basename(f["uri"])}:{f["range"]["start"]["line"] + 1}' for f in found or [])
        symbols = server.ask("textDocument/documentSymbol", {"textDocument": place["textDocument"]})
        places.append(f'{name} has {[s["name"] for s in symbols]}, log is in {" ".join(found) or "nothing"}')
    print(f"{what}:", *places, sep="\n  ")


command = ["node_modules/.bin/bash-language-server", "start"]
asked = {"workspace": {"configuration": True}}

server = Server(command, "project", {})
open_all(server)
wait_for_analysis(server)
show("not asked for the configuration", server)
server.end()

server = Server(command, "project", asked)
answer_configuration(server)
wait_for_analysis(server)
open_all(server)
show("opened after the answer", server)
server.end()

server = Server(command, "project", asked)
open_all(server)
answer_configuration(server)
wait_for_analysis(server)
show("opened before the answer", server)
document = {"uri": (server.root / "deploy").as_uri(), "version": 2}
server.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": texts["deploy"] + "\n"}]})
show("the same after an edit of deploy", server)
PY
got=$(python3 t.py)
want="not asked for the configuration:
  deploy has ['main'], log is in deploy:3 lib.sh:2 release:3
  release has ['main'], log is in deploy:3 lib.sh:2 release:3
opened after the answer:
  deploy has ['main'], log is in deploy:3 lib.sh:2 release:3
  release has ['main'], log is in deploy:3 lib.sh:2 release:3
opened before the answer:
  deploy has [], log is in nothing
  release has ['main'], log is in lib.sh:1 release:3
the same after an edit of deploy:
  deploy has ['main'], log is in deploy:3 lib.sh:1 release:3
  release has ['main'], log is in deploy:3 lib.sh:1 release:3"
printf '%s\n%s\n' 'One would expect the same two lines each time:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
