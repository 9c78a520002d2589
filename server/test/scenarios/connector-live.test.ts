/** A system outside beside a real engine: it places a call, writes a note, knows the caller, and rejects another one. */
import assert from 'node:assert/strict';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { AuditPage } from '@offhook/contract/audit.ts';
import { CallsReply } from '@offhook/contract/calls.ts';
import { ConnectorReply } from '@offhook/contract/connectors.ts';
import { conversation, conversationsOf, ring, talk, useStage } from '../support/conversation-stage.ts';
import { farAddress } from '../support/far-address.ts';
import { openFarSide } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

const ANNA = '+4930901820';
const UNWANTED = '+442079460018';
const NUMBER = '+493012345605';
const SECRET = 'geheim-4711';
const north = await farAddress('127.0.0.2');
const south = await farAddress('127.0.0.3');

const FILE = `connector: 1
name: Peer
settings: { address: { text: Address, url: true }, inbox: { text: Secret, secret: true } }
base: '{{ set.address }}'
check: { get: / }
customer: { id: '{{ row.id }}', name: '{{ row.name }}' }
lookup: { number: { get: /find, query: { number: '{{ number }}' }, formats: [e164], rows: '{{ answer.rows }}' } }
pop: '{{ set.address }}/people/{{ customer.id }}?call={{ call.id }}'
push:
  post: /calls
  body: { id: '{{ call.id }}', number: '{{ call.number }}' }
  ringing: { reply: { reject: '{{ answer.reject }}' } }
inbox:
  verify: { header: x-secret, value: '{{ set.inbox }}' }
  on:
    - { when: '{{ body.do == "call" }}', do: call, person: '{{ body.person }}', number: '{{ body.number }}' }
    - { when: '{{ body.do == "note" }}', do: note, call: '{{ body.call }}', text: '{{ body.text }}' }
`;

/** Knows Anna, and rejects the unwanted number. */
async function startPeer(): Promise<string> {
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://peer');
      const { number = '' } = (parts.length > 0 ? JSON.parse(Buffer.concat(parts).toString()) : {}) as {
        number?: string;
      };
      const rows = url.searchParams.get('number') === ANNA ? [{ id: 'c 1', name: 'Anna Müller' }] : [];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ rows, reject: number === UNWANTED }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('connectors: a system that acts', () => {
  let anna: Phone;
  let unwanted: Phone;
  const stage = useStage(
    {
      people: ['2005', '2006'],
      objects: {
        trunk: [
          { name: 'north', title: 'North', ...north, outbound_number: '+493012345600' },
          { name: 'south', title: 'South', ...south },
        ],
        inbound_route: ['north', 'south'].map((trunk) => ({
          name: `to-${trunk}`,
          trunk,
          number: NUMBER,
          to: { kind: 'extension' as const, key: '2005' },
        })),
      },
    },
    {
      env: { OFFHOOK_SITE_COUNTRY: 'DE', OFFHOOK_WEBHOOK_ALLOW: '127.0.0.1' },
      async prepare(_dataDir, server) {
        anna = await openFarSide({ server, extension: ANNA, at: north });
        unwanted = await openFarSide({ server, extension: UNWANTED, at: south });
      },
    },
  );
  after(() => Promise.all([anna, unwanted].map((phone) => phone?.[Symbol.asyncDispose]())));

  async function ask(method: 'GET' | 'POST', path: string, body?: object, secret?: string): Promise<unknown> {
    const { token } = await stage.site().person('1001');
    const response = await fetch(`${stage.site().base}/api/v1/${path}`, {
      method,
      headers: {
        ...(secret === undefined ? { authorization: `Bearer ${token}` } : { 'x-secret': secret }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const json: unknown = await response.json();
    assert.ok(response.ok, `${method} ${path}: ${JSON.stringify(json)}`);
    return json;
  }

  test('connectors - a message places a call and another one writes its note; a caller is known by the address of its page, a rejected one is hung up', async () => {
    const address = await startPeer();
    const made = ConnectorReply.parse(
      await ask('POST', 'connectors', { source: FILE, settings: { address, inbox: SECRET } }),
    );
    const inbox = `connectors/${made.connector.id}/inbox`;
    await using own = await stage.phone('2005');
    await using other = await stage.phone('2006');

    const placed = ask('POST', inbox, { do: 'call', person: '2005', number: '2006' }, SECRET);
    const here = await own.incoming();
    here.ring();
    await here.answer();
    const there = await other.incoming();
    there.ring();
    await there.answer();
    await placed;
    await talk(1, here, there);
    await here.hangup();
    await there.ended();
    const { id } = await until('the conversation of the placed call', async () =>
      (await conversationsOf(stage.site(), '2006')).find(({ state }) => state === 'final'),
    );
    await ask('POST', inbox, { do: 'note', call: id, text: 'wants an offer' }, SECRET);
    const { notes } = await conversation(stage.site(), id);
    assert.deepEqual(
      notes.map(({ text }) => text),
      ['wants an offer'],
    );

    const [out, ringing] = await ring(anna, NUMBER, own);
    let seen: unknown;
    const known = await until(
      'the customer of the call',
      async () => {
        const { calls } = CallsReply.parse(await ask('GET', 'calls'));
        seen = calls;
        return calls.find(({ customer }) => customer?.name === 'Anna Müller');
      },
      { seen: () => ({ seen }) },
    );
    assert.equal(known.customer!.external_id, 'c 1');
    assert.equal(known.customer!.url, `${address}/people/c%201?call=${encodeURIComponent(known.call_id)}`);
    await out.hangup();
    await ringing.ended();

    const refused = await unwanted.invite(NUMBER);
    const brief = await own.incoming();
    brief.ring();
    await brief.ended();
    await refused.ended();
    // By the connector, and not because the ring or the caller gave up.
    // The line is written once the engine confirmed, which the phones may see before.
    const trail = await until('the line of the hang-up', async () => {
      const page = AuditPage.parse(await ask('GET', 'audit?action=calls.hangup'));
      return page.entries.length > 0 ? page : undefined;
    });
    assert.deepEqual(
      trail.entries.map(({ actor, outcome }) => [actor, outcome]),
      [[`connector:${made.connector.id}`, 'ok']],
    );
    await until('no call to be left', async () => {
      const { calls } = CallsReply.parse(await ask('GET', 'calls'));
      return calls.length === 0;
    });
  });
});
