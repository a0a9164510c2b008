// Sessions of the official TypeScript client, as a plan says; the observations are printed as one line of JSON.
//
// usage: node session.mjs FOLDER_WITH_node_modules PLAN.json
//
// It checks nothing: the test that started it knows the expected answers.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, planFile] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(planFile, "utf8"));
const load = createRequire(packages + "/");
const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { AjvJsonSchemaValidator } = load("@modelcontextprotocol/sdk/validation/ajv");

const headers = { Authorization: `Bearer ${plan.token}` };

async function connect() {
  const transport = plan.url
    ? new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers } })
    : new StdioClientTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: "inherit" });
  const client = new Client({ name: "world", version: "1.0.0" });
  await client.connect(transport);
  return { client, transport };
}

const errorReport = (error) => ({ code: error.code, message: error.message, data: error.data ?? null });

/** The error of a promise that must fail. */
async function refusal(promise) {
  return promise.then((answer) => ({ unexpected: answer }), errorReport);
}

/** Retries while the server answers with a timeout. */
async function ask(client, { tool, arguments: args }) {
  for (let attempt = 0; attempt < 60; attempt++) {
    try {
      return await client.callTool({ name: tool, arguments: args });
    } catch (error) {
      if (error.data?.details?.reason !== "timeout") throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.min(error.data.details.retryAfterMs, 2000)));
    }
  }
  throw new Error(`${tool}: no answer`);
}

async function page(client, { tool, arguments: args, pageSize }, cursor) {
  const answer = await ask(client, { tool, arguments: { ...args, pageSize, cursor } });
  return answer.structuredContent;
}

const report = {};
const first = await connect();
report.server = first.client.getServerVersion();
report.capabilities = first.client.getServerCapabilities();
report.protocol = first.transport.protocolVersion ?? null;
await first.client.ping();

const { tools, nextCursor } = await first.client.listTools();
report.tools = tools.map((tool) => tool.name);
report.moreTools = nextCursor ?? null;
const validators = new AjvJsonSchemaValidator();
for (const tool of tools) validators.getValidator(tool.inputSchema);
const fits = (name, content) => validators.getValidator(tools.find((tool) => tool.name === name).outputSchema)(content).valid;

report.answers = {};
report.notSchematic = [];
for (const question of plan.questions) {
  const { structuredContent, content, isError } = await ask(first.client, question);
  report.answers[question.name] = { structuredContent, content, isError };
  const { summary, ...mutilated } = structuredContent;
  if (!fits(question.tool, structuredContent) || fits(question.tool, mutilated)) report.notSchematic.push(question.name);
}

report.refusals = [];
for (const { tool, arguments: args } of plan.refused) {
  report.refusals.push(await refusal(first.client.callTool({ name: tool, arguments: args })));
}

report.pages = [];
let cursor = null;
do {
  const next = await page(first.client, plan.paged, cursor);
  report.pages.push(next.items);
  cursor = next.nextCursor;
} while (cursor !== null);

report.progress = [];
const onprogress = ({ progress }) => report.progress.push(progress);
const silent = { name: plan.silent.tool, arguments: plan.silent.arguments };
report.silence = await refusal(first.client.callTool(silent, undefined, { onprogress }));

/** Cancels at the first progress; false if the request timed out before. */
async function cancelOnce() {
  const given = new AbortController();
  const options = { onprogress: () => given.abort("enough"), signal: given.signal };
  await refusal(first.client.callTool(silent, undefined, options));
  return given.signal.aborted;
}

report.asked = 1;
do report.asked++;
while (!(await cancelOnce()) && report.asked < 6);
report.afterCancel = (await ask(first.client, plan.questions[0])).structuredContent;

report.begun = await page(first.client, plan.paged, null);
const session = first.transport.sessionId ?? null;
await first.client.close();

const second = await connect();
report.newSession = (second.transport.sessionId ?? null) !== session || session === null;
report.continued = await page(second.client, plan.paged, report.begun.nextCursor).catch(errorReport);
if (plan.url) {
  const ended = second.transport.sessionId;
  await second.transport.terminateSession();
  const late = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const accept = "application/json, text/event-stream";
  const answer = await fetch(plan.url, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json", Accept: accept, "Mcp-Session-Id": ended },
    body: JSON.stringify(late),
  });
  report.endedStatus = answer.status;
  await answer.body?.cancel();
}
await second.client.close();
console.log(JSON.stringify(report));
