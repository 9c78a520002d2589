import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SETTINGS } from './settings.ts';
import { ConfigError, readConfig } from './config.ts';

const wrong = (env: Record<string, string>, args: string[] = []): string => {
  try {
    readConfig(env, args);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return '';
};

test('settings - every default is valid', () => {
  assert.deepEqual(readConfig({}).listen, { host: '127.0.0.1', port: 8080 });
  assert.equal(readConfig({}).empty, false);
  assert.equal(readConfig({}, ['--empty']).empty, true);
});

test('settings - each wrong value is named with what was expected, all at once', () => {
  const values: Record<string, string[]> = {
    OFFHOOK_LISTEN: ['nonsense', '127.0.0.1', '127.0.0.1:99999', ':8080', 'a b:1'],
    OFFHOOK_DATA: ['', 'a\0b'],
    OFFHOOK_DATABASE_URL: ['db.example.com', 'mysql://a/b', 'postgres://host', 'postgres://u:p@host/a/b'],
    OFFHOOK_SITE_STORE: ['mysql', ''],
    OFFHOOK_SIP_LISTEN: ['127.0.0.1:0', 'sip'],
    OFFHOOK_RTP_PORTS: ['10000', '10010-10000', '80-90', '10000-70000'],
    OFFHOOK_CORS_ORIGINS: ['example.com', 'https://example.com/path', '*'],
    OFFHOOK_SITE_ZONE: ['Mars/Olympus', '+05:45'],
    OFFHOOK_SITE_COUNTRY: ['de', 'XX', 'DEU', '49', '__proto__'],
    OFFHOOK_SITE_TITLE: ['', 'a\nb', 'x'.repeat(81)],
    OFFHOOK_PUBLIC_URL: ['pbx.example.com', 'ftp://x'],
    OFFHOOK_TRUST_PROXY: ['1.2.3.4/99', '...', '::1/129', '1.2.3.4/8/8', 'proxy'],
    OFFHOOK_METRICS_LISTEN: ['0.0.0.0:9000', '10.0.0.1:9000'],
    OFFHOOK_SESSION_IDLE_SECONDS: ['1', '-60', '1e4', 'day'],
    OFFHOOK_SESSION_ABSOLUTE_SECONDS: ['59'],
    OFFHOOK_LOG_LEVEL: ['loud'],
  };
  for (const [name, texts] of Object.entries(values)) {
    for (const text of texts)
      assert.match(wrong({ [name]: text }), new RegExp(`^${name}=.*: expected `, 's'), text);
  }
  const both = wrong({ OFFHOOK_LISTEN: 'x', OFFHOOK_LOG_LEVEL: 'y' });
  assert.match(both, /OFFHOOK_LISTEN[^]*OFFHOOK_LOG_LEVEL/);
});

test('settings - a site in PostgreSQL needs its database', () => {
  assert.match(wrong({ OFFHOOK_SITE_STORE: 'postgres' }), /needs OFFHOOK_DATABASE_URL/);
});

test('settings - a secret is not shown, not even a wrong one', () => {
  const said = wrong({ OFFHOOK_DATABASE_URL: 'postgres://offhook:hunter2@' });
  assert.match(said, /OFFHOOK_DATABASE_URL=\(not shown\): expected postgres:/);
  assert.doesNotMatch(said, /hunter2/);
});

test('settings - a name that does not exist is refused with those that do', () => {
  assert.match(wrong({ OFFHOOK_LISTN: 'x' }), /OFFHOOK_LISTN is not a setting; there are: OFFHOOK_LISTEN/);
  assert.match(wrong({}, ['--emtpy']), /--emtpy is not an option/);
});

test('settings - every one has a name of its own and says what it is for', () => {
  const all = Object.values(SETTINGS);
  assert.equal(new Set(all.map((s) => s.name)).size, all.length);
  for (const s of all) assert.ok(s.about.endsWith('.') && s.expects.length > 5, s.name);
});

test('settings - an ACME server needs names, accepted terms and a listener for its challenge', () => {
  const said = wrong({ OFFHOOK_ACME_DIRECTORY: 'letsencrypt-staging' });
  for (const name of ['OFFHOOK_ACME_NAMES', 'OFFHOOK_ACME_TERMS=agreed', 'OFFHOOK_ACME_HTTP_LISTEN'])
    assert.ok(said.includes(name), said);
  const whole = {
    OFFHOOK_ACME_DIRECTORY: 'letsencrypt-staging',
    OFFHOOK_ACME_NAMES: 'pbx.example.com',
    OFFHOOK_ACME_TERMS: 'agreed',
    OFFHOOK_ACME_HTTP_LISTEN: '0.0.0.0:80',
  };
  assert.equal(readConfig(whole).acmeDirectory, 'https://acme-staging-v02.api.letsencrypt.org/directory');
  assert.match(wrong({ ...whole, OFFHOOK_ACME_CHALLENGE: 'tls-alpn-01' }), /OFFHOOK_HTTPS_LISTEN/);
  assert.match(wrong({ ...whole, OFFHOOK_TLS_CERTIFICATE: 'c', OFFHOOK_TLS_KEY: 'k' }), /give one of both/);
  for (const name of ['-a.example.com', 'a..b', '*.example.com', '203.0.113.5', 'x'.repeat(64)])
    assert.match(wrong({ ...whole, OFFHOOK_ACME_NAMES: name }), /OFFHOOK_ACME_NAMES/, name);
});

test('settings - an OpenID provider is one company’s own, by https or on loopback, and has a client', () => {
  const read = (issuer: string, client = 'offhook') =>
    readConfig({ OFFHOOK_OIDC_ISSUER: issuer, OFFHOOK_OIDC_CLIENT_ID: client });
  for (const issuer of [
    'https://login.example.com/realms/staff',
    'https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0',
    'http://127.0.0.1:8081',
    'http://[::1]:8081',
  ])
    assert.equal(read(issuer).oidcIssuer, issuer);
  for (const issuer of [
    'https://login.microsoftonline.com/common/v2.0',
    'https://login.microsoftonline.com/Organizations/v2.0',
    'https://login.microsoftonline.com/consumers',
    'http://login.example.com',
    'http://127.0.0.1.example.com',
    'https://user:word@login.example.com',
    'https://login.example.com/?tenant=a',
    'login.example.com',
  ])
    assert.throws(() => read(issuer), /OFFHOOK_OIDC_ISSUER.*expected an https address/, issuer);
  assert.throws(() => read('https://login.example.com', ''), /give both or none/);
  assert.throws(() => read(''), /give both or none/);
});
