#!/usr/bin/env bash
# griffe 2.4.1 (PyPI), which reads signatures for mkdocstrings and API checks
#
# One would expect: the parameters that it gives a dataclass are those that Python gives it.
# What happens: `field(kw_only=False)` in a class with `kw_only=True` is taken for keyword-only (dataclasses, "field",
#   says that the field's own setting counts). The documented signature has one positional parameter less, and a
#   comparison of two versions sees no break when the parameter becomes keyword-only.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib griffe==2.4.1

mkdir src
cat > src/module.py <<'PY'
from dataclasses import dataclass, field

@dataclass(kw_only=True)
class Point:
    x: int = field(default=0, kw_only=False)
    label: str = ""
PY
cat > t.py <<'PY'
import inspect, sys
import griffe

sys.path.insert(0, "src")
import module

parameters = griffe.load("module", search_paths=["src"])["Point"].parameters
print("griffe:", *(f"{p.name} {p.kind.value}" for p in parameters if p.name != "self"), sep="; ")
print("Python:", *(f"{p.name} {p.kind.description}" for p in inspect.signature(module.Point).parameters.values()), sep="; ")
PY
got=$(python3 t.py)
want='griffe:; x keyword-only; label keyword-only
Python:; x positional or keyword; label keyword-only'
printf 'One would expect the same from both:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
