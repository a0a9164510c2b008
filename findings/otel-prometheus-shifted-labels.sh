#!/usr/bin/env bash
# opentelemetry-exporter-prometheus 0.66b2 with opentelemetry-sdk 1.45.2 (PyPI)
#
# One would expect: instruments of the same name in two scopes keep their attributes. "Prometheus and OpenMetrics
#   Compatibility", section "Metric Attributes", turns each attribute into the label of its name.
# What happens: the label names are taken from the scope that is collected first, the values of the second scope are
#   laid on them by position. If both scopes don't use the same attribute keys, values get the names of other labels:
#   below, host "h1" becomes otel_scope_name, and the scope's name becomes the scope's schema URL. No warning.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib opentelemetry-exporter-prometheus==0.66b2 \
  opentelemetry-sdk==1.45.2 prometheus_client==0.26.0

cat > t.py <<'PY'
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import REGISTRY, generate_latest

provider = MeterProvider(metric_readers=[PrometheusMetricReader(disable_target_info=True)])
provider.get_meter("first").create_counter("jobs").add(1, {"queue": "q1", "zone": "z1"})
provider.get_meter("second").create_counter("jobs").add(7, {"host": "h1"})
print("\n".join(l for l in generate_latest(REGISTRY).decode().splitlines() if l.startswith("jobs_total{")))
PY
got=$(python3 t.py)
want='jobs_total{otel_scope_name="first",otel_scope_schema_url="",otel_scope_version="",queue="q1",zone="z1"} 1.0
jobs_total{otel_scope_name="h1",otel_scope_schema_url="second",otel_scope_version="",queue=""} 7.0'
printf 'One would expect host="h1" and otel_scope_name="second" in the second line:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
