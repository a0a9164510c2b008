#!/usr/bin/env bash
# dulwich 1.2.21 and pygit2 1.21.0 (PyPI) with core.autocrlf
#
# One would expect: a file that .gitattributes calls binary is stored as it is. gitattributes(5), "USING MACRO
#   ATTRIBUTES", has `binary` unset `text`; and a pattern in double quotes names a file with a space ("DESCRIPTION").
# What happens: dulwich doesn't know macros, so it changes the line ends inside files that are marked `binary`. Neither
#   reads quoted patterns, so both do it to the file in quotes. No warning; the files are damaged in the repository.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib dulwich==1.2.21 pygit2==1.21.0

cat > t.py <<'PY'
import os, sys

os.chdir("repo")
names = ["a.pdf", "b.raw", "c d.raw"]
if sys.argv[1] == "dulwich":
    from dulwich import porcelain
    porcelain.add(".", paths=names)
else:
    import pygit2
    index = pygit2.Repository(".").index
    index.add_all(names)
    index.write()
PY
got=$(for tool in git dulwich pygit2; do
  rm -rf repo
  git init -q repo
  git -C repo config core.autocrlf input
  printf '*.pdf binary\nb.raw -text\n"c d.raw" -text\n' > repo/.gitattributes
  for name in a.pdf b.raw 'c d.raw'; do printf '%%PDF\r\n' > "repo/$name"; done
  if [ $tool = git ]; then git -C repo add -- a.pdf b.raw 'c d.raw'; else python3 t.py $tool; fi
  for name in a.pdf b.raw 'c d.raw'; do git -C repo cat-file -s ":$name"; done | xargs echo $tool:
done)
want='git: 6 6 6
dulwich: 5 6 5
pygit2: 6 6 5'
printf 'Sizes of a.pdf, b.raw and "c d.raw" in the repository, 6 in the working tree; one would expect 6 everywhere:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
