import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Client } from 'ldapts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { freePort } from '../../../test/support/ports.ts';
import { PATIENCE_MS, until } from '../../../test/support/until.ts';
import { LdapServer } from './server.ts';
import type { LdapLimits } from './server.ts';

const TOKEN = 'right';
const BASE = 'dc=phonebook';
const CODES = { ok: 0, safe: 13, wrong: 49, access: 50, busy: 51 } as const;

/** No connection ends by its time. */
const PATIENT = { signInMs: 600_000, idleMs: 600_000 };

async function open(
  t: TestContext,
  {
    limits = {},
    plain = true,
    asked = () => undefined,
  }: { limits?: Partial<LdapLimits>; plain?: boolean; asked?: (q: string | null) => void } = {},
) {
  const [port, clock] = [await freePort(), createVirtualClock()];
  const known = new Set([TOKEN]);
  const config: { port: () => number | null } = { port: () => port };
  const server = new LdapServer({
    host: '127.0.0.1',
    port: () => config.port(),
    plain: () => plain,
    certificate: () => Promise.resolve(null),
    knows: (token) => Promise.resolve(known.has(token)),
    source: {
      colleagues: () => [],
      customers(q) {
        asked(q);
        return Promise.resolve({ rows: [], next: null });
      },
    },
    clock,
    log: silent,
    limits,
  });
  await server.follow();
  t.after(() => server.close());
  const client = (): Client => {
    const made = new Client({
      url: `ldap://127.0.0.1:${port}`,
      timeout: PATIENCE_MS,
      connectTimeout: PATIENCE_MS,
    });
    t.after(() => made.unbind().catch(() => undefined));
    return made;
  };
  /** Resolves with the connection, and `ended` once the server has closed it. */
  const socket = async () => {
    const made = net.connect(port, '127.0.0.1').on('error', () => undefined);
    t.after(() => made.destroy());
    // Not by `once` of the module, which rejects for the reset that some closes are.
    const ended = new Promise<boolean>((resolve) => made.once('close', () => resolve(true)));
    made.resume();
    await once(made, 'connect');
    return { made, ended };
  };
  return { client, socket, server, clock, known, config };
}
/** False where the connection is not ended in time. */
const endOf = ({ ended }: { readonly ended: Promise<boolean> }): Promise<boolean> => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const late = setTimeout(() => resolve(false), PATIENCE_MS);
  return Promise.race([ended, promise]).finally(() => clearTimeout(late));
};
/** Result code of LDAP; that of a success is 0. */
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => CODES.ok,
    (error: { code?: unknown; message?: string }) => error.code ?? error.message,
  );
const bind = (client: Client, password = TOKEN) => codeOf(client.bind(`cn=phone,${BASE}`, password));

test('LDAP - beyond the connections of a network further ones are closed, and a closed one makes room', async (t) => {
  const { socket, client } = await open(t, { limits: { ofNetwork: 2, ...PATIENT } });
  const first = await socket();
  await socket();
  assert.equal(await endOf(await socket()), true);
  first.made.destroy();
  await first.ended;
  // The server hears of the close a moment later than this side.
  let code = await bind(client());
  for (let tries = 0; code !== CODES.ok && tries < 100; tries += 1) code = await bind(client());
  assert.equal(code, CODES.ok);
});

test('LDAP - beyond all connections further ones are closed', async (t) => {
  const { socket, server } = await open(t, { limits: { connections: 1, ...PATIENT } });
  await socket();
  assert.equal(await endOf(await socket()), true);
  assert.deepEqual(server.finding(), { ok: true, detail: '1 connections' });
});

test('LDAP - a connection without a right password is closed in time, however much it sends', async (t) => {
  const { client, socket } = await open(t, { limits: { signInMs: 150 } });
  const { made, ended } = await socket();
  // The beginning of a message that never ends.
  made.write(Buffer.from([0x30, 0x82, 0x10, 0x00]));
  const drip = setInterval(() => made.write(Buffer.from([0x00])), 20);
  t.after(() => clearInterval(drip));
  assert.equal(await endOf({ ended }), true);
  // On a busy machine a sign-in may itself be too late.
  let signedIn = client();
  for (let tries = 0; (await bind(signedIn)) !== CODES.ok && tries < 50; tries += 1) signedIn = client();
  const { promise: later, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, 300);
  await later;
  assert.equal(await codeOf(signedIn.search(BASE, { scope: 'base' })), CODES.ok, 'it stays');
});

test('LDAP - a configuration that cannot be read does not stop later changes', async (t) => {
  const { server, config } = await open(t);
  config.port = () => {
    throw new Error('no configuration');
  };
  await assert.rejects(server.follow(), /no configuration/);
  config.port = () => null;
  await server.follow();
  assert.deepEqual(server.finding(), { ok: true, detail: 'none is used' });
});

test('LDAP - an idle connection is closed', async (t) => {
  const { client, server } = await open(t, { limits: { idleMs: 2_000 } });
  // On a busy machine a connection may be closed before its sign-in.
  for (let tries = 0; (await bind(client())) !== CODES.ok; tries += 1) assert.ok(tries < 50);
  await until('its end', () => server.finding().detail === '0 connections');
});

test('LDAP - wrong passwords of a network are bounded, a right one always enters', async (t) => {
  const { client, clock } = await open(t);
  const one = client();
  for (let i = 0; i < 30; i += 1) assert.equal(await bind(one, `wrong ${i}`), CODES.wrong);
  assert.equal(await bind(one, 'wrong again'), CODES.busy);
  assert.equal(await bind(client()), CODES.ok);
  await clock.advance(5_000);
  assert.equal(await bind(one, 'wrong later'), CODES.wrong);
});

test('LDAP - a password in the clear is refused outside the networks that may', async (t) => {
  const { client } = await open(t, { plain: false });
  assert.equal(await bind(client()), CODES.safe);
});

test('LDAP - nothing is listed without a token, nor with one that ended', async (t) => {
  const { client, known } = await open(t);
  const one = client();
  const search = () => codeOf(one.search(BASE, { scope: 'sub' }));
  assert.equal(await search(), CODES.access);
  assert.equal(await bind(one), CODES.ok);
  assert.equal(await search(), CODES.ok);
  known.clear();
  assert.equal(await search(), CODES.access);
});

test('LDAP - a message or filter beyond the limits ends its connection and nothing else', async (t) => {
  const { client, socket } = await open(t, { limits: PATIENT });
  const other = client();
  assert.equal(await bind(other), CODES.ok);
  const { made, ended } = await socket();
  made.write(Buffer.from([0x30, 0x84, 0x7f, 0xff, 0xff, 0xff]));
  assert.equal(await endOf({ ended }), true);
  const deep = `${'(!'.repeat(20)}(cn=a)${')'.repeat(20)}`;
  const wide = `(|${'(cn=a)'.repeat(200)})`;
  for (const filter of [deep, wide]) {
    const one = client();
    assert.equal(await bind(one), CODES.ok);
    assert.notEqual(await codeOf(one.search(BASE, { scope: 'sub', filter })), CODES.ok);
  }
  assert.equal(await codeOf(other.search(BASE, { scope: 'sub', filter: '(!(cn=a))' })), CODES.ok);
});

test('LDAP - a value of thousands of words is searched by its beginning', async (t) => {
  const searched: (string | null)[] = [];
  const { client } = await open(t, { limits: PATIENT, asked: (q) => void searched.push(q) });
  const one = client();
  assert.equal(await bind(one), CODES.ok);
  const value = 'word '.repeat(3_000);
  assert.equal(await codeOf(one.search(BASE, { scope: 'sub', filter: `(cn=${value})` })), CODES.ok);
  assert.deepEqual(searched, ['word '.repeat(13).slice(0, 64)]);
});
