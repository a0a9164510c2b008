// One session of an official TypeScript client of any version, as a plan says; the observations are printed as one line of JSON.
//
// usage: node era.mjs FOLDER_WITH_node_modules PLAN.json
//
// It checks nothing: the test that started it knows the expected answers.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, planFile] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(planFile, "utf8"));
const load = createRequire(packages + "/");
const isSecond = existsSync(`${packages}/node_modules/@modelcontextprotocol/client`);

/** The classes of the client's version, and the request by which it asks a person. */
function library() {
  if (isSecond) {
    const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
    const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
    const options = { versionNegotiation: { mode: "auto" } };
    return { Client, StreamableHTTPClientTransport, StdioClientTransport, options, question: "elicitation/create" };
  }
  const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const question = load("@modelcontextprotocol/sdk/types.js").ElicitRequestSchema;
  return { Client, StreamableHTTPClientTransport, StdioClientTransport, options: {}, question };
}

const { Client, StreamableHTTPClientTransport, StdioClientTransport, options, question } = library();
const report = { questions: [] };
let protocol = null;

async function connect() {
  const headers = { Authorization: `Bearer ${plan.token}` };
  const transport = plan.url
    ? new StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers } })
    : new StdioClientTransport({ command: plan.command, args: plan.args, env: plan.env, stderr: "inherit" });
  const capabilities = question ? { elicitation: {} } : {};
  const client = new Client({ name: "era", version: "1.0.0" }, { capabilities, ...options });
  if (question) {
    client.setRequestHandler(question, ({ params }) => {
      report.questions.push(params);
      return { action: "accept", content: { decision: "once" } };
    });
  }
  const set = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    protocol = version;
    set?.(version);
  };
  await client.connect(transport);
  protocol = client.getNegotiatedProtocolVersion?.() ?? protocol;
  return client;
}

const client = await connect();
report.protocol = protocol;
report.server = client.getServerVersion();
const { tools } = await client.listTools();
report.tools = tools.map((tool) => tool.name);
report.outputSchemas = tools.filter((tool) => tool.outputSchema).length;
report.answers = {};

/** Calls again while the server says when to. */
async function ask({ tool, arguments: args }) {
  for (let attempt = 0; attempt < 60; attempt++) {
    const answer = await client.callTool({ name: tool, arguments: args });
    const wait = answer.structuredContent?.metadata?.error?.retryAfterMs;
    if (wait === undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, Math.min(wait, 2000)));
  }
  throw new Error(`${tool}: no answer`);
}

for (const call of plan.calls) {
  const { content, structuredContent, isError } = await ask(call);
  report.answers[call.name] = { text: content[0]?.text, structuredContent, isError: isError ?? false };
}

report.progress = 0;
const given = new AbortController();
const onprogress = () => {
  report.progress++;
  given.abort("enough");
};
const { tool, arguments: args } = plan.silent;
const request = { name: tool, arguments: args };
const how = { onprogress, signal: given.signal };
report.cancelled = await (isSecond ? client.callTool(request, how) : client.callTool(request, undefined, how)).then(
  () => false,
  () => given.signal.aborted,
);
report.after = (await ask(plan.calls[0])).isError ?? false;
await client.close();
console.log(JSON.stringify(report));
