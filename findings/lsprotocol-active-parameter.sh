#!/usr/bin/env bash
# lsprotocol 2025.0.0 (PyPI), the types and the converter that pygls writes its answers with
#
# One would expect: a field that a server doesn't set isn't sent. A signature without an activeParameter of its own
#   has that of the SignatureHelp (LSP 3.18, "Signature Help Request", and SignatureInformation in lsprotocol's own
#   text).
# What happens: activeParameter is sent as null wherever it isn't set. By 3.18 null is a statement, that no parameter
#   is active, and that of a signature counts instead of that of the SignatureHelp: a server that says
#   active_parameter=1 tells the client that none is. It may be sent only to clients with noActiveParameterSupport,
#   and in 3.17 the field can't be null at all. The other optional fields are left out.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib lsprotocol==2025.0.0 cattrs==26.2.1 attrs==26.1.0

cat > t.py <<'PY'
import json

from lsprotocol import converters, types

parameters = [types.ParameterInformation(label=name) for name in ("a", "b")]
signature = types.SignatureInformation(label="f(a, b)", parameters=parameters)
for help in types.SignatureHelp([signature], active_parameter=1), types.SignatureHelp([signature]):
    print(json.dumps(converters.get_converter().unstructure(help)))
PY
got=$(python3 t.py)
want='{"signatures": [{"label": "f(a, b)", "activeParameter": null, "parameters": [{"label": "a"}, {"label": "b"}]}], "activeParameter": 1}
{"signatures": [{"label": "f(a, b)", "activeParameter": null, "parameters": [{"label": "a"}, {"label": "b"}]}], "activeParameter": null}'
printf '%s\n%s\n' 'One would expect no activeParameter that is null:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
