#!/usr/bin/env bash
# dockerfile-language-server-nodejs 0.15.0 (npm), with dockerfile-language-service 0.16.1
#
# One would expect: a rename changes what has the name, in all stages that see it. Docker's "Dockerfile reference":
#   `RUN --mount=type=bind` takes a stage in `from` as COPY does; an ARG before the first FROM is used in a stage by
#   an ARG without value ("Understand how ARG and FROM interact"); a stage built FROM another has its variables.
# What happens: the edit has the uses in FROM and COPY only. `RUN --mount=from=` keeps the old name, so the build
#   pulls an image of that name from a registry. The stage's `ARG VERSION` stays and is empty from then on, and what a
#   derived stage reads of its parent's ENV is empty as well: both builds succeed. Asked at the use, the server
#   renames only the uses in that stage, and it knows no definition.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent dockerfile-language-server-nodejs@0.15.0 dockerfile-language-service@0.16.1 vscode-jsonrpc@9.0.1 >/dev/null

cat > t.cjs <<'JS'
const { spawn } = require('child_process'), rpc = require('vscode-jsonrpc/node');
const server = spawn('node', ['node_modules/dockerfile-language-server-nodejs/lib/server.js', '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
const connection = rpc.createMessageConnection(new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
connection.onRequest(() => null);
connection.listen();
const text = `ARG VERSION=3
FROM alpine:$VERSION AS base
ENV HOME_DIR=/srv
FROM base AS build
ARG VERSION
RUN echo $VERSION
WORKDIR $HOME_DIR
FROM scratch
COPY --from=base /a /a
RUN --mount=type=bind,from=base,target=/x ls /x
`;
const lines = text.split('\n'), textDocument = { uri: 'file:///Dockerfile' };
const at = (line, word) => ({ textDocument, position: { line: line - 1, character: lines[line - 1].indexOf(word) + 1 } });
async function rename(line, word) {
  const edit = await connection.sendRequest('textDocument/rename', { ...at(line, word), newName: 'NEW' });
  const edits = edit.changes?.[textDocument.uri] ?? edit.documentChanges[0].edits;
  const has = lines.flatMap((text, index) => text.includes(word) ? [index + 1] : []);
  console.log(`${word} of line ${line} is in lines ${has}, renamed in ${edits.map(e => e.range.start.line + 1)}`);
}
(async () => {
  await connection.sendRequest('initialize', { processId: process.pid, rootUri: null, capabilities: {} });
  connection.sendNotification('initialized', {});
  connection.sendNotification('textDocument/didOpen', { textDocument: { ...textDocument, languageId: 'dockerfile', version: 1, text } });
  await rename(2, 'base');
  await rename(1, 'VERSION');
  await rename(3, 'HOME_DIR');
  await rename(7, 'HOME_DIR');
  console.log('definition:', await connection.sendRequest('textDocument/definition', at(7, 'HOME_DIR')));
})().finally(() => { connection.dispose(); server.kill('SIGKILL'); });
JS
got=$(node t.cjs)
want='base of line 2 is in lines 2,4,9,10, renamed in 2,4,9
VERSION of line 1 is in lines 1,2,5,6, renamed in 1,2
HOME_DIR of line 3 is in lines 3,7, renamed in 3
HOME_DIR of line 7 is in lines 3,7, renamed in 7
definition: null'
printf '%s\n%s\n' 'One would expect the same lines in each row, and a definition in line 3:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
