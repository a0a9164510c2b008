#!/usr/bin/env bash
# @sourcegraph/scip-typescript 0.4.0 (npm)
#
# One would expect: an exported name has a global symbol. scip.proto, message Symbol: local symbols are only for
#   entities that can't be accessed from outside the document.
# What happens: exported names that are bound by destructuring get local symbols. Each document counts its locals anew,
#   so the import refers to a local of its own document that nothing defines. Definition and references across files
#   are lost, without a warning; an export default of a function without a name is lost the same way.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @sourcegraph/scip-typescript@0.4.0 >/dev/null

mkdir p
cat > p/a.ts <<'TS'
export const { host } = { host: 'h' };
export const [first] = [1];
export const plain = 1;
export default function () { return 1; }
TS
cat > p/b.ts <<'TS'
import main, { host, first, plain } from './a';
export const used = [host, first, plain, main];
TS
echo '{"name":"p","version":"1.0.0"}' > p/package.json
echo '{"compilerOptions":{"target":"es2022","module":"esnext","types":[]},"include":["*.ts"]}' > p/tsconfig.json
(cd p && node ../node_modules/@sourcegraph/scip-typescript/dist/src/main.js index >/dev/null)
cat > t.cjs <<'JS'
const fs = require('fs'), { scip } = require('@sourcegraph/scip-typescript/dist/src/scip.js');
const index = scip.Index.deserializeBinary(fs.readFileSync('p/index.scip'));
const documents = Object.fromEntries(index.documents.map(d => [d.relative_path, d]));
const text = fs.readFileSync('p/b.ts', 'utf8').split('\n');
for (const o of documents['b.ts'].occurrences) {
  const [line, start, end] = o.range;
  if (line !== 1 || o.symbol_roles & 1) continue;
  const local = o.symbol.startsWith('local ');
  const homes = index.documents.filter(d => (!local || d.relative_path === 'b.ts') &&
    d.occurrences.some(x => x.symbol === o.symbol && x.symbol_roles & 1)).map(d => d.relative_path);
  console.log(text[line].slice(start, end), local ? 'local' : 'global', 'defined in:', homes.join() || 'nothing');
}
JS
got=$(node t.cjs)
want='host local defined in: nothing
first local defined in: nothing
plain global defined in: a.ts
main local defined in: nothing'
printf 'Uses in b.ts; one would expect four global symbols that are defined in a.ts:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
