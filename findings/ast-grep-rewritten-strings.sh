#!/usr/bin/env bash
# ast-grep-cli 0.51.1 (PyPI)
#
# One would expect: rewriting log($A) to print($A) changes the function's name and nothing else: a meta variable
#   stands for the node that it matched ("Rewrite Code", "Use Meta Variable in Rewrite"), and what is in a string is
#   its value.
# What happens: the lines of what a meta variable holds are indented anew, also those within a string of several
#   lines, a template literal or a docstring, so that the program has other texts than before. A comment between the
#   parentheses is dropped with the old code. The run reports the changes as applied.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib ast-grep-cli==0.51.1

cat > a.js <<'JS'
if (true) {
  log(`usage:
run FILE`);
  log(/* keep in step with b.js */ 1);
}
JS
cat > a.py <<'PY'
if True:
    log("""usage:
run FILE""")
    log(1  # keep in step with b.py
        )
PY
got=$(for name in a.js a.py; do
  lib/bin/ast-grep run --pattern 'log($A)' --rewrite 'print($A)' --update-all $name 2>/dev/null
  cat $name
done)
want='if (true) {
  print(`usage:
  run FILE`);
  print(1);
}
if True:
    print("""usage:
    run FILE""")
    print(1)'
printf '%s\n%s\n' 'One would expect no blanks before "run FILE", and both comments:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
