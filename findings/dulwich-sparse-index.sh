#!/usr/bin/env bash
# dulwich 1.2.21 (PyPI) in a sparse checkout with a sparse index
#
# One would expect: dulwich reads it (it has a class for the extension `sdir`) or says what it can't read.
# What happens: it says that the checksum of the index is wrong, as for a damaged file. git fsck and git status find
#   nothing wrong. A split index (extension `link`) gives the same error.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib dulwich==1.2.21

git init -q repo
mkdir repo/in repo/out
echo 1 | tee repo/in/file > repo/out/file
git -C repo add .
git -C repo -c user.name=a -c user.email=a@example.org commit -q -m one
sleep 1.1
git -C repo status --short # so that no file is too young to be trusted
cp -r repo split
git -C repo sparse-checkout set --cone --sparse-index in
git -C split update-index --split-index
cat > t.py <<'PY'
import sys
from dulwich import index, porcelain

try:
    print(porcelain.status(sys.argv[1]))
except Exception as e:
    print(type(e).__name__ + ", has a class for sdir:", hasattr(index, "SparseDirExtension"))
PY
got=$(for repo in repo split; do git -C $repo fsck --no-progress >/dev/null 2>&1; echo "$repo: git fsck $?"; python3 t.py $repo; done)
want='repo: git fsck 0
ChecksumMismatch, has a class for sdir: True
split: git fsck 0
ChecksumMismatch, has a class for sdir: True'
printf 'One would expect a clean status, or an error about the extension:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
