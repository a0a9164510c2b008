"""The host lab: agent hosts, unmodified, with a fake model and a real codeyard, all on loopback.

    lab.py install HOST --into FOLDER
    lab.py run HOST --installed FOLDER --node FOLDER --codeyard PROGRAM --servers FOLDER --out FOLDER [--only RUN]...

`run` drives the host through turns and writes what the model saw to OUT/HOST.json. It judges nothing but facts: which of them are
expected is for the test that started it. `hosts.toml` says how each host is installed, configured and started.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import facts
import scenarios
import summary
from fake_model import FakeModel
from scenarios import Player, Script, Shop
from wire import Proxy, Record, messages

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[3] / "examples" / "clients"
sys.path.append(str(EXAMPLES))
from ask import Client  # noqa: E402

Json = Any
PROMPT = "Use the tools of codeyard to look at the shop, then say that all is done."
# A run of a host that takes longer hangs. A question to a person alone may take two minutes.
RUN_LIMIT_S = 240
READY_LIMIT_S = 60
COLD_START_S = 6
MAX_RUNS = 4
SHOWN_OUTPUT_CHARS = 1500


@dataclass(frozen=True)
class Run:
    """One use of the host: a workspace and a catalog, over one transport."""

    name: str
    workspace: str
    catalog: str
    transport: str
    scenarios: Callable[[Shop], dict[str, Callable[[], Script]]]


RUNS = [
    Run("agent", "shop", "agent", "http", scenarios.agent),
    Run("safe", "shop", "lsp-v1-safe", "http", scenarios.safe),
    Run("code", "shop", "code", "http", scenarios.code),
    Run("stdio", "shop", "agent", "stdio", scenarios.brief),
    Run("ask", "private", "agent", "http", scenarios.with_permission),
]


@dataclass(frozen=True)
class Lab:
    """What all runs share."""

    entry: Json
    installed: Path
    node: Path
    codeyard: Path
    servers: Path
    out: Path


def architecture() -> str:
    return {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]


def python_of(entry: Json) -> str:
    """The Python of the host: this one, unless the host needs a newer one."""
    return "python" + entry["python"] if "python" in entry else sys.executable


def install(entry: Json, folder: Path) -> None:
    """Installs the host's packages into a folder of its own."""
    if "npm" in entry:
        (folder / "package.json").write_text('{"private": true}\n')
        flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--engine-strict=false"]
        subprocess.run(["npm", "install", *flags, *entry["npm"]], cwd=folder, check=True)
    else:
        flags = ["--quiet", "--disable-pip-version-check", "--prefer-binary", "--target", str(folder)]
        subprocess.run([python_of(entry), "-m", "pip", "install", *flags, *entry["pip"]], check=True)


class Codeyard:
    """A running `codeyard serve` with the workspaces `shop` and `private`, both over the same files."""

    def __init__(self, lab: Lab, root: Path, state: Path) -> None:
        state.mkdir(parents=True)
        configuration = state / "codeyard.toml"
        configuration.write_text(configuration_text(root))
        command = [lab.codeyard, "serve", "--state-dir", state, "--config", configuration, "--listen", "127.0.0.1:0"]
        environment = {**os.environ, "CODEYARD_SERVERS_DIR": str(lab.servers)}
        self.child = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment, text=True)
        self.log: list[str] = []
        threading.Thread(target=self.read_log, daemon=True).start()
        self.address = self.wait_for(r"listening http://([^/\s]+)")
        self.token = Path(self.wait_for(r"first token is in (.+?) \(only")).read_text().strip()

    def read_log(self) -> None:
        assert self.child.stderr is not None
        for line in self.child.stderr:
            self.log.append(line)

    def wait_for(self, pattern: str) -> str:
        end = time.monotonic() + READY_LIMIT_S
        while time.monotonic() < end:
            found = re.search(pattern, "".join(self.log))
            if found:
                return found.group(1)
            time.sleep(0.02)
        raise RuntimeError(f"codeyard never says {pattern}:\n{''.join(self.log)}")

    def warm(self) -> None:
        """Waits until the language server of Python answers, so that only the scenario `cold` meets one that isn't ready."""
        client = Client(f"http://{self.address}/mcp/shop/agent", self.token)
        client.initialize()
        arguments = {"operation": "findReferences", "filePath": "shop/prices.py", "line": 4, "character": 5}
        end = time.monotonic() + READY_LIMIT_S
        while True:
            answer = client.request("tools/call", {"name": "lsp", "arguments": arguments})["result"]
            total = answer["structuredContent"].get("metadata", {}).get("total", 0)
            if total > scenarios.USES:
                break
            if time.monotonic() > end:
                raise RuntimeError(f"the language server isn't ready: {answer}")
            time.sleep(0.2)
        client.close()

    def stop(self) -> None:
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(30)


def configuration_text(root: Path) -> str:
    tiny = HERE.parents[1] / "tiny_lsp.py"
    command = [sys.executable, str(HERE / "slow_start.py"), str(COLD_START_S), sys.executable, str(tiny)]
    return f"""default_workspace = "shop"
[[workspace]]
name = "shop"
roots = [{json.dumps(str(root))}]
[[workspace]]
name = "private"
roots = [{json.dumps(str(root))}]
permission = {{ lsp = "ask" }}
[languages.cold]
extensions = ["cold"]
[servers.cold]
languages = ["cold"]
group = "cold"
command = {json.dumps(command)}
[syntactic]
mode = "off"
"""


class Place:
    """A temporary home of one run, with the workspace, the host's files and the record."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder.resolve()
        self.home = self.folder / "home"
        self.root = self.folder / "shop"
        self.bin = self.folder / "bin"
        self.wire = self.folder / "wire.jsonl"
        self.requests = self.folder / "requests.jsonl"
        for made in (self.home, self.bin, self.home / "tmp"):
            made.mkdir()
        self.shop = Shop(self.root)

    def values(self, model: str) -> dict[str, str]:
        """What stands for the words between @ in `hosts.toml`."""
        arch = architecture()
        python = {"PYTHON": shutil.which(python_of(self.lab.entry)) or "", "EXAMPLES": str(EXAMPLES)}
        installed = {"INSTALLED": str(self.lab.installed), "NODE": str(self.lab.node), "ARCH": arch}
        return {"HOME": str(self.home), "ROOT": str(self.root), "MODEL": model, "PROMPT": PROMPT, **installed, **python}

    def environment(self, model: str, token: str, extra: dict[str, str]) -> dict[str, str]:
        """Nothing of this process's environment but where programs are. Addresses outside of loopback lead to the fake model."""
        paths = [str(self.bin), str(Path(self.lab.node).parent), "/usr/local/bin", "/usr/bin", "/bin"]
        proxies = {name: model for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
        direct = {name: "127.0.0.1,localhost" for name in ("NO_PROXY", "no_proxy")}
        own = {"HOME": str(self.home), "TMPDIR": str(self.home / "tmp"), "PATH": ":".join(paths)}
        own |= {"TERM": "dumb", "LANG": "C.UTF-8", "DO_NOT_TRACK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        return {**own, **proxies, **direct, "CODEYARD_TOKEN": token, **extra}

    def write_stdio_program(self) -> None:
        """The program `codeyard` on the host's PATH: codeyard, with a record of its messages."""
        state = self.folder / "state-stdio"
        variables = f"CODEYARD_SERVERS_DIR={self.lab.servers} CODEYARD_STATE_DIR={state}"
        command = f"{sys.executable} {HERE / 'wire.py'} {self.wire} {self.lab.codeyard}"
        program = self.bin / "codeyard"
        program.write_text(f'#!/bin/sh\nexec env {variables} {command} "$@"\n')
        program.chmod(0o755)


def filled(text: str, values: dict[str, str]) -> str:
    return re.sub(r"@([A-Z]+)@", lambda found: values[found.group(1)], text)


def example_text(name: str, run: Run, address: str, root: Path) -> str:
    """A file of `examples/clients`, with this run's address, root and catalog."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    text = re.sub(r"http://127\.0\.0\.1:3939/mcp/my-repository(/[\w+-]+)?", f"http://{address}/mcp/{run.workspace}/{run.catalog}", text)
    text = text.replace("/path/to/repository", str(root))
    return re.sub(r'(--catalog["\',\s-]+)[\w+-]+', rf"\g<1>{run.catalog}", text)


def write_files(place: Place, run: Run, address: str, token: str, values: dict[str, str]) -> None:
    entry = place.lab.entry
    for name, text in entry.get("files", {}).items():
        path = Path(filled(name, values))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled(text, values))
    example = entry.get("example")
    if example is not None:
        path = Path(filled(example["path"], values))
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text() if path.exists() else ""
        text = example_text(example[run.transport], run, address, place.root)
        # Some hosts replace no variables: their users write the token in.
        path.write_text(before + (text.replace("${CODEYARD_TOKEN}", token) if example.get("token") == "written" else text))


def script_variables(run: Run, address: str, place: Place) -> dict[str, str]:
    """What the Python examples read."""
    if run.transport == "stdio":
        return {"CODEYARD_ROOT": str(place.root)}
    return {"CODEYARD_URL": f"http://{address}/mcp/{run.workspace}/{run.catalog}"}


@dataclass
class Ended:
    """A run of the host that has ended."""

    code: int | None
    seconds: float
    output: str


def run_host(command: list[str], place: Place, environment: dict[str, str]) -> Ended:
    """Runs the host in a session of its own, and ends what it leaves behind."""
    begin = time.monotonic()
    output = place.folder / "output.txt"
    with output.open("ab") as file:
        streams = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file}
        child = subprocess.Popen(command, cwd=place.root, env=environment, start_new_session=True, **streams)
        code: int | None = None
        try:
            code = child.wait(RUN_LIMIT_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            end_all(place)
            child.kill()
            child.wait()
    text = output.read_text(encoding="utf-8", errors="replace")
    return Ended(code, round(time.monotonic() - begin, 1), text[-SHOWN_OUTPUT_CHARS:])


def end_all(place: Place) -> None:
    """Ends all processes that have this run's home: hosts leave daemons behind."""
    mark = f"HOME={place.home}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue


def perform(lab: Lab, run: Run, folder: Path) -> Json:
    """One run with all its scenarios; if the host ends early, it is started again for the rest."""
    place = Place(lab, folder)
    place.write_stdio_program()
    yard = Codeyard(lab, place.root, folder / "state")
    player = Player(run.scenarios(place.shop))
    model = FakeModel(player, place.requests)
    proxy = Proxy(yard.address, Record(place.wire))
    try:
        yard.warm()
        values = place.values(model.address)
        write_files(place, run, proxy.address, yard.token, values)
        variables = {name: filled(text, values) for name, text in lab.entry.get("env", {}).items()}
        environment = place.environment(model.address, yard.token, {**variables, **script_variables(run, proxy.address, place)})
        for step in lab.entry.get("prepare", []):
            run_host([filled(word, values) for word in step], place, environment)
        command = [filled(word, values) for word in lab.entry["command"]]
        ended = []
        while player.has_more and len(ended) < MAX_RUNS:
            before = len(player.observations)
            ended.append(run_host(command, place, environment))
            player.give_up()
            if len(player.observations) == before:
                break
    finally:
        model.close()
        proxy.close()
        yard.stop()
    return report(place, player, model, ended)


def report(place: Place, player: Player, model: FakeModel, ended: list[Ended]) -> Json:
    entries = messages(place.wire)
    exchanges = facts.exchanges(entries)
    sent = matched(player.observations, exchanges)
    found: Json = {}
    for name in dict.fromkeys(single.scenario for single in player.observations):
        at = [index for index, single in enumerate(player.observations) if single.scenario == name]
        found[name] = facts.judge(name, [player.observations[index] for index in at], [sent[index] for index in at])
        last = player.observations[at[-1]].step.arguments
        found[name]["sent"] = sum(is_same(exchange.arguments, last) for exchange in exchanges)
    return {
        "connects": bool(player.offered),
        **facts.connection(entries),
        "offered": player.offered,
        "after a search": player.searches > 0,
        "scenarios": found,
        "permission": facts.permission(entries),
        "reached for": sorted(model.outside),
        "runs": [{"code": single.code, "seconds": single.seconds} for single in ended],
        "output": ended[-1].output if ended else "",
    }


def matched(observations: list[scenarios.Observation], all_sent: list[facts.Exchange]) -> list[facts.Exchange | None]:
    """For each observation what codeyard sent: the next call with the same arguments."""
    waiting = list(all_sent)
    found: list[facts.Exchange | None] = []
    for single in observations:
        wanted = single.step.arguments
        same = (sent for test in (is_same, has_all) for sent in waiting if test(sent.arguments, wanted))
        match = next(same, None)
        if match is not None:
            waiting.remove(match)
        found.append(match)
    return found


def is_same(sent: Json, wanted: Json) -> bool:
    """Hosts may add members: a `cursor` of null, say."""
    return isinstance(sent, dict) and {name: value for name, value in sent.items() if value is not None} == wanted


def has_all(sent: Json, wanted: Json) -> bool:
    """Some write the defaults of the schema into the call."""
    return isinstance(sent, dict) and wanted.items() <= sent.items()


@contextmanager
def folder_of(lab: Lab, name: str, keep: bool) -> Iterator[Path]:
    """A temporary folder outside of the system's: some hosts write no programs below that."""
    parent = lab.out / "homes"
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=name + "-", dir=parent))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def run_all(lab: Lab, host: str, only: list[str], keep: bool) -> Json:
    result: Json = {"host": host, "title": lab.entry["title"], "packages": lab.entry.get("npm") or lab.entry.get("pip"), "runs": {}}
    for run in RUNS:
        if only and run.name not in only:
            continue
        print(f"{host}: {run.name}", file=sys.stderr, flush=True)
        with folder_of(lab, f"{host}-{run.name}", keep) as folder:
            result["runs"][run.name] = perform(lab, run, folder)
    result["summary"] = summary.of_result(result)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["install", "run"])
    parser.add_argument("host")
    for name in ("into", "installed", "node", "codeyard", "servers", "out"):
        parser.add_argument("--" + name, type=Path)
    parser.add_argument("--only", action="append", default=[], help="name of a run; can be repeated")
    parser.add_argument("--keep", action="store_true", help="keep the temporary homes")
    options = parser.parse_args()
    entry = tomllib.loads((HERE / "hosts.toml").read_text(encoding="utf-8"))[options.host]
    if options.what == "install":
        install(entry, options.into)
        return 0
    lab = Lab(entry, options.installed, options.node, options.codeyard, options.servers, options.out)
    result = run_all(lab, options.host, options.only, options.keep)
    (options.out / f"{options.host}.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
