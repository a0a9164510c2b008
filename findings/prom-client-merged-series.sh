#!/usr/bin/env bash
# prom-client 15.1.3 (npm)
#
# One would expect: each combination of label values is a series of its own (Prometheus, "Data model").
# What happens: a series is found by its labels joined with : and , without escaping. Two combinations whose joined text
#   is the same are counted in one, under the labels of the first. A label that is undefined and one that is left out
#   are one series as well, and the first call decides whether the label is exposed as "undefined" or not at all.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent prom-client@15.1.3 >/dev/null

cat > t.cjs <<'JS'
const { Counter, Registry } = require('prom-client');
async function run(...calls) {
  const registry = new Registry();
  const counter = new Counter({ name: 'n', help: 'h', labelNames: ['file', 'kind'], registers: [registry] });
  for (const labels of calls) counter.inc(labels);
  console.log((await registry.metrics()).split('\n').filter(line => line.startsWith('n{')).join('; '));
}
(async () => {
  await run({ file: 'a', kind: 'b,kind:c' }, { file: 'a,kind:b', kind: 'c' });
  await run({ file: 'a' }, { file: 'a', kind: undefined });
  await run({ file: 'a', kind: undefined }, { file: 'a' });
})();
JS
got=$(node t.cjs)
want='n{file="a",kind="b,kind:c"} 2
n{file="a"} 2
n{file="a",kind="undefined"} 2'
printf 'One would expect two series in the first line, and the same in the last two:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
