#!/usr/bin/env bash
# watchdog 7.1.0 (PyPI), Observer on Linux (inotify)
#
# One would expect: a folder that is moved out of the watched tree isn't watched any more.
# What happens: it is, for as long as the observer runs. What happens in it at its new place is reported under its old
#   path, which doesn't exist: a file is "created" there that nobody can open.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib watchdog==7.1.0

cat > t.py <<'PY'
import os, time
from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer

seen = []
class Handler(FileSystemEventHandler):
    def on_created(self, event):
        seen.append(f"created {event.src_path}, exists: {os.path.exists(event.src_path)}")
    def on_deleted(self, event):
        seen.append(f"deleted {event.src_path}")

os.makedirs("root/part")
os.makedirs("outside")
observer = Observer()
observer.schedule(Handler(), "root", recursive=True)
observer.start()
time.sleep(2)
os.rename("root/part", "outside/part")
time.sleep(3)
open("outside/part/file", "w").close()
time.sleep(2)
observer.stop()
observer.join()
print("\n".join(seen))
PY
got=$(timeout 60 python3 t.py)
want='deleted root/part
created root/part/file, exists: False'
printf 'One would expect the first line only:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
