#!/usr/bin/env bash
# parse-prometheus-text-format 1.1.1 (npm)
#
# One would expect: each label set of a histogram or summary is a series (Prometheus, "Text format details"), and is
#   returned as one, as prom2json does, with which the package's readme says that its output aims to be compatible.
# What happens: if a histogram has a label beside `le`, all its series become one, without labels: each bucket has the
#   value of the series that was last in the text, and sum and count are gone. The same with summaries. For counters
#   and gauges the labels stay. No error.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent parse-prometheus-text-format@1.1.1 >/dev/null

cat > t.cjs <<'JS'
const parse = require('parse-prometheus-text-format');
for (const { metrics } of parse(`# TYPE t histogram
t_bucket{tool="read",le="1"} 1
t_bucket{tool="read",le="+Inf"} 2
t_sum{tool="read"} 3
t_count{tool="read"} 2
t_bucket{tool="write",le="1"} 10
t_bucket{tool="write",le="+Inf"} 20
t_sum{tool="write"} 30
t_count{tool="write"} 20
# TYPE s summary
s{tool="read",quantile="0.5"} 1
s_sum{tool="read"} 3
s_count{tool="read"} 2
s{tool="write",quantile="0.5"} 10
s_sum{tool="write"} 30
s_count{tool="write"} 20
# TYPE c counter
c{tool="read"} 2
c{tool="write"} 20
`))
  console.log(JSON.stringify(metrics));
JS
got=$(node t.cjs)
want='[{"buckets":{"1":"10","+Inf":"20"}}]
[{"quantiles":{"0.5":"10"}}]
[{"value":"2","labels":{"tool":"read"}},{"value":"20","labels":{"tool":"write"}}]'
printf '%s\n%s\n' 'One would expect two series with their labels, sums and counts in each line:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
