// The authorization server `oidc-provider`, for one user who is always signed on.
//
// Arguments: the folder of packages, the port, the user's groups with commas, and, behind TLS, the files of certificate and key.
import { readFileSync } from 'node:fs';
import { createServer as createPlain } from 'node:http';
import { createServer as createTls } from 'node:https';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [, , packages, port, groups, certificate, key] = process.argv;
const require = createRequire(pathToFileURL(`${packages}/x.js`));
const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')).href);

const scopes = ['lsp', 'search', 'index', 'launch'];
const issuer = `${certificate ? 'https' : 'http'}://localhost:${port}`;
const provider = new Provider(issuer, {
  scopes: [...scopes, 'openid', 'offline_access'],
  clientDefaults: { token_endpoint_auth_method: 'none' },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_context, resource) => ({
        scope: scopes.join(' '), audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: 600,
      }),
      useGrantedResource: () => true,
    },
  },
  extraTokenClaims: () => ({ groups: groups.split(',') }),
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
});

const asked = new Set();

async function interact(request, response) {
  const { params, prompt, grantId, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId: 'ann' } });
  }
  const known = grantId && (await provider.Grant.find(grantId));
  const grant = known || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  const missing = prompt.details;
  if (missing.missingOIDCScope) grant.addOIDCScope(missing.missingOIDCScope.join(' '));
  // The first time the user doesn't agree to `launch`.
  const isFirst = !asked.has(params.client_id);
  asked.add(params.client_id);
  for (const [resource, wanted] of Object.entries(missing.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, wanted.filter((scope) => !isFirst || scope !== 'launch').join(' '));
    if (isFirst) grant.rejectResourceScope(resource, 'launch');
  }
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}

const handle = provider.callback();
const serve = (request, response) => {
  if (request.url.startsWith('/interaction/')) {
    interact(request, response).catch((error) => response.writeHead(500).end(String(error)));
  } else {
    handle(request, response);
  }
};
const server = certificate
  ? createTls({ cert: readFileSync(certificate), key: readFileSync(key) }, serve)
  : createPlain(serve);
server.listen(Number(port), '127.0.0.1', () => console.log('ready'));
