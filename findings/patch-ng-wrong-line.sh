#!/usr/bin/env bash
# patch-ng 1.19.1 (PyPI)
#
# One would expect: a patch that git made is applied, or apply() says that it wasn't.
# What happens: apply() returns True and the file is another one. An insertion without context (git diff -U0) lands one
#   line too early, though a range of no lines begins after its line (POSIX, diff, section "Diff -u or -U Output
#   Format"). "No newline at end of file" isn't read, so a last newline stays or comes back.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib patch-ng==1.19.1

cat > t.py <<'PY'
import os, subprocess, patch_ng

def run(name, before, after, *options):
    os.makedirs("a", exist_ok=True)
    os.makedirs("b", exist_ok=True)
    open("a/f", "w").write(before)
    open("b/f", "w").write(after)
    command = ["git", "diff", "--no-index", "--no-prefix", *options, "a/f", "b/f"]
    diff = subprocess.run(command, capture_output=True).stdout.replace(b"b/f", b"a/f")
    print(f"{name}: {patch_ng.fromstring(diff).apply()}, {open('a/f').read()!r}, to be {after!r}")

run("insertion", "1\n2\n3\n4\n", "1\n2\nx\n3\n4\n", "-U0")
run("no newline", "1\n2\n3\n", "1\n2\n3")
PY
got=$(python3 t.py 2>/dev/null)
want="insertion: True, '1\nx\n2\n3\n4\n', to be '1\n2\nx\n3\n4\n'
no newline: True, '1\n2\n3\n', to be '1\n2\n3'"
printf 'One would expect the text that it had to be:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
