/** Queue calls with a real Tryton, while the service and Tryton are killed: one note for each conversation. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { ConnectorCustomerMade, ConnectorEntries, ConnectorReply } from '@offhook/contract/connectors.ts';
import { CallsReply } from '@offhook/contract/calls.ts';
import { ConversationReply } from '@offhook/contract/conversation-list.ts';
import { RecordingsReply } from '@offhook/contract/recordings.ts';
import { connect, conversationsOf, ring, talk, useStage } from '../support/conversation-stage.ts';
import { farAddress } from '../support/far-address.ts';
import { openFarSide } from '../support/phone.ts';
import type { Phone } from '../support/phone.ts';
import { startTryton } from '../support/tryton.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

/**
 * Time of a kill; `create` and `update` before Tryton gets the request, `created` and `updated` before its reply is
 * returned.
 */
type Moment = 'ringing' | 'talking' | 'passed on' | 'ended' | 'create' | 'created' | 'update' | 'updated';
/** Rounds of one call each, with the times at which the service and Tryton are killed. */
const ROUNDS: readonly { readonly service: Moment; readonly tryton: Moment }[] = [
  { service: 'created', tryton: 'ended' },
  { service: 'talking', tryton: 'created' },
  { service: 'ringing', tryton: 'create' },
  { service: 'create', tryton: 'update' },
  { service: 'passed on', tryton: 'updated' },
  { service: 'ended', tryton: 'passed on' },
  { service: 'update', tryton: 'created' },
  { service: 'updated', tryton: 'talking' },
  { service: 'created', tryton: 'update' },
  { service: 'create', tryton: 'created' },
];
/** `TEST_TRYTON_ROUNDS=10` plays all of them. */
const PLAYED = ROUNDS.slice(0, Number(process.env['TEST_TRYTON_ROUNDS'] ?? 1));

const KNOWN = '+4930901820';
const STRANGER = '+442079460018';
const NUMBER = '+493012345605';
const north = await farAddress('127.0.0.2');
const south = await farAddress('127.0.0.3');

/** Forwards requests to Tryton; a request or reply at which `at` killed a process is lost. */
async function startFront(to: string) {
  const front = { at: (_moment: Moment): Promise<boolean> => Promise.resolve(false), url: '' };
  const METHODS: Readonly<Record<string, readonly [before: Moment, after: Moment]>> = {
    'model.ir.note.create': ['create', 'created'],
    'model.ir.note.write': ['update', 'updated'],
  };
  async function pass(request: http.IncomingMessage, body: string): Promise<Response> {
    const { method = '' } = JSON.parse(body) as { method?: string };
    const moments = METHODS[method];
    if (moments && (await front.at(moments[0]))) throw new Error('the request is lost');
    const answer = await fetch(to + request.url!, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(request.headers.authorization && { authorization: request.headers.authorization }),
      },
      body,
    });
    const text = await answer.text();
    if (moments && (await front.at(moments[1]))) throw new Error('the answer is lost');
    return new Response(text, { status: answer.status });
  }
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      pass(request, Buffer.concat(parts).toString()).then(
        async (answer) => {
          response.writeHead(answer.status, { 'content-type': 'application/json' });
          response.end(await answer.text());
        },
        () => void request.socket.destroy(),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  front.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return front;
}

describe('connectors: Tryton', () => {
  let known: Phone;
  let stranger: Phone;
  const stage = useStage(
    {
      people: ['2005', '2006'],
      queues: [{ number: '500', agents: ['2005'], recording: 'always', ring_seconds: 300 }],
      objects: {
        trunk: [
          { name: 'north', title: 'North', ...north, outbound_number: '+493012345600' },
          { name: 'south', title: 'South', ...south },
        ],
        inbound_route: ['north', 'south'].map((trunk) => ({
          name: `queue-${trunk}`,
          trunk,
          number: NUMBER,
          to: { kind: 'queue' as const, key: 'q500' },
        })),
      },
    },
    {
      env: {
        OFFHOOK_SITE_COUNTRY: 'DE',
        OFFHOOK_WEBHOOK_ALLOW: '127.0.0.1',
        OFFHOOK_PUBLIC_URL: 'https://pbx.example',
      },
      async prepare(_dataDir, server) {
        known = await openFarSide({ server, extension: KNOWN, at: north });
        stranger = await openFarSide({ server, extension: STRANGER, at: south });
      },
    },
  );
  after(() => Promise.all([known, stranger].map((phone) => phone?.[Symbol.asyncDispose]())));

  async function call(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    const { token } = await stage.site().person('1001');
    const response = await fetch(`${stage.site().base}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const json: unknown = await response.json();
    assert.ok(response.ok, `${method} ${path}: ${JSON.stringify(json)}`);
    return json;
  }
  const named = async (name: string): Promise<void> => {
    let seen: unknown;
    await until(
      `a ringing call of ${name}`,
      async () => {
        const { calls } = CallsReply.parse(await call('GET', 'calls'));
        seen = calls;
        return calls.some(({ customer }) => customer?.name === name);
      },
      { seen: () => ({ seen }) },
    );
  };

  test('connectors - a party is known at the ring, a stranger becomes one, and each conversation has one note and one copy of its recording while both sides are killed', async () => {
    const tryton = await startTryton({ after });
    const front = await startFront(tryton.settings.address.replace(/\/crm$/, ''));
    const mechanisms = [['create', [{ type: 'phone', value: KNOWN }]]];
    const [anna] = (await tryton.ask('model.party.party.create', [
      { name: 'Anna Müller', contact_mechanisms: mechanisms },
    ])) as number[];
    const made = ConnectorReply.parse(
      await call('POST', 'connectors', {
        file: 'tryton',
        settings: { ...tryton.settings, address: `${front.url}/crm`, recordings: 'yes' },
      }),
    );
    const path = `connectors/${made.connector.id}`;
    await using agent = await stage.phone('2005');
    await using expert = await stage.phone('2006');

    const [first, ringing] = await ring(known, NUMBER, agent);
    await named('Anna Müller');
    await first.hangup();
    await ringing.ended();

    const [second, there] = await connect(stranger, NUMBER, agent);
    await talk(1, second, there);
    const ben = ConnectorCustomerMade.parse(
      await call('POST', `${path}/customers`, { name: 'Ben Stranger', number: STRANGER }),
    );
    assert.equal(ben.outcome, 'created', ben.words ?? '');
    await named('Ben Stranger');
    await second.hangup();
    await there.ended();

    /** Kills one of the two; the promise in the result resolves after its restart, which the call does not wait for. */
    const kill = {
      async service(): Promise<{ readonly back: Promise<void> }> {
        await stage.site().kill('SIGKILL');
        return { back: stage.site().start() };
      },
      async tryton(): Promise<{ readonly back: Promise<void> }> {
        await tryton.stop();
        return { back: tryton.serve() };
      },
    };
    const notes = async () =>
      (await tryton.ask('model.ir.note.search_read', [], 0, 1000, null, [
        'message',
        'resource',
      ])) as readonly { message: string; resource: string }[];
    const parties = { [KNOWN]: anna, [STRANGER]: Number(ben.customer!.id) } as const;
    const due: { id: string; resource: string }[] = [];
    for (const [n, round] of PLAYED.entries()) {
      const pending = new Map<Moment, ('service' | 'tryton')[]>();
      for (const who of ['service', 'tryton'] as const)
        pending.set(round[who], [...(pending.get(round[who]) ?? []), who]);
      const returns: Promise<void>[] = [];
      const at = async (moment: Moment): Promise<boolean> => {
        const doomed = pending.get(moment) ?? [];
        pending.delete(moment);
        for (const who of doomed) returns.push((await kill[who]()).back);
        return doomed.length > 0;
      };
      front.at = at;
      const number = n % 2 === 0 ? STRANGER : KNOWN;
      const caller = number === KNOWN ? known : stranger;
      const before = new Set((await conversationsOf(stage.site(), number)).map(({ id }) => id));
      const [out, at2005] = await ring(caller, NUMBER, agent);
      await at('ringing');
      await at2005.answer();
      await out.answered();
      await talk(1, out, at2005);
      await at('talking');
      await at2005.transfer('2006');
      const at2006 = await expert.incoming();
      at2006.ring();
      await at2006.answer();
      await at2005.transferred();
      await talk(1, out, at2006);
      await at('passed on');
      await out.hangup();
      await at2006.ended();
      await at('ended');
      await Promise.all(returns);
      const { id } = await until('the conversation of the call', async () =>
        (await conversationsOf(stage.site(), number)).find(
          (one) => !before.has(one.id) && one.state !== 'open',
        ),
      );
      const ofCall = async () => (await notes()).filter(({ message }) => message.includes(id));
      await until(`the note of round ${n}`, async () => (await ofCall()).length > 0, {
        every: 250,
        ms: 4 * PATIENCE_MS,
      });
      const words = `Agreed in round ${n}`;
      const conversation = `conversations/${encodeURIComponent(id)}`;
      await until('the note of the agent', async () => {
        const { notes: written } = ConversationReply.parse(await call('GET', conversation)).conversation;
        if (written.some(({ text }) => text === words)) return true;
        await call('POST', `${conversation}/notes`, { text: words });
        return false;
      });
      let last: unknown;
      await until(
        `the whole note of round ${n}`,
        async () => {
          const all = await ofCall();
          last = all;
          return (
            all.length > 0 &&
            [
              words,
              'With: Person 2005 (2005), then Person 2006 (2006)\n',
              'Recording: https://pbx.example/',
            ].every((one) => all[0]!.message.includes(one))
          );
        },
        { every: 250, ms: 4 * PATIENCE_MS, seen: () => ({ last }) },
      );
      assert.deepEqual([...pending.keys()], [], `round ${n}: all were killed`);
      await Promise.all(returns);
      due.push({ id, resource: `party.party,${parties[number]}` });
    }
    await until(
      'no entry that waits',
      async () => {
        const { entries } = ConnectorEntries.parse(await call('GET', `${path}/entries?limit=100`));
        return entries.length >= PLAYED.length + 2 && entries.every(({ state }) => state === 'sent');
      },
      { every: 250, ms: 4 * PATIENCE_MS, seen: () => ({}) },
    );
    const all = await notes();
    for (const { id, resource } of due)
      assert.deepEqual(
        all.filter(({ message }) => message.includes(id)).map((note) => note.resource),
        [resource],
        `notes of ${id}`,
      );
    assert.equal(all.length, PLAYED.length + 2, 'one note for each conversation, also of the first two');
    const attached = (await tryton.ask('model.ir.attachment.search_read', [], 0, 1000, null, [
      'name',
      'resource',
      'data',
    ])) as readonly { name: string; resource: string; data: { base64: string } }[];
    for (const { id, resource } of due) {
      const { recordings } = RecordingsReply.parse(
        await call('GET', `recordings?conversation=${encodeURIComponent(id)}`),
      );
      assert.equal(recordings.length, 1, `recordings of ${id}`);
      const [recording] = recordings;
      const copies = attached.filter(({ name }) => name === `${recording!.id}.wav`);
      const sums = copies.map(({ data }) =>
        createHash('sha256').update(Buffer.from(data.base64, 'base64')).digest('hex'),
      );
      assert.deepEqual(
        copies.map((copy, n) => [copy.resource, sums[n]]),
        [[resource, recording!.sha256]],
        `copies of the recording of ${id}`,
      );
    }
    const named2 = (await tryton.ask('model.party.party.search', [], 0, 100, null)) as number[];
    assert.equal(named2.length, 2, 'no party was made twice');
  });
});
