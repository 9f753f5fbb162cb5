// An OpenID Connect provider for tests, on loopback: any login is good. The
// arguments are its port and the panel's redirect URI.
import Provider from 'oidc-provider';

const [port, redirect] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: 'panel', client_secret: 'a secret of the panel', redirect_uris: [redirect], grant_types: ['authorization_code'], response_types: ['code'] }],
  scopes: ['openid', 'todos:read', 'todos:write'],
  pkce: { required: () => true },
  features: {
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => ({ scope: 'todos:read todos:write', audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
    },
  },
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  extraTokenClaims: (_ctx, token) => ({ preferred_username: token.accountId }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
