#!/usr/bin/env bash
# @npmcli/map-workspaces 5.0.3, which npm finds its workspaces with, beside workspace-tools 0.42.2 (npm)
#
# One would expect: of ["packages/*", "!packages/*", "packages/a"] npm keeps packages/a; others keep nothing, because
#   for them a negation counts wherever it stands.
# What happens: npm keeps packages/b too. A later pattern that a negation would match takes back the whole negation,
#   not only for what it names.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @npmcli/map-workspaces@5.0.3 workspace-tools@0.42.2 >/dev/null

mkdir -p repo/packages/a repo/packages/b
echo '{"name":"a","version":"1.0.0"}' > repo/packages/a/package.json
echo '{"name":"b","version":"1.0.0"}' > repo/packages/b/package.json
echo '{"lockfileVersion":3}' > repo/package-lock.json
cat > t.cjs <<'JS'
const fs = require('fs'), path = require('path'), root = path.resolve('repo');
(async () => {
  for (const workspaces of [['packages/*', '!packages/*'], ['packages/*', '!packages/*', 'packages/a']]) {
    const pkg = { name: 'root', version: '1.0.0', private: true, workspaces };
    fs.writeFileSync('repo/package.json', JSON.stringify(pkg));
    const npm = [...(await require('@npmcli/map-workspaces')({ cwd: root, pkg })).keys()];
    const tools = require('workspace-tools').getWorkspaceInfos(root).map(w => w.name);
    console.log(workspaces.join(' '), '| npm:', npm.sort().join() || '-', '| workspace-tools:', tools.join() || '-');
  }
})();
JS
got=$(node t.cjs)
want='packages/* !packages/* | npm: - | workspace-tools: -
packages/* !packages/* packages/a | npm: a,b | workspace-tools: -'
printf 'One would expect npm to keep only a in the second line:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
