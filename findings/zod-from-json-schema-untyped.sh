#!/usr/bin/env bash
# zod 4.6.7 (npm), z.fromJSONSchema(), with which a client turns the input schemas of MCP tools into zod's
#
# One would expect: a schema that can't be expressed is refused, as those with `not` and `if` are ("not is not
#   supported in Zod"). In JSON Schema (2020-12, section 7.6.1) a keyword counts whether or not `type` stands beside
#   it.
# What happens: a schema without `type` accepts anything, so its keywords are dropped without an error. "a or b must
#   be given", anyOf with `required` alone, accepts neither of them, and the same with oneOf refuses every object,
#   also the right ones. Names in `required` that aren't in `properties` may be missing, and an array without `items`
#   may have any length.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent zod@4.6.7 >/dev/null

cat > t.cjs <<'JS'
const { z } = require('zod');
const either = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } };
const one = [{ required: ['a'] }, { required: ['b'] }];
function run(right, schema, value) {
  let found;
  try { found = z.fromJSONSchema(schema).safeParse(value).success ? 'accepted' : 'refused'; } catch (e) { found = e.message; }
  console.log(`${right}: ${found}: ${JSON.stringify(value)} by ${JSON.stringify(schema)}`);
}
run('refused', { ...either, anyOf: one }, {});
run('accepted', { ...either, oneOf: one }, { a: 'x' });
run('refused', { ...either, allOf: [{ required: ['a'] }] }, {});
run('refused', { type: 'object', additionalProperties: { type: 'string' }, required: ['a'] }, {});
run('refused', { properties: { a: { type: 'string' } } }, { a: 1 });
run('refused', { minLength: 2 }, 'x');
run('refused', { type: 'array', minItems: 1 }, []);
run('an error', { type: 'object', not: { required: ['a'] } }, {});
JS
got=$(node t.cjs)
want='refused: accepted: {} by {"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}
accepted: refused: {"a":"x"} by {"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}
refused: accepted: {} by {"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"allOf":[{"required":["a"]}]}
refused: accepted: {} by {"type":"object","additionalProperties":{"type":"string"},"required":["a"]}
refused: accepted: {"a":1} by {"properties":{"a":{"type":"string"}}}
refused: accepted: "x" by {"minLength":2}
refused: accepted: [] by {"type":"array","minItems":1}
an error: not is not supported in Zod (except { not: {} } for never): {} by {"type":"object","not":{"required":["a"]}}'
printf '%s\n%s\n' 'One would expect the first word also as the second one:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
