#!/usr/bin/env bash
# codeowners 0.9.0 (PyPI)
#
# One would expect: what follows # after the owners is a comment (GitHub, "About code owners", the line for `*.js` of
#   its example). A line [Name], [Name][2] or [Name] @owner begins a section, whose owners count for the entries in it
#   that name none (GitLab, "Advanced CODEOWNERS configuration"): the source links to GitLab's sections, and
#   section_name() returns them.
# What happens: whoever is mentioned in a comment is an owner. A section with default owners is taken for a pattern, a
#   class of characters: it owns all files and folders with one letter of the name, the entries below it belong to the
#   section before and have no owner. With the number of approvals the section is called `Name][2`. No error.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib codeowners==0.9.0

cat > t.py <<'PY'
from codeowners import CodeOwners

owners = CodeOwners("""\
*.js @js  # moved here, ask @former before 2027
[Docs][2]
*.md @writers
[Database] @dba
model/
""")
for path in "a.js", "README.md", "model/user.sql", "src/a/x.c":
    print(path, [name for _, name in owners.of(path)], owners.section_name(path))
PY
got=$(python3 t.py)
want="a.js ['@js', '@former'] None
README.md ['@writers'] Docs][2
model/user.sql [] Docs][2
src/a/x.c ['@dba'] Docs][2"
printf '%s\n%s\n' 'One would expect @js alone, Docs, @dba in Database, and no owner of the last one:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
