#!/usr/bin/env bash
# json-schema-to-pydantic 0.5.0 (PyPI), with which clients in Python check the arguments of MCP tools, and pydantic 2.14.4
#
# One would expect: what the schema allows is accepted, and dumping the model gives the same value. JSON Schema
#   2020-12: items have an order and uniqueItems only forbids equal ones (validation, 6.4.3), what isn't in
#   `properties` is allowed (core, 10.3.2.3), and `format: uri` doesn't change a text.
# What happens: an array with uniqueItems becomes a set: its order changes from run to run, and arrays of objects are
#   refused. Arguments beside `properties` are dropped even with additionalProperties: true, a URI gets a slash, and
#   an optional text that isn't given is dumped as null, which the same model refuses when it reads it.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib json-schema-to-pydantic==0.5.0 pydantic==2.14.4

cat > t.py <<'PY'
import json

from json_schema_to_pydantic import create_model

def run(schema, value):
    model = create_model({"type": "object", **schema})
    try:
        print(json.dumps(value), "->", dumped := model.model_validate(value).model_dump_json())
        model.model_validate_json(dumped)
    except Exception as error:
        print("  refused:", error.errors()[0]["msg"])

names = {"type": "array", "uniqueItems": True, "items": {"type": "string"}}
texts = [f"text {number}" for number in range(20)]
order = create_model({"type": "object", "properties": {"names": names}})(names=texts).model_dump(mode="json")["names"]
print("order kept" if order == texts else "order lost" if sorted(order) == sorted(texts) else "other items")
points = {"type": "array", "uniqueItems": True, "items": {"type": "object", "properties": {"x": {"type": "integer"}}}}
run({"properties": {"points": points}}, {"points": [{"x": 1}, {"x": 2}]})
run({"properties": {}, "additionalProperties": True}, {"a": 1})
run({"properties": {"where": {"type": "string", "format": "uri"}}}, {"where": "http://localhost"})
run({"properties": {"text": {"type": "string"}}}, {})
PY
got=$(python3 t.py)
want='order lost
  refused: Set items should be hashable
{"a": 1} -> {}
{"where": "http://localhost"} -> {"where":"http://localhost/"}
{} -> {"text":null}
  refused: Input should be a valid string'
printf '%s\n%s\n' 'One would expect that the order is kept, the same value on both sides, and nothing refused:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
