#!/usr/bin/env bash
# opentelemetry-exporter-otlp-proto-http 1.45.2 (PyPI)
#
# One would expect: OTEL_EXPORTER_OTLP_TIMEOUT=1500 waits 1.5 s. The OpenTelemetry specification ("Environment Variable
#   Specification", section "Duration") has all durations in milliseconds, and SDKs of other languages read them so.
# What happens: it is read as seconds. With 10000, the default of the specification written out, an export may block for
#   hours; below, 1 waits one second.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib opentelemetry-exporter-otlp-proto-http==1.45.2 opentelemetry-sdk==1.45.2

cat > t.py <<'PY'
import os, socket, time

silent = socket.create_server(("127.0.0.1", 0))  # accepts connections and never answers
os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:%d" % silent.getsockname()[1]
os.environ["OTEL_EXPORTER_OTLP_TIMEOUT"] = "1"

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider

span = TracerProvider().get_tracer("t").start_span("s")
span.end()
start = time.monotonic()
result = OTLPSpanExporter().export([span])
print(result.name, "after at least 0.9 s:", time.monotonic() - start > 0.9)
PY
got=$(timeout 60 python3 t.py 2>/dev/null)
want='FAILURE after at least 0.9 s: True'
printf 'A timeout of 1; one would expect a failure after a millisecond:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
