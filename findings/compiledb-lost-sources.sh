#!/usr/bin/env bash
# compiledb 0.10.7 (PyPI), reading the output of GNU make
#
# One would expect: an entry for every source that was compiled, with the folder that the compiler ran in.
# What happens: three cases are lost without a warning, with exit code 0. "Entering directory" is followed only in the
#   form of a nested make (`make[1]:`), not in that of `make -C folder`, so the files aren't found and their entries
#   are left out. The same happens after `cd folder &&`. Of `cc -c one.c two.c` only the last source gets an entry.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib compiledb==0.10.7

mkdir -p p/lib p/sub
touch p/lib/lib.c p/sub/sub.c p/one.c p/two.c p/top.c
cd p
run() { # NAME, then the log on standard input
  python3 -m compiledb -f -o "$1.json" >/dev/null 2>&1
  echo "$1: exit code $?, $(grep -o '"file": "[^"]*"' "$1.json" | cut -d'"' -f4 | paste -sd' ')"
}
got=$(
  printf '%s\n' 'cc -c top.c' | run plain
  printf '%s\n' "make: Entering directory '$PWD/lib'" 'cc -c lib.c' "make: Leaving directory '$PWD/lib'" | run make-C
  printf '%s\n' "make[1]: Entering directory '$PWD/lib'" 'cc -c lib.c' "make[1]: Leaving directory '$PWD/lib'" | run make-nested
  printf '%s\n' 'cd sub && cc -c sub.c' | run cd
  printf '%s\n' 'cc -c one.c two.c' | run two-sources
)
want='plain: exit code 0, top.c
make-C: exit code 0, 
make-nested: exit code 0, lib.c
cd: exit code 0, 
two-sources: exit code 0, two.c'
printf 'One would expect lib.c, sub.c, and one.c beside two.c:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
