#!/usr/bin/env bash
# pygit2 1.21.0 (PyPI) and isomorphic-git 1.44.19 (npm) in a sparse checkout
#
# One would expect: files outside the sparse checkout aren't changes; git marks them with the skip-worktree bit
#   (git-update-index(1), "SKIP-WORKTREE BIT") and its status is clean.
# What happens: both report each of them as deleted in the working tree. A tool that stages what the status lists
#   commits their deletion.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib pygit2==1.21.0
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent isomorphic-git@1.44.19 >/dev/null

git init -q repo
mkdir repo/in repo/out
echo 1 | tee repo/in/file > repo/out/file
git -C repo add .
git -C repo -c user.name=a -c user.email=a@example.org commit -q -m one
sleep 1.1
git -C repo status --short # so that no file is too young to be trusted
git -C repo sparse-checkout set --cone --no-sparse-index in 2>/dev/null
cat > t.py <<'PY'
import pygit2

print("pygit2:", {path: flags.name for path, flags in pygit2.Repository("repo").status().items()})
PY
cat > t.cjs <<'JS'
const fs = require('fs');
require('isomorphic-git').statusMatrix({ fs, dir: 'repo' }).then(m => console.log('isomorphic-git:', JSON.stringify(m)));
JS
got=$(git -C repo status --short | wc -l | xargs echo changes according to git:; python3 t.py; node t.cjs)
want='changes according to git: 0
pygit2: {'"'out/file': 'WT_DELETED'"'}
isomorphic-git: [["in/file",1,1,1],["out/file",1,0,1]]'
printf 'One would expect no change, {} and 1,1,1:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
