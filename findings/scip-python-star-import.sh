#!/usr/bin/env bash
# @sourcegraph/scip-python 0.6.6 (npm)
#
# One would expect: a name that comes from `from a import *` has the symbol of its definition in a, as it has after
#   `from a import name`.
# What happens: its uses have the symbol of the module a. References of the function miss all uses in files that
#   import it with a star, and those uses are references of the module. A relative import in a package has the same
#   fault: `from .part import g` in pkg/__init__.py refers to a module `part`, which nothing defines, not to `pkg.part`.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @sourcegraph/scip-python@0.6.6 >/dev/null
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @sourcegraph/scip-typescript@0.4.0 >/dev/null # reads the index

mkdir -p p/pkg/part
printf 'def f(): return 1\n' > p/a.py
printf 'from a import *\nf()\n' > p/star.py
printf 'from a import f\nf()\n' > p/named.py
printf 'from .part import g\n' > p/pkg/__init__.py
printf 'def g(): return 1\n' > p/pkg/part/__init__.py
(cd p && HOME=$tmp node ../node_modules/@sourcegraph/scip-python/index.js index . --project-name p --project-version 1 >/dev/null 2>&1)
cat > t.cjs <<'JS'
const fs = require('fs'), { scip } = require('@sourcegraph/scip-typescript/dist/src/scip.js');
const index = scip.Index.deserializeBinary(fs.readFileSync('p/index.scip'));
const name = symbol => symbol.split(' ').slice(4).join(' ');
const defined = new Set(index.documents.flatMap(d => d.occurrences).filter(o => o.symbol_roles & 1).map(o => o.symbol));
const at = (path, line, column) => index.documents.find(d => d.relative_path === path).occurrences
  .filter(o => o.range[0] === line && o.range[1] === column && !(o.symbol_roles & 1))
  .map(o => name(o.symbol) + (defined.has(o.symbol) ? '' : ' (not defined)'));
console.log('star.py f():', ...at('star.py', 1, 0));
console.log('named.py f():', ...at('named.py', 1, 0));
console.log('pkg/__init__.py .part:', ...at('pkg/__init__.py', 0, 5));
JS
got=$(node t.cjs)
want='star.py f(): a/__init__:
named.py f(): a/f().
pkg/__init__.py .part: part/__init__: (not defined)'
printf 'One would expect a/f(). twice and a module pkg.part that is defined:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
