#!/usr/bin/env bash
# isomorphic-git 1.44.19 (npm), isIgnored, statusMatrix and add
#
# One would expect: `[!a].o` in .gitignore means what gitignore(5), "PATTERN FORMAT", says of ranges: one character
#   other than `a`. The documentation of isIgnored names no difference from git.
# What happens: the class is inverted. `a.o` is ignored and `b.o` isn't, so statusMatrix leaves out a file that git
#   tracks and offers one that git ignores. The matcher is ignore 5.3.2, which isomorphic-git brings along;
#   ignore 7 is right.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent isomorphic-git@1.44.19 >/dev/null

git init -q repo
printf '[!a].o\nlog.[^t]\n' > repo/.gitignore
touch repo/{a.o,b.o,log.t,log.x}
cat > t.cjs <<'JS'
const fs = require('fs'), git = require('isomorphic-git');
(async () => {
  const rows = await git.statusMatrix({ fs, dir: 'repo' });
  console.log('isomorphic-git:', rows.map(([path]) => path).join(' '));
})();
JS
got=$(git -C repo ls-files --others --exclude-standard | LC_ALL=C sort | xargs echo git:; node t.cjs)
want='git: .gitignore a.o log.t
isomorphic-git: .gitignore b.o log.x'
printf 'Untracked files that are not ignored; one would expect the same twice:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
