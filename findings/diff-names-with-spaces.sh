#!/usr/bin/env bash
# whatthepatch 1.0.7 (PyPI) and gitdiff-parser 0.3.1 (npm) on the output of git diff
#
# One would expect: the path of a changed file. In a unified diff a tab ends the name (POSIX, diff, section "Diff -u or
#   -U Output Format"), and git writes one after each name that has a space.
# What happens: both keep the tab as a part of the name, so no file of the repository has the name that they return.
#   gitdiff-parser also calls a renamed file with changes "modify"; whatthepatch returns names with a/ and b/ for a
#   change of the mode, and without for a change of the text.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib whatthepatch==1.0.7
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent gitdiff-parser@0.3.1 >/dev/null

git init -q repo
printf '%s\n' 1 2 3 4 | tee 'repo/my file' > repo/old
echo text > repo/tool
git -C repo add .
git -C repo -c user.name=a -c user.email=a@example.org commit -q -m one
echo 5 >> 'repo/my file'
git -C repo mv old new
echo 5 >> repo/new
chmod +x repo/tool
git -C repo -c core.fileMode=true diff -M HEAD > diff
cat > t.py <<'PY'
import whatthepatch

for d in whatthepatch.parse_patch(open("diff").read()):
    print("whatthepatch:", repr(d.header.old_path), repr(d.header.new_path))
PY
cat > t.cjs <<'JS'
for (const f of require('gitdiff-parser').parse(require('fs').readFileSync('diff', 'utf8')))
  console.log('gitdiff-parser:', f.type, JSON.stringify(f.oldPath), JSON.stringify(f.newPath));
JS
got=$(python3 t.py; node t.cjs)
want="whatthepatch: 'my file\\t' 'my file\\t'
whatthepatch: 'old' 'new'
whatthepatch: 'a/tool' 'b/tool'
gitdiff-parser: modify \"my file\\t\" \"my file\\t\"
gitdiff-parser: modify \"old\" \"new\"
gitdiff-parser: modify \"tool\" \"tool\""
printf 'One would expect "my file", "tool" and a rename:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
