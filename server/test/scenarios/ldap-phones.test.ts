/** Desk phones that read the phonebook by LDAP: OpenLDAP's `ldapsearch` with the filters that phones send. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { ApiKeyCreated } from '@offhook/contract/keys.ts';
import { HandOver } from '@offhook/contract/phones.ts';
import { apply, ask } from '../support/config-steps.ts';
import { packagesFor } from '../support/package-server.ts';
import { freePort } from '../support/ports.ts';
import { provisionedPhone } from '../support/provisioned-phone.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const MAC = '001565aabb01';
const BASE = 'dc=phonebook';
const MANY = 2_100;

/** `ldapsearch` of Debian's packages; `out` has no lines that are folded. */
async function ldapTools(t: TestContext) {
  const { tree, folder } = await packagesFor(t, 'ldap-utils', ['ldap-utils']);
  return (program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}, input = '') =>
    new Promise<{ code: number; out: string; err: string }>((resolve) => {
      const [loader = '', ...rest] = tree.command(`usr/bin/${program}`);
      const child = execFile(
        loader,
        [...rest, ...args],
        { env: { HOME: folder, ...env }, maxBuffer: 16_777_216 },
        (error, out, err) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
      );
      // Only `ldapmodify` reads its input; the others may have ended before.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input);
    });
}
const valuesOf = (out: string, attribute: string): string[] =>
  out.split('\n').flatMap((line) => {
    const [, mark, value] = new RegExp(`^${attribute}:(:?) (.*)$`).exec(line) ?? [];
    if (value === undefined) return [];
    return [mark === ':' ? Buffer.from(value, 'base64').toString() : value];
  });

describe('LDAP for desk phones', () => {
  const site = useSite(() => ({ env: { OFFHOOK_SITE_COUNTRY: 'DE' } }));
  let port = 0;
  let token = '';
  let settings!: ReadonlyMap<string, string>;
  const address = (): string => `ldap://127.0.0.1:${port}`;
  const signIn = (): string[] => ['-x', '-D', `cn=${MAC},${BASE}`, '-w', token];
  const args = (...more: string[]): string[] => [
    '-H',
    address(),
    ...signIn(),
    '-b',
    BASE,
    '-LLL',
    '-o',
    'ldif-wrap=no',
    ...more,
  ];

  before(async () => {
    const { token: session } = await site().person('1001');
    const rows = Array.from({ length: MANY }, (_, n) => `Bulk Customer ${n},,+4940${7_000_000 + n},`);
    const csv = [
      'name,company,number_1,label_1,number_2,label_2',
      'Anna Müller,Acme,030 901820,work,0170 1234567,mobile',
      'Boris (R&D) *Star,,+49 89 1234567,home,,',
      'Çelik AŞ,,+90 212 2925000,,,',
      ...rows,
    ].join('\n');
    const reply = await fetch(`${site().base}/api/v1/phonebook/import?list=shared`, {
      method: 'POST',
      headers: { authorization: `Bearer ${session}`, 'content-type': 'text/csv' },
      body: csv,
    });
    assert.equal(reply.status, 200, await reply.clone().text());
    port = await freePort();
    await ask(site(), 'POST', '/network', { name: 'site', ldap_port: port });
    await ask(site(), 'POST', '/phones', { name: 'desk', vendor: 'yealink', extensions: ['1007'] });
    await apply(site());
    const { address: given } = HandOver.parse(await ask(site(), 'POST', '/../phones/desk/hand-over'));
    await using phone = await provisionedPhone(given, MAC);
    assert.equal(await phone.fetch(), 200);
    ({ settings } = phone);
    token = settings.get('ldap.password') ?? '';
    // The port opens after the apply.
    await until('the port to be open', async () => {
      const socket = net.connect(port, '127.0.0.1');
      const isOpen = await new Promise((done) =>
        socket.once('connect', () => done(true)).once('error', () => done(false)),
      );
      socket.destroy();
      return isOpen;
    });
  });

  test('ldap - a phone finds customers and colleagues with the settings of its file and the filters of its vendor', async (t) => {
    const run = await ldapTools(t);
    assert.deepEqual(
      ['host', 'port', 'base', 'tls_mode'].map((name) => settings.get(`ldap.${name}`)),
      ['127.0.0.1', String(port), BASE, '0'],
    );
    const find = async (filter: string, ...attributes: string[]) => {
      const { code, out, err } = await run('ldapsearch', args(filter, ...attributes));
      assert.equal(code, 0, `${filter}: ${err}`);
      return valuesOf(out, 'cn');
    };
    const typed = (filter: string, text: string) => find(filter.replaceAll('%', text));
    const ANNA = ['Anna Müller'];
    // Yealink, as its file says.
    assert.deepEqual(await typed(settings.get('ldap.name_filter')!, 'mull'), ['Zoë Müller', 'Anna Müller']);
    assert.deepEqual(await typed(settings.get('ldap.name_filter')!, 'ACM'), ANNA);
    assert.deepEqual(await typed(settings.get('ldap.number_filter')!, '0170123'), ANNA);
    // Snom, which puts the asterisk behind what is typed; Grandstream; Fanvil; Cisco.
    assert.deepEqual(await find('(|(cn=anna*)(sn=anna*)(o=anna*))'), ANNA);
    assert.deepEqual(
      await find('(|(telephoneNumber=+4930901820)(mobile=+4930901820)(homePhone=+4930901820))'),
      ANNA,
    );
    assert.deepEqual(await find('(&(telephoneNumber=*)(cn=Ann*))'), ANNA);
    assert.deepEqual(await find('(|(cn=*03090*)(telephoneNumber=*03090*))'), ANNA);
    assert.deepEqual(await find('(&(mobile=*)(sn=müller*))'), ANNA);
    assert.deepEqual(await find('(&(objectClass=person)(|(givenName=An*)(sn=An*)))'), ANNA);
    // Nothing that is typed is a part of the filter.
    assert.deepEqual(await find('(cn=*\\28R&D\\29 \\2aStar)'), ['Boris (R&D) *Star']);
    assert.deepEqual(await find('(cn=Bulk\\2a)'), []);
    assert.deepEqual(await find('(cn=ÇELİK*)'), ['Çelik AŞ']);
    assert.deepEqual(await find('(&(cn=anna*)(!(mobile=*)))'), []);
    assert.deepEqual(await find('(!(shoeSize=4))', 'cn'), []);
    // A colleague beside them.
    assert.deepEqual(await find('(telephoneNumber=1008)'), ['Ольга Петренко']);
    const { out } = await run('ldapsearch', args('(cn=anna*)'));
    assert.deepEqual(
      ['telephoneNumber', 'mobile', 'sn', 'givenName', 'o'].map((one) => valuesOf(out, one)),
      [['+4930901820'], ['+491701234567'], ['Müller'], ['Anna'], ['Acme']],
    );
    const { out: few } = await run('ldapsearch', args('(cn=anna*)', 'CN', 'mobile'));
    assert.deepEqual([few.match(/^\w+:/gm), valuesOf(few, 'sn')], [['dn:', 'cn:', 'mobile:'], []]);
  });

  test('ldap - a big result is cut at its limit, or comes whole by pages', async (t) => {
    const run = await ldapTools(t);
    const search = (...more: string[]) => run('ldapsearch', args(...more));
    const limited = await search('-z', '50', '(cn=bulk*)', 'cn');
    assert.deepEqual([limited.code, valuesOf(limited.out, 'cn').length], [4, 50]);
    const cut = await search('(cn=bulk*)', 'cn');
    assert.deepEqual([cut.code, valuesOf(cut.out, 'cn').length], [4, 2_000]);
    const all = await search('-E', 'pr=300/noprompt', '(|(cn=bulk*)(telephoneNumber=+4940*))', 'cn');
    assert.deepEqual([all.code, new Set(valuesOf(all.out, 'cn')).size], [0, MANY]);
    assert.equal(valuesOf(all.out, 'cn').length, MANY);
  });

  test('ldap - without a token, with a wrong one, or for a change it answers with the code of the refusal', async (t) => {
    const run = await ldapTools(t);
    const code = async (...all: string[]) => (await run('ldapsearch', ['-H', address(), ...all])).code;
    const at = ['-b', BASE, '(cn=a*)'];
    const as = (password: string, name = 'cn=x'): string[] => ['-x', '-D', name, '-w', password];
    assert.equal(await code('-x', ...at), 48);
    assert.equal(await code(...as(`${token.slice(1)}x`), ...at), 49);
    assert.equal(await code('-x', '-D', 'cn=x', '-w', '', ...at), 53);
    assert.equal(await code(...signIn(), '-b', 'dc=other', '(cn=a*)'), 32);
    assert.equal(await code(...signIn(), '-E', '!sss=cn', ...at), 12);
    const start = await run('ldapsearch', ['-H', address(), ...signIn(), '-ZZ', ...at]);
    assert.match(start.err, /Protocol error \(2\)/);
    const change = await run(
      'ldapmodify',
      ['-H', address(), ...signIn()],
      {},
      `dn: uid=c1,${BASE}\nchangetype: delete\n`,
    );
    assert.equal(change.code, 53);
    const who = await run('ldapwhoami', ['-H', address(), ...signIn()]);
    assert.match(who.out + who.err, /Protocol error \(2\)/);
    const root = await run('ldapsearch', [
      '-H',
      address(),
      ...signIn(),
      '-s',
      'base',
      '-b',
      '',
      '-LLL',
      'namingContexts',
    ]);
    assert.deepEqual(valuesOf(root.out, 'namingContexts'), [BASE]);
  });

  test('ldap - an API key that is limited to some queues or extensions is refused, as over HTTP', async (t) => {
    const run = await ldapTools(t);
    const { token: session } = await site().person('1001');
    const tried = async (limits: object) => {
      const name = `desk ${Object.keys(limits).join('')}`.trim();
      const reply = await fetch(`${site().base}/api/v1/api-keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${session}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name, scopes: ['phonebook:phones'], ...limits }),
      });
      const { key } = ApiKeyCreated.parse(await reply.json());
      const http = await fetch(`${site().base}/api/v1/phonebook/phones/${key}/snom.xml`);
      const by = ['-H', address(), '-x', '-D', 'cn=x', '-w', key, '-b', BASE, '(cn=anna*)'];
      return [http.status, (await run('ldapsearch', by)).code];
    };
    assert.deepEqual(await tried({}), [200, 0]);
    assert.deepEqual(await tried({ queues: ['sales'] }), [403, 49]);
    assert.deepEqual(await tried({ extensions: ['1001'] }), [403, 49]);
  });

  test('ldap - by TLS the certificate of the site is shown', async (t) => {
    const run = await ldapTools(t);
    const secure = (env: NodeJS.ProcessEnv) =>
      run(
        'ldapsearch',
        ['-H', `ldaps://127.0.0.1:${port}`, ...signIn(), '-b', BASE, '-LLL', '(cn=anna*)', 'cn'],
        env,
      );
    assert.equal((await secure({})).code, 255);
    const found = await secure({ LDAPTLS_CACERT: path.join(site().dataDir, 'tls', 'ca.pem') });
    assert.deepEqual([found.code, valuesOf(found.out, 'cn')], [0, ['Anna Müller']]);
  });

  test('ldap - bytes that are no LDAP end the connection and nothing else', async (t) => {
    const run = await ldapTools(t);
    const end = async (bytes: Buffer): Promise<Buffer> => {
      const socket = net.connect(port, '127.0.0.1');
      const got: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => got.push(chunk));
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(bytes);
      await once(socket, 'close');
      return Buffer.concat(got);
    };
    const nested = Buffer.concat(Array.from({ length: 3_999 }, () => Buffer.from([0xa2, 0x82, 0x3f, 0x00])));
    const broken: readonly (readonly [string, Buffer])[] = [
      ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
      ['2 GB', Buffer.from([0x30, 0x84, 0x7f, 0xff, 0xff, 0xff])],
      ['no end', Buffer.from([0x30, 0x80, 0x02, 0x01, 0x01])],
      ['a length of nine bytes', Buffer.from([0x30, 0x89, 1, 1, 1, 1, 1, 1, 1, 1, 1])],
      ['an element beyond its message', Buffer.from([0x30, 0x05, 0x02, 0x01, 0x01, 0x60, 0x7f])],
      ['no operation', Buffer.from([0x30, 0x03, 0x02, 0x01, 0x01])],
      ['a reply', Buffer.from([0x30, 0x05, 0x02, 0x01, 0x01, 0x61, 0x00])],
      [
        'a search with other parts',
        Buffer.concat([
          Buffer.from([0x30, 0x82, 0x3e, 0x83, 0x02, 0x01, 0x01, 0x63, 0x82, 0x3e, 0x7c]),
          nested,
        ]),
      ],
    ];
    for (const [name, bytes] of broken) {
      const answer = await end(bytes);
      assert.ok(answer.includes('1.3.6.1.4.1.1466.20036'), `${name}: ${answer.toString('latin1')}`);
    }
    // A filter that is nested deeper than any phone sends.
    const deep = `${'(!'.repeat(40)}(cn=a)${')'.repeat(40)}`;
    assert.notEqual((await run('ldapsearch', args(deep))).code, 0);
    const random = Buffer.alloc(4_096);
    for (let i = 0; i < random.length; i += 1) random[i] = (i * 7919) % 251;
    await end(Buffer.concat([Buffer.from([0x30, 0x82, 0x0f, 0x00]), random]));
    assert.equal((await run('ldapsearch', args('(cn=anna*)'))).code, 0);
  });

  test('ldap - the token ends with its phone, and the port with its setting', async (t) => {
    const run = await ldapTools(t);
    await ask(site(), 'PATCH', '/phones/desk', { token: null });
    await apply(site());
    await until('the token to end', async () => (await run('ldapsearch', args('(cn=anna*)'))).code === 49);
    await ask(site(), 'PATCH', '/network/site', { ldap_port: null });
    await apply(site());
    await until('the port to close', async () => (await run('ldapsearch', args('(cn=a*)'))).code === 255);
  });
});
