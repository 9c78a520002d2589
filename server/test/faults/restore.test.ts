import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { backup } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { createClient } from '@offhook/client';
import type { EventStream } from '@offhook/client';
import { PollReply } from '@offhook/contract/stream.ts';
import type { Person } from '../support/api.ts';
import { readDatabase } from '../support/journal.ts';
import type { Site } from '../support/site.ts';
import { openSse } from '../support/sse-client.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';
import { openWs } from '../support/ws-client.ts';

const TOPICS = 'agents,presence';

/** A client that resumes from its cursor after every restart of the service. */
interface Reader {
  readonly name: string;
  /** Resumes; returns the reason of a gap, null without one. */
  resume(): Promise<string | null>;
  close(): void;
}
/** Newest seq and its check, as a client stores them. */
interface Place {
  epoch?: string;
  cursor?: number;
  check?: string;
}
type Kept = 'seq' | 'epoch' | 'check';
const FIELDS = { seq: ['cursor'], epoch: ['cursor', 'epoch'], check: ['cursor', 'epoch', 'check'] } as const;
const shown = (place: Place, kept: Kept): Place =>
  Object.fromEntries(
    FIELDS[kept].filter((name) => place[name] !== undefined).map((name) => [name, place[name]]),
  );

const queryOf = (place: Place): string =>
  new URLSearchParams(
    Object.entries({ topics: TOPICS, ...place })
      .filter(([, value]) => value !== undefined)
      .map(([key, value]): [string, string] => [key, String(value)]),
  ).toString();

function polling(site: Site, person: Person, kept: Kept): Reader {
  let place: Place = {};
  return {
    name: `long poll with ${kept}`,
    async resume() {
      const response = await fetch(`${site.base}/api/v1/events/poll?wait=0&${queryOf(shown(place, kept))}`, {
        headers: { authorization: `Bearer ${person.token}` },
      });
      assert.equal(response.status, 200);
      const { epoch, cursor, gap, events } = PollReply.parse(await response.json());
      const newest = events.at(-1);
      place = {
        epoch,
        cursor,
        ...(newest?.check === undefined ? {} : { check: `${newest.seq}:${newest.check}` }),
      };
      return gap?.reason ?? null;
    },
    close() {},
  };
}
function listening(site: Site, person: Person, kept: Kept): Reader {
  let place: Place = {};
  return {
    name: `SSE with ${kept}`,
    async resume() {
      const { cursor, ...others } = shown(place, kept);
      const sse = await openSse(
        `${site.base}/api/v1/events?${queryOf(others)}`,
        person.token,
        cursor === undefined ? {} : { 'last-event-id': String(cursor) },
      );
      const { json } = await sse.next('subscribed');
      const first = await until('a gap, or all that was missed', () =>
        cursor === undefined ? 'new' : sse.messages.find((m) => m.event === 'gap' || m.event === 'resumed'),
      );
      const newest = sse.messages.findLast((m) => m.event === '' && m.data !== '');
      const event = newest === undefined ? null : (JSON.parse(newest.data) as { seq: number; check: string });
      sse.stop();
      place = {
        epoch: String(json['epoch']),
        cursor: event?.seq ?? Number(json['cursor']),
        ...(event === null ? {} : { check: `${event.seq}:${event.check}` }),
      };
      if (first === 'new' || first.event === 'resumed') return null;
      return (JSON.parse(first.data) as { reason: string }).reason;
    },
    close() {},
  };
}
function framed(site: Site, person: Person, kept: Kept): Reader {
  let place: Place = {};
  return {
    name: `WebSocket with ${kept}`,
    async resume() {
      const port = Number(new URL(site.base).port);
      await using ws = await openWs({ port, token: person.token });
      const { epoch } = await ws.next('hello');
      ws.send({ op: 'subscribe', id: 1, topics: TOPICS.split(','), ...shown(place, kept) });
      const { cursor } = await ws.next('subscribed');
      const first =
        place.cursor === undefined
          ? null
          : await until('a gap, or all that was missed', () =>
              ws.frames.find((frame) => frame.op === 'gap' || frame.op === 'resumed'),
            );
      const newest = ws.frames.findLast((frame) => frame.op === 'event');
      const event = newest?.op === 'event' ? newest.event : null;
      place = {
        epoch,
        cursor: event?.seq ?? cursor,
        ...(event?.check === undefined ? {} : { check: `${event.seq}:${event.check}` }),
      };
      return first?.op === 'gap' ? first.reason : null;
    },
    close() {},
  };
}
/** The SDK's stream, which reconnects by itself. */
async function subscribed(site: Site, n: number): Promise<Reader> {
  const own = (await site.credentials()).find((c) => c.extension === '1005')!;
  const client = createClient({ base: site.base });
  await client.login({ username: own.username, password: own.password });
  const stream: EventStream = client.stream({ topics: TOPICS.split(','), snapshot: n % 2 === 0 });
  const gaps: string[] = [];
  let heard = 0;
  void (async () => {
    for await (const item of stream) {
      heard += 1;
      if (item.type === 'gap') gaps.push(item.reason);
    }
  })().catch(() => {});
  return {
    name: `SDK ${n}`,
    async resume() {
      const newest = headOf(site);
      await until(
        'the stream to be where the journal is',
        () => stream.state === 'live' && (stream.cursor?.seq ?? 0) >= newest,
        { seen: () => ({ state: stream.state, cursor: stream.cursor, newest, heard }) },
      );
      return gaps.shift() ?? null;
    },
    close: () => stream.close(),
  };
}
/** Newest seq visible to these readers. */
function headOf(site: Site): number {
  const db = readDatabase(path.join(site.dataDir, 'journal.db'));
  try {
    const row = db
      .prepare("select max(seq) as head from journal where topics like 'agents%' or topics like 'presence%'")
      .get();
    return Number(row?.['head']);
  } finally {
    db.close();
  }
}
/**
 * Cuts a write-ahead log at half of its frames. The file may be longer than they: after a checkpoint the next ones overwrite it from
 * its start, and what is behind them has another salt.
 */
function cutLog(file: string): void {
  const bytes = fs.readFileSync(file);
  const frame = 24 + bytes.readUInt32BE(8);
  const salt = bytes.subarray(16, 24);
  let frames = 0;
  for (let at = 32; at + frame <= bytes.length && bytes.subarray(at + 8, at + 16).equals(salt); at += frame)
    frames += 1;
  fs.truncateSync(file, 32 + Math.floor(frames / 2) * frame);
}
/** Emits an event that every reader receives. */
async function busy(person: Person, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) {
    await person.agent('pause', { reason: 'training' });
    await person.agent('unpause');
  }
}

describe('restore', () => {
  const site = useSite({ env: { OFFHOOK_STREAM_HEARTBEAT_SECONDS: '5' } });
  const readers: Reader[] = [];
  after(() => {
    for (const reader of readers) reader.close();
  });
  const gapReasons = async (): Promise<Record<string, string | null>> => {
    const found: Record<string, string | null> = {};
    for (const reader of readers) found[reader.name] = await reader.resume();
    return found;
  };
  const all = (reason: string | null) => Object.fromEntries(readers.map(({ name }) => [name, reason]));
  /** As a person copies a folder over another one; existing files are replaced. */
  const copy = (from: string, to: string): void => {
    execFileSync('cp', ['-a', '--remove-destination', '-T', from, to]);
  };

  test('restore - ten streaming clients: a restart causes no gap, every kind of restore reports one to each', async () => {
    const { dataDir } = site();
    const [zoe, lea] = [await site().person('1003'), await site().person('1004')];
    for (const n of [1, 2, 3, 4]) readers.push(await subscribed(site(), n));
    for (const make of [framed, listening]) {
      for (const kept of ['seq', 'check'] as const) readers.push(make(site(), lea, kept));
    }
    for (const kept of ['seq', 'epoch'] as const) readers.push(polling(site(), lea, kept));
    assert.equal(readers.length, 10);
    const aside = fs.mkdtempSync(path.join(path.dirname(dataDir), 'offhook-backup-'));
    after(() => fs.rmSync(aside, { recursive: true, force: true }));
    await busy(zoe, 1);
    await gapReasons();

    // The folder is copied while the service is stopped.
    await site().stop();
    copy(dataDir, path.join(aside, 'folder'));
    await site().start();
    await busy(zoe, 1);
    assert.deepEqual(await gapReasons(), all(null), 'a restart');
    const live = readDatabase(path.join(dataDir, 'journal.db'));
    await backup(live, path.join(aside, 'journal.db'));
    live.close();
    await busy(zoe, 2);
    await site().kill('SIGKILL');
    await site().start();
    await busy(zoe, 1);
    assert.deepEqual(await gapReasons(), all(null), 'a kill');

    const ways: Readonly<Record<string, () => Promise<void>>> = {
      'the whole folder, copied over while the service is stopped': async () => {
        await site().stop();
        copy(path.join(aside, 'folder'), dataDir);
      },
      'journal.db of a backup while it ran, copied over': async () => {
        await site().kill('SIGKILL');
        for (const part of ['-wal', '-shm'])
          fs.rmSync(path.join(dataDir, `journal.db${part}`), { force: true });
        fs.copyFileSync(path.join(aside, 'journal.db'), path.join(dataDir, 'journal.db'));
      },
      'the write-ahead log, cut by half': async () => {
        await busy(zoe, 1);
        await gapReasons();
        await site().kill('SIGKILL');
        cutLog(path.join(dataDir, 'journal.db-wal'));
      },
      'the folder removed and unpacked anew': async () => {
        await site().stop();
        fs.rmSync(dataDir, { recursive: true });
        copy(path.join(aside, 'folder'), dataDir);
      },
    };
    for (const [way, goBack] of Object.entries(ways)) {
      const newest = headOf(site());
      await goBack();
      await site().start();
      // The readers' seqs are reached again.
      do await busy(zoe, 1);
      while (headOf(site()) <= newest);
      assert.deepEqual(await gapReasons(), all('epoch'), way);
      await busy(zoe, 1);
      assert.deepEqual(await gapReasons(), all(null), `after ${way}`);
    }
  });
});
