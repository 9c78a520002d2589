import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { freePort } from '../../test/support/ports.ts';
import { until } from '../../test/support/until.ts';
import { systemClock } from '../core/clock.ts';
import { silent } from '../core/log.ts';
import type { HomeFiles } from '../features/pbx-config/apply/home.ts';
import { PROOF_HEADER, prove } from '../http/node-proof.ts';
import { listenAsStandby } from '../http/standby.ts';
import type { CallRecordBatch, CallRecords } from '../ports/call-records.ts';
import type { Clock } from '../ports/clock.ts';
import type { SeenNode } from '../ports/site-nodes.ts';
import { itemsOf } from '../ports/voicemail.ts';
import type { VoicemailItem } from '../ports/voicemail.ts';
import {
  BODY_HEADER,
  HOME_PATH,
  BEAT_MS,
  MANAGER_PATH,
  TakenProofs,
  TermGate,
  bodyHash,
  homeParts,
  homeRoutes,
} from './home-calls.ts';
import { HomeEngines } from './home-engines.ts';

const SECRET = 'a-secret-of-the-nodes';
const KEY = Buffer.alloc(32, 7);
const accounts = { events: { user: 'e', secret: '1' }, actions: { user: 'a', secret: '2' } };
const batch = (offset: number): CallRecordBatch => ({
  records: [],
  checkpoint: { file: 'Master.csv', inode: 1, offset, mark: '' },
  malformed: [],
  live: true,
});

const item = (stem: string, caller_number: string | null): VoicemailItem => ({
  stem,
  mark: 'm',
  mailbox: '1003',
  former_owner: null,
  message:
    caller_number === null
      ? null
      : {
          folder: 'INBOX',
          left_for: '1003',
          caller_number,
          caller_name: null,
          redirected_by: null,
          received_ms: 1_795_903_200_000,
          seconds: 7,
        },
});
/** The node b with an engine that answers each byte with itself, and the leading node of a term. */
async function open(t: TestContext) {
  const engines = { opened: 0, closed: 0 };
  const echo = net.createServer((socket) => {
    engines.opened += 1;
    socket.on('close', () => (engines.closed += 1));
    socket.on('error', () => {}).pipe(socket);
  });
  echo.listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const { port } = echo.address() as net.AddressInfo;
  let unsettled = 0;
  const gate = new TermGate(() => (unsettled += 1));
  const reads: (number | null)[] = [];
  const end: { read_at: number | null } = { read_at: null };
  const records: CallRecords = {
    caughtUpAt: () => end.read_at,
    async *read(from, signal) {
      reads.push(from?.offset ?? null);
      for (let n = (from?.offset ?? 0) + 1; n <= 3; n += 1) yield batch(n);
      if (!signal.aborted) await once(signal, 'abort');
    },
  };
  const messages = [item('msg0000', '030901820'), item('msg0001', null)];
  // `read` is answered as no version does.
  const files = {
    disk: () => ({ hash: 'h' }),
    text: () => 1,
  } as unknown as HomeFiles;
  const address = { host: '127.0.0.1', port: await freePort() };
  const listener = await listenAsStandby(address, {
    engineUp: () => true,
    checks: [],
    active: () => null,
    nodes: homeRoutes({
      node: 'b',
      secret: SECRET,
      sealingKey: KEY,
      gate,
      files,
      records,
      voicemail: {
        async page(after) {
          const at = Number(after);
          return {
            items: messages.slice(at, at + 1),
            next: at + 1 < messages.length ? String(at + 1) : null,
            unread: at,
          };
        },
        audio: async ({ stem }) =>
          messages.some((one) => one.stem === stem)
            ? [{ name: `${stem}.wav`, bytes: Buffer.from([0, 255, 7]) }]
            : null,
        remove: async (items) => {
          for (const { stem } of items)
            messages.splice(
              messages.findIndex((one) => one.stem === stem),
              1,
            );
          return items.length;
        },
      },
      manager: () => port,
      accounts,
      log: silent,
    }),
  });
  t.after(async () => {
    await listener.close();
    echo.close();
  });
  const url = `http://127.0.0.1:${address.port}`;
  const leader = (term: number, secret = SECRET, name = 'b', clock: Clock = systemClock) =>
    new HomeEngines({
      nodes: {
        list: () => Promise.resolve([{ name, role: 'home', url, seconds: 0 } as unknown as SeenNode]),
      },
      secret,
      sealingKey: KEY,
      own: () => ({ node: 'a', term }),
      clock,
      log: silent,
    }).of(name);
  return { end, engines, gate, leader, listener, reads, url, unsettled: () => unsettled };
}

test('home calls - the leading node gets the accounts and a way to the manager interface, which ends with its term', async (t) => {
  const { gate, leader, unsettled } = await open(t);
  const target = await leader(3).target();
  assert.deepEqual([target!.events, target!.actions], [accounts.events, accounts.actions]);
  const way = await target!.dial!();
  way.on('error', () => {});
  let heard = '';
  way.on('data', (chunk: Buffer) => (heard += chunk.toString()));
  way.write('ping');
  await until('the echo', () => heard === 'ping');
  assert.equal(unsettled(), 0);
  gate.raise(4);
  await until('its end', () => way.destroyed || way.readableEnded);
  assert.equal(unsettled(), 1);
  await assert.rejects(leader(3).target(), { code: 'node_not_active' });
  await assert.rejects(target!.dial!(), /refused with 503/);
  assert.deepEqual(await leader(4).disk(), { hash: 'h' });
});

test('home calls - the leading node lists, reads and deletes the voicemail of the other engine', async (t) => {
  const { leader } = await open(t);
  const signal = new AbortController().signal;
  const { voicemail } = leader(3);
  let lacking = 0;
  const listed = (): Promise<VoicemailItem[]> =>
    Readable.from(itemsOf(voicemail, signal, () => (lacking += 1))).toArray();
  const [message, greeting] = [item('msg0000', '030901820'), item('msg0001', null)];
  assert.deepEqual(await listed(), [message, greeting]);
  assert.equal(lacking, 1, 'a file on the second page');
  const audio = await voicemail.audio(message, signal);
  assert.deepEqual(
    audio?.map(({ name, bytes }) => [name, [...bytes]]),
    [['msg0000.wav', [0, 255, 7]]],
  );
  assert.equal(await voicemail.remove([message], signal), 1);
  assert.deepEqual(await listed(), [greeting]);
  assert.equal(await voicemail.audio(message, signal), null);
  const away = leader(3, SECRET, 'c').voicemail;
  await assert.rejects(away.remove([greeting], signal), { code: 'engine_unavailable' });
  await assert.rejects(away.audio(greeting, signal), { code: 'engine_unavailable' });
});

test('home calls - who has no proof is told that there is no such path', async (t) => {
  const { leader, url } = await open(t);
  const asked = await fetch(`${url}/api/nodes/engine`, { method: 'POST', body: '{"op":"disk"}' });
  assert.equal(asked.status, 404);
  await assert.rejects(leader(3, 'another').disk(), {
    code: 'engine_unavailable',
    message: /^the engine b is away/,
  });
  await assert.rejects(leader(3, SECRET, 'c').disk(), { code: 'engine_unavailable' });
});

test('home calls - a stranger is refused before his body comes, and a proof holds once, for its own body only', async (t) => {
  const { url } = await open(t);
  const asked = http.request(`${url}${HOME_PATH}`, {
    method: 'POST',
    headers: { 'content-length': 1_000_000 },
  });
  asked.on('error', () => {});
  asked.flushHeaders();
  const [refused] = (await once(asked, 'response')) as [http.IncomingMessage];
  assert.equal(refused.statusCode, 404);
  asked.destroy();
  const body = bodyHash('{"op":"disk"}');
  const headers = (once: string) => ({
    [BODY_HEADER]: body,
    [PROOF_HEADER]: prove(SECRET, { node: 'a', term: 3, once }, homeParts('b', HOME_PATH, body)),
  });
  const asks = async (given: Record<string, string>, text: string) =>
    (await fetch(`${url}${HOME_PATH}`, { method: 'POST', headers: given, body: text })).status;
  const first = headers('1');
  assert.equal(await asks(first, '{"op":"disk"}'), 200);
  assert.equal(await asks(first, '{"op":"disk"}'), 404, 'a proof is taken once');
  assert.equal(await asks(headers('2'), '{"op":"reload"}'), 404);
});

test('home calls - proofs that were taken are kept for as long as they hold, and no more of them than there is room for', () => {
  const taken = new TakenProofs();
  assert.deepEqual(
    [taken.take('one', 0), taken.take('one', 30 * 60_000), taken.take('two', 0)],
    [true, false, true],
  );
  assert.equal(taken.take('one', 32 * 60_000), true);
  for (let n = 0; n < 20_000; n += 1) taken.take(`more ${n}`, 32 * 60_000);
  assert.equal(taken.take('one', 32 * 60_000), true);
});

test('home calls - a stranger who resets a connection ends nothing, and a refused one does not stay open', async (t) => {
  const { leader, url } = await open(t);
  const { hostname: host, port } = new URL(url);
  const asks = async (path: string): Promise<net.Socket> => {
    // Keeps its own half open.
    const socket = net.connect({ host, port: Number(port), allowHalfOpen: true });
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: ami\r\n\r\n`);
    return socket;
  };
  for (const path of [MANAGER_PATH, '/ws']) {
    // The answer is written to some of them after the reset.
    for (let n = 0; n < 20; n += 1) (await asks(path)).resetAndDestroy();
    const held = await asks(path);
    t.after(() => held.destroy());
    let answer = '';
    held.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    await until('the answer', () => /^HTTP\/1\.1 (?:404|503) /.test(answer));
    await until('the end of both halves', () => {
      held.write('\n');
      return held.destroyed;
    });
  }
  assert.deepEqual(await leader(3).disk(), { hash: 'h' });
});

test('home calls - a question that only another version knows is refused as such, and an answer of one counts as none', async (t) => {
  const { leader, url } = await open(t);
  const ask = async (payload: string): Promise<Response> => {
    const body = bodyHash(payload);
    const proof = prove(SECRET, { node: 'a', term: 3 }, homeParts('b', HOME_PATH, body));
    const headers = { [BODY_HEADER]: body, [PROOF_HEADER]: proof };
    return await fetch(`${url}${HOME_PATH}`, { method: 'POST', headers, body: payload });
  };
  for (const payload of [
    '{"op":"paint"}',
    '{"op":"put"}',
    '{"op":"records"}',
    '{"op":"verify","depth":"half"}',
  ]) {
    const refused = await ask(payload);
    assert.equal(refused.status, 404, payload);
    assert.match(await refused.text(), /another version of the service/);
  }
  assert.equal((await ask('{"op":"disk","more":1}')).status, 200);
  await assert.rejects(leader(3).read(false), {
    code: 'engine_unavailable',
    message: /its node runs another version of the service/,
  });
});

test('home calls - the leading node gets a bounded number of connections, which end with it', async (t) => {
  const { engines, leader, listener } = await open(t);
  const target = await leader(3).target();
  const ways = await Promise.all(Array.from({ length: 32 }, () => target!.dial!()));
  for (const way of ways) way.on('error', () => {});
  await until('all of them at the engine', () => engines.opened === 32);
  await assert.rejects(target!.dial!(), /refused with 503/);
  ways[0]!.destroy();
  await until('one to end', () => engines.closed === 1);
  let again: Duplex | null = null;
  await until('a place', async () => (again = await target!.dial!().catch(() => null)) !== null);
  again!.on('error', () => {});
  await until('that of the last one', () => engines.opened === 33);
  await listener.close();
  await until('the end of all with that of the node', () => engines.closed === 33);
});

test('home calls - the leading node learns when all call records were read, also behind a slow store', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { end, leader, reads } = await open(t);
  // Another stream read everything before this one.
  end.read_at = Date.now() - 1_000;
  let later = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + later };
  const stop = new AbortController();
  const { records } = leader(3, SECRET, 'b', clock);
  const stored = Promise.withResolvers<void>();
  let got = 0;
  const reading = (async () => {
    for await (const _ of records.read(null, stop.signal)) {
      got += 1;
      if (got === 3) await stored.promise;
    }
  })();
  await until('the records', () => got === 3);
  assert.equal(records.caughtUpAt!(), null);
  end.read_at = Date.now() + 1;
  t.mock.timers.tick(BEAT_MS);
  later = 30_000;
  stored.resolve();
  await until('the beat', () => records.caughtUpAt!() !== null);
  assert.ok(clock.now() - records.caughtUpAt!()! >= 29_000);
  assert.deepEqual(reads, [null]);
  stop.abort();
  await reading;
});

test('home calls - call records go on after the last one that was stored', async (t) => {
  const { gate, leader, reads } = await open(t);
  const stop = new AbortController();
  const got: number[] = [];
  let term = 3;
  const reading = (async () => {
    for (;;) {
      const from = got.length === 0 ? null : batch(got.at(-1)!).checkpoint;
      for await (const one of leader(term).records.read(from, stop.signal)) {
        got.push(one.checkpoint.offset);
        if (got.length === 3) break;
      }
      if (stop.signal.aborted || got.length === 3) return;
    }
  })();
  await reading;
  assert.deepEqual([got, reads], [[1, 2, 3], [null]]);
  term = 4;
  gate.raise(term);
  for await (const one of leader(term).records.read(batch(2).checkpoint, stop.signal)) {
    assert.equal(one.checkpoint.offset, 3);
    break;
  }
  assert.deepEqual(reads, [null, 2]);
  stop.abort();
});
