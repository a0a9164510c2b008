#!/usr/bin/env bash
# dulwich 1.2.21 (PyPI), porcelain.describe(), with which build scripts make version numbers
#
# One would expect: what `git describe` says, as the examples of its documentation do ("v0.1-5-gabcdefa").
#   git-describe(1): only annotated tags, the one with the fewest commits that the tag doesn't have, and their number.
# What happens: it goes back through all commits by date and takes the first that has a tag. A hotfix of the old
#   release that was merged makes its tag win over the new release's. Tags without annotation count, a tag
#   `release/v3` is called v3, and a branch with "tags" in its name is taken for a tag. The number is that of the
#   commits it met.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=u GIT_AUTHOR_EMAIL=u@example.com
export GIT_COMMITTER_NAME=u GIT_COMMITTER_EMAIL=u@example.com GIT_AUTHOR_DATE=2026-01-01T00:00:00Z
export PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1
python3 -m pip install -q --no-cache-dir --disable-pip-version-check --root-user-action=ignore --target lib dulwich==1.2.21

git init -q -b main repo
hour=0
commit() { hour=$((hour + 1)); GIT_COMMITTER_DATE="2026-01-01T0$hour:00:00Z" git -C repo "$@"; }
show() {
  python3 -c 'import sys; from dulwich import porcelain; print(sys.argv[1], sys.argv[2], "dulwich:", porcelain.describe("repo"))' \
    "$1, git:" "$(git -C repo describe)"
}
commit commit -q --allow-empty -m 1
git -C repo tag -a -m 1 v1.0
for i in 2 3 4; do commit commit -q --allow-empty -m $i; done
git -C repo tag -a -m 2 v2.0
git -C repo checkout -q -b fix v1.0
commit commit -q --allow-empty -m fix
git -C repo tag -a -m 1 v1.0.1
git -C repo checkout -q main
commit merge -q --no-ff -m merge fix
got=$(show merged
git -C repo tag nightly
show nightly
git -C repo tag -d nightly >/dev/null
git -C repo branch page-of-tags
show branch
commit commit -q --allow-empty -m 5
git -C repo tag -a -m 5 release/v3
show release)
want='merged, git: v2.0-2-gcf8537b dulwich: v1.0.1-1-gcf8537b
nightly, git: v2.0-2-gcf8537b dulwich: nightly
branch, git: v2.0-2-gcf8537b dulwich: page-of-tags
release, git: release/v3 dulwich: v3'
printf '%s\n%s\n' 'One would expect the same twice in each line:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
