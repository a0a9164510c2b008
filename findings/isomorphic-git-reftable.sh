#!/usr/bin/env bash
# isomorphic-git 1.44.19 (npm) in a repository with reftable, which needs git 2.45 or newer to make
#
# One would expect: an error. gitrepository-layout(5), "GIT REPOSITORY FORMAT VERSIONS", says that a program must not
#   work on a repository whose `extensions.*` it doesn't know.
# What happens: no error. The branch is called `.invalid` (the text of the stub that git leaves in HEAD), there are no
#   branches, and every committed file is reported as newly added.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent isomorphic-git@1.44.19 >/dev/null

git init -q -b main --ref-format=reftable repo
echo text > repo/file
git -C repo add file
git -C repo -c user.name=a -c user.email=a@example.org commit -q -m one
git -C repo branch other
cat > t.cjs <<'JS'
const fs = require('fs'), git = require('isomorphic-git'), dir = 'repo';
(async () => {
  console.log('currentBranch:', await git.currentBranch({ fs, dir }));
  console.log('listBranches:', JSON.stringify(await git.listBranches({ fs, dir })));
  console.log('statusMatrix:', JSON.stringify(await git.statusMatrix({ fs, dir })));
})();
JS
got=$(node t.cjs)
want='currentBranch: .invalid
listBranches: []
statusMatrix: [["file",0,2,2]]'
printf 'One would expect main, [main, other] and ["file",1,1,1], or an error:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
