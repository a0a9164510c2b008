// The official TypeScript client, signing on: from no token to a call, and to a wider token where a call needs it.
//
// Arguments: the folder of packages, the package, the address, two tools with their arguments in JSON. Prints what it saw as JSON.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , packages, name, address, ...calls] = process.argv;
const require = createRequire(pathToFileURL(`${packages}/x.js`));
const load = async (path) => import(pathToFileURL(require.resolve(path)).href);
const old = name === '@modelcontextprotocol/sdk';
const { Client } = await load(old ? `${name}/client/index.js` : name);
const { StreamableHTTPClientTransport } = await load(old ? `${name}/client/streamableHttp.js` : name);

const redirect = 'http://localhost:1/callback';
const seen = { scopes: [], resources: [], answers: [] };

// A browser: follows redirects with cookies until the one to the client.
async function browse(start) {
  const cookies = new Map();
  let url = start;
  for (let hop = 0; hop < 20; hop += 1) {
    if (url.href.startsWith(redirect)) return url;
    const cookie = [...cookies].map(([key, value]) => `${key}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [key, value] = line.split(';')[0].split('=');
      cookies.set(key, value);
    }
    const next = response.headers.get('location');
    if (!next) throw new Error(`${response.status} ${url} ${await response.text()}`);
    url = new URL(next, url);
  }
  throw new Error('too many redirects');
}

class Provider {
  get redirectUrl() { return redirect; }
  get clientMetadata() {
    return {
      client_name: 'test', redirect_uris: [redirect], grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'], token_endpoint_auth_method: 'none',
    };
  }
  clientInformation() { return this.information; }
  saveClientInformation(information) { this.information = information; }
  tokens() { return this.kept; }
  saveTokens(tokens) { this.kept = tokens; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  async redirectToAuthorization(url) {
    seen.scopes.push(url.searchParams.get('scope'));
    seen.resources.push(url.searchParams.get('resource'));
    const back = await browse(url);
    if (!back.searchParams.get('code')) throw new Error(`no code: ${back}`);
    this.back = back.searchParams;
  }
}

const provider = new Provider();
const signOn = async (work) => {
  try {
    return await work();
  } catch (error) {
    if (!provider.back) throw error;
    const back = provider.back;
    provider.back = undefined;
    return { back };
  }
};

async function connected() {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(address), { authProvider: provider });
  const outcome = await signOn(() => client.connect(transport));
  if (!outcome?.back) return { client, transport };
  await transport.finishAuth(old ? outcome.back.get('code') : outcome.back);
  return connected();
}

const { client, transport } = await connected();
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
for (let at = 0; at < calls.length; at += 2) {
  const call = { name: calls[at], arguments: JSON.parse(calls[at + 1]) };
  let answer = await signOn(() => client.callTool(call));
  if (answer.back) {
    await transport.finishAuth(old ? answer.back.get('code') : answer.back);
    answer = await client.callTool(call);
  }
  seen.answers.push({ tool: call.name, isError: answer.isError ?? false });
}
await client.close();
console.log(JSON.stringify(seen));
