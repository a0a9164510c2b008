#!/usr/bin/env bash
# uv 0.13.9 (PyPI), [tool.uv.workspace]
#
# One would expect: `members` and `exclude`, which the documentation ("Workspaces") both calls lists of globs, read
#   a star alike, and excluding packages/* is the same as excluding each folder that it names.
# What happens: in `members` a star stays within one folder, in `exclude` it goes across them: with packages/* the
#   member packages/a/inner is excluded, with packages/a it isn't. A member that doesn't exist, or with braces, which
#   aren't read, is left out without a word.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib uv==0.13.9
export UV_CACHE_DIR=$tmp/cache UV_NO_CONFIG=1 UV_OFFLINE=1 UV_PYTHON_DOWNLOADS=never

project() { printf '[project]\nname = "%s"\nversion = "0.1"\nrequires-python = ">=3.9"\n' "$1"; }
mkdir -p repo/packages/a/inner
project a > repo/packages/a/pyproject.toml
project inner > repo/packages/a/inner/pyproject.toml
run() {
  { project root; printf '[tool.uv.workspace]\n'; printf '%s\n' "$@"; } > repo/pyproject.toml
  rm -f repo/uv.lock
  lib/bin/uv lock -q --project repo
  echo "$* -> $(sed -n 's/^name = "\(.*\)"/\1/p' repo/uv.lock | grep -vx root | paste -sd' ')"
}
got=$(
  run 'members = ["packages/*"]'
  run 'members = ["packages/a/*"]' 'exclude = ["packages/a"]'
  run 'members = ["packages/a/*"]' 'exclude = ["packages/*"]'
  run 'members = ["packages/{a,b}", "packages/missing"]'
)
want='members = ["packages/*"] -> a
members = ["packages/a/*"] exclude = ["packages/a"] -> inner
members = ["packages/a/*"] exclude = ["packages/*"] -> 
members = ["packages/{a,b}", "packages/missing"] -> '
printf 'One would expect inner in the second and the third line, and a or an error in the last:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
