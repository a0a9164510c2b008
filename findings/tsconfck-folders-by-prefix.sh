#!/usr/bin/env bash
# tsconfck 3.1.6 (npm), by which Vite and others find the tsconfig of a file; typescript 5.9.3 for comparison
#
# One would expect: of a tsconfig.json with references, a file gets the referenced configuration that includes it
#   (readme and "parse" of tsconfck's documentation). A name in `include` and `exclude` without a wildcard is that
#   file or folder, what outDir holds is excluded, and allowJs adds .js (TSConfig reference, "include", "exclude",
#   "allowJs").
# What happens: names are compared as the beginning of the path. `app` includes app-admin/ and `exclude: ["lib"]`
#   excludes lib.ts, so the files of one project get another one's options or those of the outer tsconfig.json. Files
#   in outDir are included, and files that allowJs of a referenced configuration adds aren't.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent tsconfck@3.1.6 typescript@5.9.3 >/dev/null

mkdir -p p/app p/app-admin p/lib p/site/out
for name in app/a.ts app-admin/b.ts lib/c.ts lib.ts site/d.js site/out/e.d.ts; do echo 'export {};' > p/$name; done
references() { printf '{"files": [], "references": [%s]}\n' "$(for name; do printf '{"path": "%s"},' "$name"; done | sed 's/,$//')"; }
references ./app.json ./admin.json ./other.json ./site/site.json > p/tsconfig.json
echo '{"include": ["app"]}' > p/app.json
echo '{"include": ["app-admin"]}' > p/admin.json
echo '{"include": ["*"], "exclude": ["lib"]}' > p/other.json
echo '{"compilerOptions": {"outDir": "out", "allowJs": true}}' > p/site/site.json
cat > t.mjs <<'JS'
import { relative, resolve, dirname } from 'node:path';
import { parse } from 'tsconfck';
import ts from 'typescript';

const included = name => {
  const file = resolve('p', name), { config } = ts.readConfigFile(file, ts.sys.readFile);
  return ts.parseJsonConfigFileContent(config, ts.sys, dirname(file)).fileNames;
};
for (const name of ['app/a.ts', 'app-admin/b.ts', 'lib/c.ts', 'lib.ts', 'site/d.js', 'site/out/e.d.ts']) {
  const file = resolve('p', name);
  const right = ['app.json', 'admin.json', 'other.json', 'site/site.json'].filter(config => included(config).includes(file));
  const { tsconfigFile } = await parse(file);
  console.log(`${name}: TypeScript ${right.join() || 'none'}, tsconfck ${relative('p', tsconfigFile)}`);
}
JS
got=$(node t.mjs)
want='app/a.ts: TypeScript app.json, tsconfck app.json
app-admin/b.ts: TypeScript admin.json, tsconfck app.json
lib/c.ts: TypeScript none, tsconfck tsconfig.json
lib.ts: TypeScript other.json, tsconfck tsconfig.json
site/d.js: TypeScript site/site.json, tsconfck tsconfig.json
site/out/e.d.ts: TypeScript none, tsconfck site/site.json'
printf '%s\n%s\n' 'One would expect the same configuration twice, tsconfig.json for none:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
