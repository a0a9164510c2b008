#!/usr/bin/env bash
# @prisma/language-server 31.12.10 (npm)
#
# One would expect: a rename of an enum, a model or a field changes its uses, in all files of the schema: "Rename
#   models, enums, fields with automatic `@map` handling" (its readme), and Prisma reads all files of the folder as
#   one schema ("Multi-file Prisma schema"). The server's own answer to textDocument/references has the uses in the
#   other file.
# What happens: in the other file the line after the use is changed, where an enum's name overwrites part of a field.
#   A view's enum, a model's uses in the other file, `@default([...])` of a list, and a field in an index with an
#   operator class stay, so the schema is invalid after the edit. References of a field leave out the relations to it
#   that the rename changes, and an enum's value has none.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix "$tmp" --cache "$tmp/cache" --ignore-scripts --no-audit --no-fund --silent @prisma/language-server@31.12.10 vscode-jsonrpc@9.0.1 >/dev/null

mkdir schema
cat > schema/a.prisma <<'PRISMA'
datasource db {
  provider = "postgresql"
}
enum Role {
  ADMIN
  USER
}
model Post {
  id    Int    @id
  title String
  roles Role[] @default([ADMIN, USER])
  @@index([title(ops: raw("text_pattern_ops"))])
  @@index([title(sort: Desc), id])
}
view Shown {
  id   Int @unique
  role Role
}
PRISMA
cat > schema/b.prisma <<'PRISMA'
model User {
  id     Int  @id
  role   Role @default(ADMIN)
  postId Int
  post   Post @relation(fields: [postId], references: [id])
}
PRISMA
cat > t.cjs <<'JS'
const { spawn } = require('child_process'), fs = require('fs'), path = require('path'), rpc = require('vscode-jsonrpc/node');
const server = spawn('node', ['node_modules/.bin/prisma-language-server', '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
const connection = rpc.createMessageConnection(new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
connection.onRequest((method, params) => method === 'workspace/configuration' ? params.items.map(() => ({})) : null);
connection.listen();
const folder = path.resolve('schema'), rootUri = 'file://' + folder, texts = {};
for (const name of ['a.prisma', 'b.prisma']) texts[name] = fs.readFileSync(path.join(folder, name), 'utf8').split('\n');
async function run(line, word) {
  const where = { textDocument: { uri: rootUri + '/a.prisma' }, position: { line: line - 1, character: texts['a.prisma'][line - 1].indexOf(word) } };
  const found = await connection.sendRequest('textDocument/references', { ...where, context: { includeDeclaration: true } });
  console.log(`${word}: references`, (found ?? []).map(f => `${f.uri.at(-8)}${f.range.start.line + 1}`).sort().join(' '));
  const { changes } = await connection.sendRequest('textDocument/rename', { ...where, newName: 'New' });
  for (const [uri, edits] of Object.entries(changes))
    for (const { range: { start, end }, newText } of edits) {
      const old = texts[path.basename(uri)][start.line];
      if (!newText.includes('@map') && !newText.includes('@@map'))
        console.log(`  ${uri.at(-8)}${start.line + 1}: ${old.trim()} -> ${(old.slice(0, start.character) + newText + old.slice(end.character)).trim()}`);
    }
}
(async () => {
  const capabilities = { workspace: { configuration: true } };
  await connection.sendRequest('initialize', { processId: process.pid, rootUri, workspaceFolders: [{ uri: rootUri, name: 'schema' }], capabilities });
  connection.sendNotification('initialized', {});
  for (const name of ['a.prisma', 'b.prisma'])
    connection.sendNotification('textDocument/didOpen', { textDocument: { uri: `${rootUri}/${name}`, languageId: 'prisma', version: 1, text: texts[name].join('\n') } });
  await run(4, 'Role');
  await run(8, 'Post');
  await run(5, 'ADMIN');
  await run(10, 'title');
  await run(9, 'id');
})().finally(() => { connection.dispose(); server.kill('SIGKILL'); });
JS
got=$(node t.cjs)
want='Role: references a11 a17 a4 b3
  a4: enum Role { -> enum New {
  a11: roles Role[] @default([ADMIN, USER]) -> roles New[] @default([ADMIN, USER])
  b4: postId Int -> posNewInt
Post: references a8 b5
  a8: model Post { -> model New {
ADMIN: references 
  a5: ADMIN -> New
  b3: role   Role @default(ADMIN) -> role   Role @default(New)
title: references a10
  a10: title String -> New String
id: references a13 a9
  a9: id    Int    @id -> New    Int    @id
  a13: @@index([title(sort: Desc), id]) -> @@index([title(sort: Desc), New])
  b5: post   Post @relation(fields: [postId], references: [id]) -> post   Post @relation(fields: [postId], references: [New])'
printf '%s\n%s\n' 'One would expect each use in a.prisma and b.prisma:' "$got"
[ "$got" = "$want" ] || { printf 'CHANGED. It was:\n%s\n' "$want"; exit 1; }
