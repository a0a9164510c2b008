#!/usr/bin/env bash
# dulwich 1.2.21 and pygit2 1.21.0 (PyPI), archives of a commit
#
# One would expect: the archive that `git archive` makes. gitattributes(5), "Creating an archive": files with
#   export-ignore aren't added, and in those with export-subst $Format:...$ is replaced.
# What happens: porcelain.archive() and Repository.write_archive() read neither attribute: what a repository keeps out
#   of its archives is in these, and the version file that a package reads has the placeholder. No warning, and no
#   parameter that turns it on.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib dulwich==1.2.21 pygit2==1.21.0

git init -q repo
mkdir repo/tests
printf '/tests export-ignore\nversion export-subst\n.* export-ignore\n' > repo/.gitattributes
echo '$Format:%s$' > repo/version
echo 1 > repo/tests/data
git -C repo add -A
git -C repo -c user.name=u -c user.email=u@example.com commit -q -m "Release 1"
cat > t.py <<'PY'
import io, subprocess, tarfile

import pygit2
from dulwich import porcelain

def show(name, data):
    archive = tarfile.open(fileobj=io.BytesIO(data))
    files = sorted(entry.name for entry in archive.getmembers() if entry.isfile())
    print(f"{name}: {' '.join(files)}; version: {archive.extractfile('version').read().decode().strip()}")

show("git", subprocess.run(["git", "-C", "repo", "archive", "HEAD"], capture_output=True).stdout)
out = io.BytesIO()
porcelain.archive("repo", b"HEAD", out)
show("dulwich", out.getvalue())
out = io.BytesIO()
repository = pygit2.Repository("repo")
with tarfile.open(fileobj=out, mode="w") as archive:
    repository.write_archive(repository.head.target, archive)
show("pygit2", out.getvalue())
PY
got=$(python3 t.py)
want='git: version; version: Release 1
dulwich: .gitattributes tests/data version; version: $Format:%s$
pygit2: .gitattributes tests/data version; version: $Format:%s$'
printf '%s\n%s\n' 'One would expect three times the same:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
