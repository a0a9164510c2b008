#!/usr/bin/env bash
# gray-matter 4.0.3 (npm)
#
# One would expect: front matter that isn't valid YAML throws each time it is parsed.
# What happens: it throws once. The file was put in gray-matter's cache before it was parsed, so the second call with
#   the same text returns it from there: no error, no data, and the front matter as a part of the content.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent gray-matter@4.0.3 >/dev/null

cat > t.cjs <<'JS'
const matter = require('gray-matter');
const text = '---\ntitle: [a\n---\nbody\n';
for (const call of ['first', 'second', 'with options']) {
  try {
    const file = matter(text, call === 'with options' ? {} : undefined);
    console.log(call, JSON.stringify(file.data), JSON.stringify(file.content));
  } catch (e) {
    console.log(call, e.name);
  }
}
JS
got=$(node t.cjs)
want='first YAMLException
second {} "---\ntitle: [a\n---\nbody\n"
with options YAMLException'
printf 'One would expect YAMLException three times:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
