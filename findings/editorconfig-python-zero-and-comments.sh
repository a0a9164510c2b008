#!/usr/bin/env bash
# EditorConfig 0.17.1 (PyPI)
#
# One would expect: what the EditorConfig specification says. A range {0..3} matches 0 (section "Glob Expressions"), an
#   escaped star is a star, and a ; behind a value belongs to the value (section "File Format", since 0.15.0).
# What happens: the range leaves out 0, \* matches anything, and the value ends before " ;".
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib EditorConfig==0.17.1

cat > t.py <<'PY'
import os
from editorconfig import get_properties

open(".editorconfig", "w").write("root = true\n[a{0..3}]\nrange = yes\n[\\*.c]\nstar = yes\n[value]\nkey = a ; b\n")
for name in ("a0", "a1", "x.c", "value"):
    print(name, dict(get_properties(os.path.abspath(name))))
PY
got=$(python3 t.py)
want="a0 {}
a1 {'range': 'yes'}
x.c {'star': 'yes'}
value {'key': 'a'}"
printf 'One would expect a0 to be in the range, nothing for x.c, and "a ; b":\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
