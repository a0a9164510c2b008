#!/usr/bin/env bash
# isomorphic-git 1.44.19 (npm) with a split index (git update-index --split-index)
#
# One would expect: all tracked files, or an error. gitformat-index(5), "Extensions", says that an extension whose
#   signature begins with a lower-case letter must be understood; `link`, that of the split index, does.
# What happens: the extension is skipped. listFiles knows none of the tracked files (it may return an empty name), and
#   statusMatrix says that all have been removed from the index.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent isomorphic-git@1.44.19 >/dev/null

git init -q -b main repo
touch repo/one repo/two
git -C repo add .
git -C repo -c user.name=a -c user.email=a@example.org commit -q -m one
git -C repo update-index --split-index
cat > t.cjs <<'JS'
const fs = require('fs'), git = require('isomorphic-git'), dir = 'repo';
(async () => {
  const files = await git.listFiles({ fs, dir }), rows = await git.statusMatrix({ fs, dir });
  for (const name of ['one', 'two'])
    console.log(name, 'in listFiles:', files.includes(name), 'status:', rows.find(([n]) => n === name).slice(1).join());
})();
JS
got=$(git -C repo ls-files | xargs echo git ls-files:; node t.cjs)
want='git ls-files: one two
one in listFiles: false status: 1,1,0
two in listFiles: false status: 1,1,0'
printf 'One would expect true and 1,1,1, or an error:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
