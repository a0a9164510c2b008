#!/usr/bin/env bash
# opentelemetry-sdk 1.45.2 (PyPI)
#
# One would expect: beyond the limit of attributes the new one is discarded, and values that are too long are truncated,
#   byte arrays too. The OpenTelemetry specification demands both ("Common specification concepts", section "Attribute
#   Limits").
# What happens: the oldest attribute is thrown away for the new one, so a span loses first what it was started with, such
#   as the method of the request. Byte arrays keep their length.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib opentelemetry-sdk==1.45.2

cat > t.py <<'PY'
from opentelemetry.sdk.trace import SpanLimits, TracerProvider

def attributes(limits, values):
    span = TracerProvider(span_limits=limits).get_tracer("t").start_span("s", attributes=values)
    span.set_attribute("last", "abcdef")
    span.end()
    return dict(span.attributes)

print("count limit 2:", attributes(SpanLimits(max_span_attributes=2), {"http.request.method": "GET", "url.path": "/"}))
print("length limit 3:", attributes(SpanLimits(max_span_attribute_length=3), {"bytes": b"abcdef"}))
PY
got=$(python3 t.py 2>/dev/null)
want="count limit 2: {'url.path': '/', 'last': 'abcdef'}
length limit 3: {'bytes': b'abcdef', 'last': 'abc'}"
printf 'One would expect http.request.method and url.path, and "abc" twice:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
