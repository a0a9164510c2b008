#!/usr/bin/env bash
# @orama/orama 3.1.18 (npm)
#
# One would expect: with `exact: true` a document is found by a term that it contains, or that it consists of. The
#   documentation of the search parameter says no more than that the term is matched exactly.
# What happens: a term that begins or ends with another character than a letter of ASCII, a digit or _ is never found,
#   though the same search without `exact` finds it: the match has to lie between word boundaries of a regular
#   expression, and there is none beside such a character. In code, `C++`, `--flag` and `$scope` are such terms.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @orama/orama@3.1.18 >/dev/null

cat > t.cjs <<'JS'
const { create, insert, search } = require('@orama/orama');
(async () => {
  const db = await create({ schema: { text: 'string' } });
  const texts = ['plain', 'snake_case', '$scope', '--flag', 'C++ code'];
  for (const text of texts) await insert(db, { text });
  for (const term of ['plain', 'snake_case', '$scope', '--flag', 'C++']) {
    const found = async exact => (await search(db, { term, exact })).hits.some(h => h.document.text.startsWith(term));
    console.log(term, 'found:', await found(false), 'exact:', await found(true));
  }
})();
JS
got=$(node t.cjs)
want='plain found: true exact: true
snake_case found: true exact: true
$scope found: true exact: false
--flag found: true exact: false
C++ found: true exact: false'
printf 'One would expect true everywhere:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
