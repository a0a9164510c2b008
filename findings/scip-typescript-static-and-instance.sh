#!/usr/bin/env bash
# @sourcegraph/scip-typescript 0.4.0 (npm)
#
# One would expect: a static member and an instance member of the same name, which TypeScript keeps apart, have two
#   symbols. scip.proto, message Symbol, gives methods a disambiguator for that.
# What happens: both have one symbol. Go to definition has two targets, and the references of either are those of both.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @sourcegraph/scip-typescript@0.4.0 >/dev/null

mkdir p
cat > p/a.ts <<'TS'
export class Box {
  static open() { return 1; }
  open() { return 2; }
}
Box.open();
new Box().open();
TS
echo '{"name":"p","version":"1.0.0"}' > p/package.json
echo '{"compilerOptions":{"target":"es2022","types":[]},"include":["*.ts"]}' > p/tsconfig.json
(cd p && node ../node_modules/@sourcegraph/scip-typescript/dist/src/main.js index >/dev/null)
cat > t.cjs <<'JS'
const fs = require('fs'), { scip } = require('@sourcegraph/scip-typescript/dist/src/scip.js');
const [document] = scip.Index.deserializeBinary(fs.readFileSync('p/index.scip')).documents;
for (const o of document.occurrences)
  if (o.symbol.endsWith('open().'))
    console.log('line', o.range[0] + 1, o.symbol_roles & 1 ? 'definition' : 'reference', o.symbol.split('/').pop());
JS
got=$(node t.cjs | sort)
want='line 2 definition Box#open().
line 3 definition Box#open().
line 5 reference Box#open().
line 6 reference Box#open().'
printf 'One would expect lines 2 and 5 to have another symbol than lines 3 and 6:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
