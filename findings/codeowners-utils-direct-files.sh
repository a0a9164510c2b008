#!/usr/bin/env bash
# codeowners-utils 1.0.2 (npm)
#
# One would expect: `docs/*` owns the files directly in docs and none deeper; GitHub's documentation ("About code
#   owners", "Example of a CODEOWNERS file") has just this example.
# What happens: it owns everything below, because the patterns are given to a matcher for ignore files, for which what
#   is in a matched folder is matched.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent codeowners-utils@1.0.2 >/dev/null

cat > t.cjs <<'JS'
const { parse, matchFile } = require('codeowners-utils');
const rules = parse('* @all\ndocs/* @writers\n');
for (const path of ['docs/intro.md', 'docs/build/deep.md', 'other.md'])
  console.log(path, matchFile(path, rules).owners.join());
JS
got=$(node t.cjs)
want='docs/intro.md @writers
docs/build/deep.md @writers
other.md @all'
printf 'One would expect @writers, @all, @all:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
