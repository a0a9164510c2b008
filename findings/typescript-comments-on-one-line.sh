#!/usr/bin/env bash
# typescript 5.9.3 (npm): its parser and language service, on which documentation tools such as TypeDoc stand
#
# One would expect: a comment /** … */ in front of a member documents it, wherever it stands. The handbook ("JSDoc
#   Reference") names no exception.
# What happens: a comment on the same line as the { or ; before it belongs to nothing. Members of a type or an enum that
#   is written on one line have no documentation, in hover and in generated documents. Parameters on one line have it.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent typescript@5.9.3 >/dev/null

cat > t.cjs <<'JS'
const ts = require('typescript');
const text = [
  'interface One { /** doc */ alone: 1; /** doc */ second: 2 }',
  'interface Lines {\n  /** doc */ own: 1;\n}',
  'enum Kind { /** doc */ Red }',
  'function f(/** doc */ parameter: 1) {}',
].join('\n');
const host = {
  getScriptFileNames: () => ['a.ts'],
  getScriptVersion: () => '1',
  getScriptSnapshot: file => ts.ScriptSnapshot.fromString(file === 'a.ts' ? text : ts.sys.readFile(file)),
  getCurrentDirectory: () => process.cwd(),
  getCompilationSettings: () => ({}),
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
};
const service = ts.createLanguageService(host);
for (const name of ['alone', 'second', 'own', 'Red', 'parameter'])
  console.log(name + ':', ts.displayPartsToString(service.getQuickInfoAtPosition('a.ts', text.indexOf(name)).documentation) || '-');
JS
got=$(node t.cjs)
want='alone: -
second: -
own: doc
Red: -
parameter: doc'
printf 'One would expect "doc" five times:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
