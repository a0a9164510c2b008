#!/usr/bin/env bash
# watchfiles 1.3.0 (PyPI) with its PythonFilter, on Linux
#
# One would expect: PythonFilter, which is for files of Python, lets a program see that a package was moved into the
#   watched folder, renamed or moved out.
# What happens: nothing is reported. A moved folder is one event with the folder's path, none for the files inside, and
#   PythonFilter drops it because a folder doesn't end in .py. A reloader keeps running the old code.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib watchfiles==1.3.0

cat > t.py <<'PY'
import os, threading, time
from watchfiles import PythonFilter, watch

def run(name, accept):
    os.makedirs("root")
    os.makedirs("outside/package")
    open("outside/package/module.py", "w").close()
    seen, stop = [], threading.Event()
    def collect():
        for changes in watch("root", watch_filter=accept, stop_event=stop, debounce=50, step=20):
            seen.extend((c.name, os.path.relpath(path, "root")) for c, path in changes)
    thread = threading.Thread(target=collect)
    thread.start()
    time.sleep(2)
    for old, new in (("outside/package", "root/package"), ("root/package", "root/other"), ("root/other", "outside/package")):
        os.rename(old, new)
        time.sleep(2)
        print(f"{name}: {old} -> {new}: {sorted(seen)}")
        seen.clear()
    open("root/single.py", "w").close()
    time.sleep(2)
    print(f"{name}: a new file: {seen}")
    stop.set()
    thread.join()
    os.system("rm -rf root outside")

run("no filter", None)
run("PythonFilter", PythonFilter())
PY
got=$(timeout 100 python3 t.py)
want="no filter: outside/package -> root/package: [('added', 'package')]
no filter: root/package -> root/other: [('added', 'other'), ('deleted', 'package')]
no filter: root/other -> outside/package: [('deleted', 'other')]
no filter: a new file: [('added', 'single.py')]
PythonFilter: outside/package -> root/package: []
PythonFilter: root/package -> root/other: []
PythonFilter: root/other -> outside/package: []
PythonFilter: a new file: [('added', 'single.py')]"
printf 'One would expect package/module.py to be reported, with the filter too:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
