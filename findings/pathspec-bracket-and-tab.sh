#!/usr/bin/env bash
# pathspec 1.1.1 (PyPI), GitIgnoreSpec
#
# One would expect: GitIgnoreSpec answers as git does; it is there for that, its documentation says.
# What happens: two differences. In a class, git takes \] for the character ]; pathspec ends the class
#   there and matches neither name. And git strips trailing spaces only; pathspec strips a trailing tab,
#   with which the line matches nothing for git.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib pathspec==1.1.1

git init -q repo
printf '%s\n' '[a\]].o' > bracket
printf 'notes\t\n' > tab
cat > t.py <<'PY'
import sys
from pathspec import GitIgnoreSpec

spec = GitIgnoreSpec.from_lines(open(sys.argv[1]))
print("pathspec:", *(p for p in ("a.o", "].o", "notes") if spec.match_file(p)))
PY
got=$(for rule in bracket tab; do
  cp $rule repo/.gitignore
  echo $rule
  { git -C repo check-ignore a.o ].o notes || true; } | xargs echo git:
  python3 t.py $rule
done)
want='bracket
git: a.o ].o
pathspec:
tab
git:
pathspec: notes'
printf 'Ignored files; one would expect the same from both:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
