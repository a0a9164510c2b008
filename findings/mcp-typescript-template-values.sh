#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/server 2.4.0 (npm), resource templates
#
# One would expect: a server that registers `note:///{title}` gets back the title from which the URI was made. RFC 6570
#   (section 3.2.1) percent-encodes values; MCP names that RFC for its templates. In `{?from,to}` each may be left out.
# What happens: values aren't decoded. For the title `a b` the URI is note:///a%20b and the handler gets `a%20b`, so a
#   look-up by title finds nothing. A query whose parameters are fewer, or in another order, than in the template doesn't
#   match at all: the SDK's own URI for only one of two parameters is an unknown resource. Python's SDK (mcp 2.3.0)
#   decodes, and takes the parameters as they come.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-warn-conflicts --target lib mcp==2.3.0
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server@2.4.0 zod@4.1.12 >/dev/null

cat > t.mjs <<'JS'
import { UriTemplate as One } from '@modelcontextprotocol/sdk/shared/uriTemplate.js';
import { UriTemplate as Two } from '@modelcontextprotocol/server';

for (const [version, UriTemplate] of [['sdk 1', One], ['server 2', Two]]) {
  const show = (template, values) => {
    const uri = new UriTemplate(template).expand(values);
    console.log(`${version}: ${uri} ->`, JSON.stringify(new UriTemplate(template).match(uri)));
  };
  show('note:///{title}', { title: 'a b' });
  show('log:///x{?from,to}', { from: '1', to: '2' });
  show('log:///x{?from,to}', { to: '2' });
  console.log(`${version}: log:///x?to=2&from=1 ->`, new UriTemplate('log:///x{?from,to}').match('log:///x?to=2&from=1'));
}
JS
cat > t.py <<'PY'
import json

from mcp.shared.uri_template import UriTemplate

for template, values in ("note:///{title}", {"title": "a b"}), ("log:///x{?from,to}", {"to": "2"}):
    uri = UriTemplate.parse(template).expand(values)
    print(f"Python: {uri} ->", json.dumps(UriTemplate.parse(template).match(uri)))
PY
got=$(node t.mjs; python3 t.py)
want='sdk 1: note:///a%20b -> {"title":"a%20b"}
sdk 1: log:///x?from=1&to=2 -> {"from":"1","to":"2"}
sdk 1: log:///x?to=2 -> null
sdk 1: log:///x?to=2&from=1 -> null
server 2: note:///a%20b -> {"title":"a%20b"}
server 2: log:///x?from=1&to=2 -> {"from":"1","to":"2"}
server 2: log:///x?to=2 -> null
server 2: log:///x?to=2&from=1 -> null
Python: note:///a%20b -> {"title": "a b"}
Python: log:///x?to=2 -> {"to": "2"}'
printf '%s\n%s\n' 'One would expect the values that the URI was made of:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
