#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/server 2.4.0 (npm), McpServer with a ResourceTemplate
#
# One would expect: the `list` callback of a resource template may list in pages. Its result type is the protocol's
#   result of resources/list, with nextCursor (MCP 2025-06-18, "Pagination", names resources/list).
# What happens: nextCursor is dropped, and the cursor of a request never reaches the callback. A client gets the first
#   page as the whole list, and every later page is that first one again.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server@2.4.0 zod@4.1.12 >/dev/null

cat > t.mjs <<'JS'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as one from '@modelcontextprotocol/sdk/server/mcp.js';
import * as two from '@modelcontextprotocol/server';

for (const [version, { McpServer, ResourceTemplate }] of Object.entries({ 'sdk 1': one, 'server 2': two })) {
  const server = new McpServer({ name: 't', version: '1' });
  let cursors = [];
  const list = extra => {
    cursors.push(JSON.stringify(extra).includes('next') ? 'next' : 'none');
    return { resources: [{ uri: 'note:///1', name: 'one' }], nextCursor: 'next' };
  };
  server.registerResource('notes', new ResourceTemplate('note:///{id}', { list }), {}, () => ({ contents: [] }));
  const [a, b] = InMemoryTransport.createLinkedPair();
  const replies = new Map();
  b.onmessage = m => replies.get(m.id)?.(m.result ?? m.error);
  await b.start();
  await server.connect(a);
  let id = 0;
  const ask = (method, params) => new Promise(done => {
    replies.set(++id, done);
    b.send({ jsonrpc: '2.0', id, method, params });
  });
  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
  await b.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const pages = [await ask('resources/list', {}), await ask('resources/list', { cursor: 'next' })];
  for (const page of pages) console.log(version, JSON.stringify(page.resources.map(r => r.uri)), 'nextCursor', page.nextCursor);
  console.log(version, 'cursors that the callback saw:', cursors.join());
}
JS
got=$(node t.mjs)
want='sdk 1 ["note:///1"] nextCursor undefined
sdk 1 ["note:///1"] nextCursor undefined
sdk 1 cursors that the callback saw: none,none
server 2 ["note:///1"] nextCursor undefined
server 2 ["note:///1"] nextCursor undefined
server 2 cursors that the callback saw: none,none'
printf '%s\n%s\n' 'One would expect nextCursor in each page, and the cursor in the callback:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
