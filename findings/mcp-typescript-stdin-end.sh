#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2 (npm), StdioServerTransport; @modelcontextprotocol/server 2.4.0 beside it
#
# One would expect: when the client closes the server's input, which is how it ends a server (MCP 2025-06-18,
#   "Lifecycle", "Shutdown", stdio), the transport closes and onclose is called.
# What happens: version 1 doesn't look for the end of its input. onclose is never called, so a server that has a timer,
#   a watcher or a connection open stays as an orphan after its client is gone, and its clean-up never runs. Version 2,
#   published under another name, calls onclose.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
export HOME=$tmp TMPDIR=$tmp
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server@2.4.0 zod@4.1.12 >/dev/null

for version in sdk server; do
  case $version in
    sdk) mcp=@modelcontextprotocol/sdk/server/mcp.js stdio=@modelcontextprotocol/sdk/server/stdio.js ;;
    server) mcp=@modelcontextprotocol/server stdio=@modelcontextprotocol/server/stdio ;;
  esac
  cat > $version.mjs <<JS
import { McpServer } from '$mcp';
import { StdioServerTransport } from '$stdio';
const server = new McpServer({ name: 't', version: '1' });
server.server.onclose = () => { console.log('$version: onclose is called'); process.exit(0); };
setTimeout(() => { console.log('$version: still running after 5 s'); process.exit(0); }, 5000);
await server.connect(new StdioServerTransport());
JS
done
got=$(for version in sdk server; do node $version.mjs < /dev/null; done)
want='sdk: still running after 5 s
server: onclose is called'
printf '%s\n%s\n' 'One would expect that onclose is called by both:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
