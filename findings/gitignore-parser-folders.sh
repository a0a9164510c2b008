#!/usr/bin/env bash
# gitignore_parser 0.1.13 (PyPI)
#
# One would expect: `build` ignores what is in a folder build, and `build/` ignores folders only (gitignore(5),
#   "PATTERN FORMAT").
# What happens: the other way round. With `build` the folder is ignored and the files in it aren't, so a program that
#   asks about files sees none ignored. With `build/` an ordinary file of that name is ignored too.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib gitignore_parser==0.1.13

git init -q repo
mkdir -p repo/build repo/src
touch repo/build/out.o repo/src/build
cat > t.py <<'PY'
from gitignore_parser import parse_gitignore

ignored = parse_gitignore("repo/.gitignore")
print("library:", *(p for p in ("build/out.o", "src/build") if ignored("repo/" + p)))
PY
got=$(for pattern in build build/; do
  echo "$pattern" > repo/.gitignore
  echo "$pattern"
  git -C repo check-ignore build/out.o src/build | xargs echo git:
  python3 t.py
done)
want='build
git: build/out.o src/build
library: src/build
build/
git: build/out.o
library: build/out.o src/build'
printf 'Ignored files (src/build is a file); one would expect the same from both:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
