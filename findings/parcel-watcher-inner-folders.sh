#!/usr/bin/env bash
# @parcel/watcher 2.6.0 (npm) on Linux (inotify)
#
# One would expect: subscribe(folder) reports changes anywhere below the folder, as its documentation says
#   ("recursively").
# What happens: if a folder appears that already has folders inside (moved in, or made by mkdir -p or a checkout), only
#   the outer one is watched from then on. Changes in the inner ones are never reported, however much later they happen.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @parcel/watcher@2.6.0 >/dev/null

mkdir root
cat > t.cjs <<'JS'
const fs = require('fs'), path = require('path'), watcher = require('@parcel/watcher');
const root = path.resolve('root'), sleep = ms => new Promise(done => setTimeout(done, ms));
let seen = [];
const step = async (name, change) => {
  seen = [];
  change();
  await sleep(2000);
  console.log(name + ':', seen.length ? 'reported' : 'nothing');
};
(async () => {
  const handle = await watcher.subscribe(root, (error, events) => {
    seen.push(...events ?? []);
  });
  fs.mkdirSync('other/inner', { recursive: true });
  await step('move folder in', () => fs.renameSync('other', 'root/moved'));
  await step('write moved/f', () => fs.writeFileSync('root/moved/f', 'x'));
  await step('write moved/inner/f', () => fs.writeFileSync('root/moved/inner/f', 'x'));
  await step('write moved/inner/f again', () => fs.writeFileSync('root/moved/inner/f', 'y'));
  await handle.unsubscribe();
})();
JS
got=$(timeout 60 node t.cjs)
want='move folder in: reported
write moved/f: reported
write moved/inner/f: nothing
write moved/inner/f again: nothing'
printf 'One would expect an event for each step:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
