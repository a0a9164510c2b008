#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2 (npm), the TypeScript SDK of MCP, Client.callTool
#
# One would expect: structured results are checked against the tool's outputSchema (MCP 2025-06-18, "Tools", "Output
#   Schema": clients should validate structured results against this schema), however the client came to know the tool.
# What happens: only tools of the last page that listTools() has returned are checked. Before the first listTools()
#   none is; after the second page those of the first aren't any more. The wrong result is then returned as valid.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @modelcontextprotocol/sdk@1.32.2 >/dev/null

cat > t.mjs <<'JS'
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const outputSchema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] };
const page = (name, nextCursor) => ({ tools: [{ name, inputSchema: { type: 'object' }, outputSchema }], nextCursor });
const server = new Server({ name: 't', version: '1' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, r => (r.params?.cursor ? page('two') : page('one', 'next')));
server.setRequestHandler(CallToolRequestSchema, () => ({ content: [], structuredContent: { count: 'many' } }));
const client = new Client({ name: 't', version: '1' });
const [a, b] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(a), client.connect(b)]);
const call = name => client.callTool({ name }).then(() => 'accepted', () => 'rejected');
console.log('before listTools: one', await call('one'));
await client.listTools();
console.log('after page 1: one', await call('one'));
await client.listTools({ cursor: 'next' });
console.log('after page 2: one', await call('one') + ', two', await call('two'));
JS
got=$(node t.mjs)
want='before listTools: one accepted
after page 1: one rejected
after page 2: one accepted, two rejected'
printf '%s\n%s\n' 'One would expect that each is rejected:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
