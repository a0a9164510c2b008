#!/usr/bin/env bash
# eventsource 4.1.1 with eventsource-parser 3.1.1 (npm), beside undici 7.30.2 (npm)
#
# One would expect: a block with an id and no data moves the last event id, and the next connection sends it (HTML,
#   "Server-sent events", section "Interpreting an event stream": the id is taken over before the empty data ends the
#   step). Servers give such an id so that a client can resume a stream that broke before its first event.
# What happens: the parser drops the block with its id, so eventsource connects again without Last-Event-ID. undici
#   sends it.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent eventsource@4.1.1 eventsource-parser@3.1.1 undici@7.30.2 >/dev/null

cat > t.cjs <<'JS'
const http = require('http');
async function run(name, EventSource) {
  const ids = [];
  const server = http.createServer((request, response) => {
    ids.push(request.headers['last-event-id'] ?? 'none');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end('retry: 50\nid: 41\n\n');
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  const source = new EventSource('http://127.0.0.1:' + server.address().port + '/');
  while (ids.length < 2) await new Promise(done => setTimeout(done, 20));
  source.close();
  server.closeAllConnections();
  server.close();
  console.log(name, 'Last-Event-ID of the first and the second request:', ids.slice(0, 2).join(' '));
}
(async () => {
  await run('eventsource', require('eventsource').EventSource);
  await run('undici', require('undici').EventSource);
})();
JS
got=$(timeout 60 node t.cjs 2>/dev/null)
want='eventsource Last-Event-ID of the first and the second request: none none
undici Last-Event-ID of the first and the second request: none 41'
printf 'One would expect "none 41" twice:\n%s\n' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
