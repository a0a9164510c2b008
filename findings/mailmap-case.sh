#!/usr/bin/env bash
# dulwich 1.2.21 and pygit2 1.21.0 (PyPI)
#
# One would expect: an address in .mailmap is found however it is written, as gitmailmap(5), "SYNTAX", says: names and
#   addresses are matched without regard to case.
# What happens: both compare bytes. An author who once wrote the address with a capital letter stays another person, in
#   one program that reads the history and not in git.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib dulwich==1.2.21 pygit2==1.21.0

git init -q repo
echo 'Ann Example <ann@example.org>' > repo/.mailmap
cat > t.py <<'PY'
import sys
import pygit2
from dulwich.mailmap import Mailmap

name, address = sys.argv[1:]
print("dulwich:", Mailmap.from_path("repo/.mailmap").lookup(f"{name} <{address}>".encode()).decode())
print("pygit2:", pygit2.Mailmap.from_buffer(open("repo/.mailmap").read()).resolve(name, address)[0])
PY
got=$(for address in ann@example.org Ann@example.org; do
  echo "git: $(git -C repo check-mailmap "ann <$address>")"
  python3 t.py ann $address
done)
want='git: Ann Example <ann@example.org>
dulwich: Ann Example <ann@example.org>
pygit2: Ann Example
git: Ann Example <Ann@example.org>
dulwich: ann <Ann@example.org>
pygit2: ann'
printf 'One would expect Ann Example six times:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
