#!/usr/bin/env bash
# sarif-tools 3.0.5 (PyPI)
#
# One would expect: results with baselineState "absent" aren't counted: SARIF 2.1.0, section "baselineState property",
#   has them for what an earlier run found and this one didn't. And a result may name its rule by ruleIndex alone
#   (section "ruleId property").
# What happens: an absent result is an error like any other, so a check fails for what was fixed. A file with a result
#   without ruleId can't be read: every command ends with a KeyError.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib sarif-tools==3.0.5 2>/dev/null

cat > t.py <<'PY'
import json

def write(name, *results):
    rules = [{"id": "R1", "defaultConfiguration": {"level": "error"}}]
    run = {"tool": {"driver": {"name": "tool", "rules": rules}}, "results": list(results)}
    json.dump({"version": "2.1.0", "runs": [run]}, open(name, "w"))

write("absent.sarif", {"ruleId": "R1", "ruleIndex": 0, "baselineState": "absent", "message": {"text": "fixed"}})
write("index.sarif", {"ruleIndex": 0, "message": {"text": "text"}})
PY
python3 t.py
export MPLCONFIGDIR=$tmp
got=$(
  code=0; python3 -m sarif --check error summary absent.sarif >out 2>/dev/null || code=$?
  grep -x 'error: .*' out; echo "exit code $code"
  python3 -m sarif summary index.sarif >out 2>&1 || tail -n 1 out
)
want="error: 1
exit code 1
KeyError: 'ruleId'"
printf 'One would expect no error, exit code 0, and a summary of the second file:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
