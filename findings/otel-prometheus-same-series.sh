#!/usr/bin/env bash
# opentelemetry-exporter-prometheus 0.66b2 with opentelemetry-sdk 1.45.2 (PyPI), and @opentelemetry/exporter-prometheus
# 0.223.0 with @opentelemetry/sdk-metrics 2.12.1 (npm)
#
# One would expect: attributes whose names become equal (`user.id`, `user_id`) have their values joined with `;`, as
#   "Prometheus and OpenMetrics Compatibility", section "Metric Attributes", demands, and one line for each series.
# What happens: in Python one value is dropped, and points that differ only in the dropped attribute are exposed as the
#   same series several times with different values. In JavaScript the label stands twice in one line. The exposition
#   format forbids both, so one such attribute can cost the whole scrape.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib opentelemetry-exporter-prometheus==0.66b2 \
  opentelemetry-sdk==1.45.2 prometheus_client==0.26.0

npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @opentelemetry/exporter-prometheus@0.223.0 \
  @opentelemetry/sdk-metrics@2.12.1 >/dev/null

cat > t.py <<'PY'
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY, generate_latest

reader = PrometheusMetricReader(disable_target_info=True, scope_info_enabled=False)
counter = MeterProvider(metric_readers=[reader]).get_meter("m").create_counter("calls")
counter.add(1, {"user.id": "a", "user_id": "x"})
counter.add(2, {"user.id": "b", "user_id": "x"})
print("\n".join(l for l in generate_latest(REGISTRY).decode().splitlines() if l.startswith("calls_total{")))
PY
cat > t.cjs <<'JS'
const { MeterProvider } = require('@opentelemetry/sdk-metrics');
const { PrometheusExporter, PrometheusSerializer } = require('@opentelemetry/exporter-prometheus');
const reader = new PrometheusExporter({ preventServerStart: true });
const counter = new MeterProvider({ readers: [reader] }).getMeter('m').createCounter('calls');
counter.add(1, { 'user.id': 'a', user_id: 'x' });
reader.collect().then(({ resourceMetrics }) => {
  const text = new PrometheusSerializer().serialize(resourceMetrics);
  console.log(text.split('\n').find(line => line.startsWith('calls_total{')));
});
JS
got=$(python3 t.py; node t.cjs)
want='calls_total{user_id="x"} 1.0
calls_total{user_id="x"} 2.0
calls_total{user_id="a",user_id="x",otel_scope_name="m"} 1'
printf 'One would expect user_id="a;x", user_id="b;x" and again user_id="a;x":\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
