import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { phonebookSourcesRig } from '../../../../test/support/phonebook-sources-rig.ts';
import { readMultistatus } from './multistatus.ts';

interface Reply {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}
type Answer = (asked: { readonly method: string; readonly depth: string; readonly body: string }) => Reply;

/** A server on the loopback address that answers as the test says. */
async function davServer(t: TestContext) {
  const server = http.createServer();
  const asked: string[] = [];
  const parts = { answer: (() => ({ status: 500 })) as Answer, asked, address: '' };
  server.on('request', (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { method = '', url = '' } = request;
      asked.push(`${method} ${url} ${/<(?:\w+:)?([a-z-]+) xmlns/.exec(body)?.[1]}`);
      const reply = parts.answer({ method, depth: String(request.headers['depth']), body });
      response.writeHead(reply.status ?? 207, reply.headers).end(reply.body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  parts.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/book/`;
  return parts;
}
const multistatus = (...responses: string[]): string =>
  `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav" xmlns:s="http://calendarserver.org/ns/">${responses.join('')}</d:multistatus>`;
const response = (href: string, props: string): string =>
  `<d:response><d:href>${href}</d:href><d:propstat><d:prop>${props}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`;
const BOOK = '<d:resourcetype><d:collection/><c:addressbook/></d:resourcetype>';
const card = (name: string): string =>
  `BEGIN:VCARD&#13;\nVERSION:3.0\nFN:${name}\nN:;${name};;;\nTEL:+4930${name.length}0182\nEND:VCARD\n`;

/** An address book without sync tokens. */
class PlainBook {
  readonly cards = new Map<string, { tag: string; text: string }>();
  ctag = '1';
  put(name: string, tag: string, text = card(name)): void {
    this.cards.set(name, { tag, text });
    this.ctag += '1';
  }
  readonly answer: Answer = ({ method, depth, body }) => {
    const all = [...this.cards].map(([name, { tag, text }]) => ({ href: `/book/${name}.vcf`, tag, text }));
    if (method === 'PROPFIND' && depth === '0')
      return { body: multistatus(response('/book/', `${BOOK}<s:getctag>${this.ctag}</s:getctag>`)) };
    if (method === 'PROPFIND')
      return {
        body: multistatus(
          response('/book/', BOOK),
          response('/elsewhere/x.vcf', '<d:getetag>x</d:getetag>'),
          ...all.map(({ href, tag }) => response(href, `<d:getetag>"${tag}"</d:getetag>`)),
        ),
      };
    if (!body.includes('addressbook-multiget')) return { status: 403 };
    const wanted = all.filter(({ href }) => body.includes(`>${href}<`));
    return {
      body: multistatus(
        ...wanted.map(({ href, tag, text }) =>
          response(href, `<d:getetag>"${tag}"</d:getetag><c:address-data>${text}</c:address-data>`),
        ),
      ),
    };
  };
}

test('phonebook source - a server without sync tokens is followed by its list of cards', async (t) => {
  const server = await davServer(t);
  const rig = await phonebookSourcesRig(t);
  const book = new PlainBook();
  server.answer = book.answer;
  for (let n = 0; n < 60; n += 1) book.put(`Anna${n}`, 'a');
  await rig.follow({ kind: 'carddav', title: 'Plain', address: server.address });
  assert.equal(await rig.sync(), null);
  assert.equal((await rig.names('?limit=200')).length, 60);
  server.asked.length = 0;
  assert.equal(await rig.sync(), null);
  assert.deepEqual(server.asked, ['PROPFIND /book/ propfind'], 'the tag of the address book is the same');
  book.put('Anna1', 'b', card('Berta'));
  book.cards.delete('Anna2');
  server.asked.length = 0;
  assert.equal(await rig.sync(), null);
  assert.equal(server.asked.filter((one) => one.startsWith('REPORT')).length, 1, 'one card changed');
  const names = await rig.names('?limit=200');
  assert.deepEqual([names.length, names.includes('Berta'), names.includes('Anna2')], [59, true, false]);
  // An empty list is more likely a fault there.
  book.cards.clear();
  book.ctag = 'empty';
  assert.equal(await rig.sync(), null);
  assert.equal((await rig.names('?limit=200')).length, 59);
});

test('phonebook source - what is no address book is named, followed nowhere, and loses no customer', async (t) => {
  const server = await davServer(t);
  const rig = await phonebookSourcesRig(t);
  const book = new PlainBook();
  book.put('Anna', 'a');
  server.answer = book.answer;
  await rig.follow({ kind: 'carddav', title: 'Plain', address: server.address });
  assert.equal(await rig.sync(), null);
  // Comparing each attribute with all before it would hold the service for half an hour.
  const wide = multistatus(
    `<d:response ${Array.from({ length: 1_000_000 }, (_, n) => `a${n}=""`).join(' ')}/>`,
  );
  const bomb = `<!DOCTYPE d:multistatus [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>${multistatus(response('/book/', '<s:getctag>&b;</s:getctag>'))}`;
  const cases: readonly (readonly [Reply, RegExp])[] = [
    [{ status: 200, body: '<!doctype html><p>Sign in' }, /answers 200, not with an address book/],
    [{ body: '<!doctype html><p>Sign in' }, /not the XML of WebDAV/],
    [{ body: bomb }, /not the XML of WebDAV/],
    [{ body: wide }, /not the XML of WebDAV/],
    [{ body: multistatus('<x>'.repeat(100_000)) }, /not the XML of WebDAV/],
    [{ status: 302, headers: { location: 'http://169.254.169.254/' } }, /redirect \(302\)/],
    [{ status: 429, headers: { 'retry-after': '7200' } }, /asks to wait \(429\)/],
    [{ body: ' '.repeat(17_000_000) }, /more than 16777216 bytes/],
  ];
  for (const [reply, words] of cases) {
    server.answer = () => reply;
    assert.match(String(await rig.sync()), words);
    assert.deepEqual(await rig.names(), ['Anna']);
  }
  for (const address of ['http://192.168.1.1/book/', 'ftp://127.0.0.1/', 'http://user:secret@127.0.0.1/'])
    assert.equal((await rig.call('PATCH', 'sources/1', { address })).status, 400, address);
});

test('phonebook source - a card that is too large, and a text that is none, is left out; those beside it are stored', async (t) => {
  const server = await davServer(t);
  const rig = await phonebookSourcesRig(t);
  const book = new PlainBook();
  book.put('Anna', 'a');
  book.put('Huge', 'a', card('Huge').replace('END:', `PHOTO:${'x'.repeat(17_000_000)}\nEND:`));
  book.put('Word', 'a', 'no BEGIN:VCARD at the beginning of a line');
  book.put('Ben', 'a');
  server.answer = book.answer;
  await rig.follow({ kind: 'carddav', title: 'Plain', address: server.address });
  assert.equal(await rig.sync(), null);
  assert.deepEqual((await rig.names()).toSorted(), ['Anna', 'Ben']);
});

test('phonebook source - a card that the server does not send once is read by the next sync', async (t) => {
  const server = await davServer(t);
  const rig = await phonebookSourcesRig(t);
  const book = new PlainBook();
  book.put('Anna', 'a');
  book.put('Ben', 'a');
  const failed =
    '<d:response><d:href>/book/Ben.vcf</d:href><d:status>HTTP/1.1 500 Error</d:status></d:response>';
  server.answer = (asked) => {
    if (!asked.body.includes('addressbook-multiget')) return book.answer(asked);
    const { body = '' } = book.answer({
      ...asked,
      body: asked.body.replace('/book/Ben.vcf', '/book/none.vcf'),
    });
    return { body: body.replace('</d:multistatus>', `${failed}</d:multistatus>`) };
  };
  await rig.follow({ kind: 'carddav', title: 'Plain', address: server.address });
  assert.equal(await rig.sync(), null);
  assert.deepEqual(await rig.names(), ['Anna']);
  server.answer = book.answer;
  assert.equal(await rig.sync(), null);
  assert.deepEqual((await rig.names()).toSorted(), ['Anna', 'Ben'], 'although no card has changed');
});

test('phonebook source - a multistatus is read by its namespaces, with CDATA and properties that the server lacks', async () => {
  const read = await readMultistatus(
    '<multistatus xmlns="DAV:"><response><href>/a%20b.vcf</href><propstat><prop><getetag><![CDATA["1"]]></getetag></prop><status>HTTP/1.1 200 OK</status></propstat><propstat><prop><x:getctag xmlns:x="y"/></prop><status>HTTP/1.1 404 Not Found</status></propstat></response><response><href>/gone.vcf</href><status>HTTP/1.1 404 Not Found</status></response><sync-token>t1</sync-token></multistatus>',
  );
  assert.deepEqual(
    [read?.token, read?.responses.map(({ href, status, props }) => [href, status, [...props]])],
    [
      't1',
      [
        ['/a%20b.vcf', null, [['{DAV:}getetag', '"1"']]],
        ['/gone.vcf', 404, []],
      ],
    ],
  );
});
