#!/usr/bin/env bash
# diffparser 2.0.1 and git-diff-parser 1.0.0 (npm)
#
# One would expect: the header of a hunk says how many lines it has, so that within it `-` and `+` begin removed and
#   added lines whatever follows (POSIX, diff, section "Diff -u or -U Output Format").
# What happens: a removed line that begins with `-- `, a comment in SQL, Lua, Haskell and Ada, is `--- ` in the diff
#   and is taken for the name of a file, as an added `++ ` is. diffparser returns a file that doesn't exist, and both
#   leave out the change: no line of the changed file is removed or added. Other parsers of npm (parse-diff,
#   gitdiff-parser, parse-git-diff, diff2html) count the lines.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent diffparser@2.0.1 git-diff-parser@1.0.0 >/dev/null

git init -q repo
printf 'select 1;\n-- old note\nselect 2;\n' > repo/a.sql
git -C repo add a.sql
printf 'select 1;\n++ new note\nselect 2;\n' > repo/a.sql
git -C repo diff > a.diff
cat > t.cjs <<'JS'
const diff = require('fs').readFileSync('a.diff', 'utf8');
for (const { from, to, deletions, additions } of require('diffparser')(diff))
  console.log(`diffparser: ${from} to ${to}, -${deletions} +${additions}`);
for (const { name, lines } of require('git-diff-parser')(diff).commits[0].files)
  console.log(`git-diff-parser: ${name},`, lines.map(line => `${line.type} ${line.text}`).join(', ').trimEnd());
JS
got=$(node t.cjs)
want='diffparser: a.sql to a.sql, -0 +0
diffparser: old note to new note, -0 +0
git-diff-parser: a.sql, normal select 1;, normal select 2;, normal'
printf '%s\n%s\n' 'One would expect one file, a.sql, with a line removed and one added:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
