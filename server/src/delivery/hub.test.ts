import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { openMemoryJournal } from '../adapters/memory/journal-store.ts';
import { silent } from '../core/log.ts';
import { EVERYONE, isStateType } from '../rights/topics.ts';
import { openJournal } from '../journal/journal.ts';
import type { Journal } from '../journal/journal.ts';
import { linkDown, offer, presence } from '../../test/support/stream-rig.ts';
import { until } from '../../test/support/until.ts';
import type { Framing } from './batch.ts';
import { Hub } from './hub.ts';
import { Reader } from './reader.ts';

const LINES: Framing = {
  name: 'lines',
  chained: true,
  event: (_json, seq, prev) => Buffer.from(`${prev}>${seq}\n`),
  snapshot: () => Buffer.alloc(0),
};
/** A reader whose client takes bytes as the test lets it. */
class Puppet extends Reader {
  readonly framing = LINES;
  readonly sent: { prev: number; seq: number }[] = [];
  blocked = false;
  everSlow = false;
  readonly live: number[] = [];
  gaps = 0;
  gone = false;
  get full(): boolean {
    return this.blocked;
  }
  send(bytes: Buffer): void {
    this.everSlow ||= this.slow;
    for (const line of bytes.toString().trim().split('\n')) {
      const [prev, seq] = line.split('>').map(Number);
      this.sent.push({ prev: prev!, seq: seq! });
    }
  }
  caughtUp(): void {
    this.live.push(this.scanned);
  }
  missed(): void {
    this.gaps += 1;
  }
  tooSlow(): void {
    this.gone = true;
  }
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const settled = (hub: Hub, readers: readonly Puppet[]) =>
  until('everybody live', () => hub.counters().lag === 0 && readers.every((r) => r.mode === 'live'), {
    every: 1,
  });

const NAMES = ['presence', 'presence/1', 'presence/2', 'queues', 'queues/a', 'queues/b', 'agents'];
const subscription = fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 4 });
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      what: fc.array(fc.nat(5), { minLength: 1, maxLength: 40 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('join' as const), names: subscription, back: fc.nat(400) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('block' as const), who: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('unblock' as const), who: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), who: fc.nat(20) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
);
const EVENTS = [
  () => presence('1'),
  () => presence('2'),
  () => offer('a', '1'),
  () => offer('b', '1'),
  () => offer('c', '1'),
  linkDown,
];
function rowsFor(journal: Journal, names: readonly string[], after: number) {
  const heard = new Set([...names, EVERYONE]);
  return journal
    .read(after, 1_000_000)
    .filter((row) => row.topics.split(' ').some((name) => heard.has(name)));
}

test('hub - whoever joins, blocks and leaves whenever: each has each of its facts once, in order, and the last state', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 60 }),
      fc.constantFrom(0, 8),
      async (steps, turnMs) => {
        const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
        journal.append(Array.from({ length: 300 }, (_, i) => EVENTS[i % 6]!()));
        const hub = new Hub({ journal, log: silent, turnMs });
        const here: { reader: Puppet; names: readonly string[]; from: number }[] = [];
        const one = (who: number) => here[who % Math.max(1, here.length)]?.reader;
        for (const now of steps) {
          switch (now.do) {
            case 'commit':
              journal.append(now.what.map((kind) => EVENTS[kind]!()));
              hub.committed();
              break;
            case 'join': {
              const reader = new Puppet();
              const from = Math.max(0, journal.head - now.back);
              here.push({ reader, names: now.names, from });
              hub.attach(reader, [...now.names, EVERYONE], from, from);
              break;
            }
            case 'block': {
              const reader = one(now.who);
              if (reader !== undefined) reader.blocked = true;
              break;
            }
            case 'unblock': {
              const reader = one(now.who);
              if (reader === undefined) break;
              reader.blocked = false;
              hub.takes(reader);
              break;
            }
            case 'leave': {
              const left = here.splice(now.who % Math.max(1, here.length), 1)[0];
              if (left !== undefined) hub.leave(left.reader);
              break;
            }
            case 'turn':
              await turn();
          }
        }
        for (const { reader } of here) {
          reader.blocked = false;
          hub.takes(reader);
        }
        await settled(
          hub,
          here.map(({ reader }) => reader),
        );
        for (const { reader, names, from } of here) {
          const wanted = rowsFor(journal, names, from);
          const got = reader.sent.map(({ seq }) => seq);
          assert.deepEqual(
            reader.sent.map(({ prev }) => prev),
            [from, ...got].slice(0, got.length),
          );
          if (!reader.everSlow)
            assert.deepEqual(
              got,
              wanted.map((row) => row.seq),
            );
          else {
            const sent = new Set(got);
            assert.deepEqual(
              got,
              wanted.map((row) => row.seq).filter((seq) => sent.has(seq)),
            );
            const newest = new Map(wanted.map((row) => [`${row.type} ${row.subject}`, row.seq]));
            for (const row of wanted) {
              const last = newest.get(`${row.type} ${row.subject}`);
              if (!isStateType(row.type) || last === row.seq)
                assert.ok(sent.has(row.seq), `${row.type} ${row.seq}`);
            }
          }
          assert.equal(hub.positionOf(reader), journal.head);
          assert.equal(reader.gaps, 0);
          hub.leave(reader);
        }
        assert.equal(hub.counters().audiences, 0, 'nothing is left behind');
        hub.close();
      },
    ),
    { numRuns: 100, endOnFailure: true },
  );
});

test('hub - while new topics catch up, the others keep their place and the safe cursor waits', async () => {
  const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
  const hub = new Hub({ journal, log: silent });
  journal.append(Array.from({ length: 2_000 }, (_, i) => (i % 2 === 0 ? offer('a', '1') : presence('1'))));
  class Shy extends Puppet {
    override send(bytes: Buffer): void {
      super.send(bytes);
      this.blocked = this.sent.length < 500;
    }
  }
  const reader = new Shy();
  assert.equal(hub.attach(reader, ['queues', EVERYONE], 2_000, 2_000), true);
  const had = new Map([
    ['queues', 0],
    [EVERYONE, 0],
  ]);
  reader.backlog = { at: 0, to: 2_000, only: new Set(['presence']), had };
  assert.equal(hub.attach(reader, ['presence', 'queues', EVERYONE], 2_000, 2_000), false);
  await until('a part of it', () => reader.blocked, { every: 0 });
  assert.equal(hub.positionOf(reader), 2_000);
  const safe = hub.safeCursorOf(reader);
  assert.ok(safe > 0 && safe < 2_000);
  assert.equal(reader.sent.at(-1)?.seq, safe);
  journal.append([offer('a', '1')]);
  hub.committed();
  reader.blocked = false;
  hub.takes(reader);
  await settled(hub, [reader]);
  assert.deepEqual(
    reader.sent.map(({ seq }) => seq),
    [...Array.from({ length: 1_000 }, (_, i) => 2 * i + 2), 2_001],
  );
  assert.equal(hub.safeCursorOf(reader), 2_001);
  hub.close();
});

test('hub - readers of the same names share one piece of bytes, whatever place they began at', async () => {
  const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
  const hub = new Hub({ journal, log: silent });
  let framed = 0;
  const framing: Framing = { ...LINES, event: (...args) => ((framed += 1), LINES.event(...args)) };
  class Shared extends Puppet {
    override readonly framing = framing;
    readonly pieces: Buffer[] = [];
    override send(bytes: Buffer): void {
      super.send(bytes);
      this.pieces.push(bytes);
    }
  }
  const readers: Shared[] = [];
  for (let i = 0; i < 200; i += 1) {
    const reader = new Shared();
    readers.push(reader);
    hub.attach(reader, ['queues', EVERYONE], journal.head, journal.head);
    if (i % 50 === 0) journal.append([presence('1')]);
  }
  hub.committed();
  await turn();
  assert.equal(framed, 0);
  journal.append([offer('a', '1'), offer('a', '1')]);
  hub.committed();
  await settled(hub, readers);
  assert.ok(framed <= 6, `${framed} frames for 2 events at 5 places`);
  journal.append([offer('a', '1')]);
  hub.committed();
  await settled(hub, readers);
  assert.equal(new Set(readers.map((reader) => reader.pieces.at(-1))).size, 1);
  hub.close();
});

test('hub - readers of other names that receive the same event share one piece of bytes', async () => {
  const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
  const hub = new Hub({ journal, log: silent });
  const pieces: Buffer[] = [];
  class Shared extends Puppet {
    override send(bytes: Buffer): void {
      super.send(bytes);
      pieces.push(bytes);
    }
  }
  const readers = Array.from({ length: 20 }, () => new Shared());
  readers.forEach((reader, i) => hub.attach(reader, [`presence/${i}`, 'queues/a', EVERYONE], 0, 0));
  journal.append([offer('a', '1'), offer('b', '1'), presence('3')]);
  hub.committed();
  await settled(hub, readers);
  assert.equal(hub.counters().audiences, 20);
  // The one that receives the presence too has bytes of its own.
  assert.equal(pieces.length, 20);
  assert.equal(new Set(pieces).size, 2);
  assert.deepEqual(
    readers.slice(2, 5).map(({ sent }) => sent.map(({ seq }) => seq)),
    [[1], [1, 3], [1]],
  );
  hub.close();
});

test('hub - a reader that takes nothing is given up at a mebibyte of facts, and not for states', async () => {
  const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
  // A clock that stands: a slow machine has no pauses between the turns that are counted.
  const hub = new Hub({ journal, log: silent, now: () => 0 });
  const [facts, states, good] = [new Puppet(), new Puppet(), new Puppet()];
  hub.attach(facts, ['queues', EVERYONE], 0, 0);
  hub.attach(states, ['presence', EVERYONE], 0, 0);
  hub.attach(good, ['queues', EVERYONE], 0, 0);
  facts.blocked = true;
  states.blocked = true;
  const note = 'x'.repeat(10_000);
  for (let i = 0; !facts.gone; i += 1) {
    assert.ok(i < 130, 'more than a mebibyte waits');
    journal.append([offer('a', '1', note), presence('1', note)]);
    hub.committed();
    await turn();
    if (i < 100) assert.equal(facts.gone, false, `given up at ${i * 10_000} bytes`);
  }
  await settled(hub, [good]);
  assert.equal(good.sent.length, journal.head / 2);
  for (let i = 0; i < 300; i += 1) journal.append([presence('1', note)]);
  hub.committed();
  await turn();
  assert.equal(states.gone, false);
  states.blocked = false;
  hub.takes(states);
  await settled(hub, [states]);
  assert.ok(states.sent.length < 5, `${states.sent.length} of the same state were sent`);
  assert.equal(states.sent.at(-1)?.seq, journal.head);
  assert.equal(hub.counters().tooSlow, 1);
  hub.close();
});

test('hub - idle readers do not make a commit more expensive: it costs its receivers only', async () => {
  const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
  const hub = new Hub({ journal, log: silent });
  let looks = 0;
  for (let i = 0; i < 20_000; i += 1) {
    const idle = new Puppet();
    hub.attach(idle, [`queues/q${i}`, EVERYONE], 0, 0);
    const { live, behind } = idle.audience!;
    for (const [name, readers] of Object.entries({ live, behind }))
      Object.defineProperty(idle.audience!, name, { get: () => ((looks += 1), readers) });
  }
  const reader = new Puppet();
  hub.attach(reader, ['queues/a', EVERYONE], 0, 0);
  for (let i = 0; i < 500; i += 1) {
    journal.append([offer('a', '1')]);
    hub.committed();
    await turn();
  }
  await settled(hub, [reader]);
  assert.equal(reader.sent.length, 500);
  assert.equal(looks, 0, 'readers of other names were looked at');
  hub.close();
});

/** A hub whose clock moves 5 ms with each write. */
function slowHub() {
  const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
  const clock = { time: 1_000, writes: 0 };
  const hub = new Hub({ journal, log: silent, now: () => clock.time });
  class Slow extends Puppet {
    override send(bytes: Buffer): void {
      super.send(bytes);
      clock.writes += 1;
      clock.time += 5;
    }
  }
  const commit = async (...events: DomainEvent[]): Promise<void> => {
    journal.append(events);
    hub.committed();
    await turn();
  };
  return { hub, clock, commit, reader: () => new Slow() };
}

test('hub - after a round that took long the next one waits, so that its readers are written more events at once', async () => {
  const { hub, clock, commit, reader } = slowHub();
  const readers = [reader(), reader()];
  for (const one of readers) hub.attach(one, ['queues', EVERYONE], 0, 0);
  // Rounds with a time between them are no lasting load.
  for (let n = 0; n < 10; n += 1) {
    await commit(offer('a', '1'));
    clock.time += 11;
  }
  assert.equal(clock.writes, 20);
  for (let n = 0; n < 5; n += 1) await commit(offer('a', '1'));
  assert.equal(clock.writes, 30, 'the first rounds in a row wait for nothing');
  for (let n = 0; n < 10; n += 1) await commit(offer('a', '1'));
  assert.equal(clock.writes, 30, 'the clock has not moved since');
  clock.time += 39;
  await commit(offer('a', '1'));
  assert.equal(clock.writes, 30, 'four times the work are not over');
  clock.time += 1;
  await settled(hub, readers);
  assert.equal(clock.writes, 32, 'eleven events, one write for each reader');
  assert.equal(readers[0]!.sent.length, 26);
  clock.time += 1_000;
  await commit(offer('a', '1'));
  assert.equal(clock.writes, 34, 'after the pause an event waits for nothing');
  hub.close();
});

test('hub - pauses after which the rounds have hardly more events end for a time', async () => {
  const { hub, clock, commit, reader } = slowHub();
  const readers = [reader(), reader()];
  for (const one of readers) hub.attach(one, ['queues', EVERYONE], 0, 0);
  // Each commit waits for the round before, as the engine does for clients that react to an event.
  const pauses: number[] = [];
  for (let n = 0; n < 150; n += 1) {
    const { writes } = clock;
    await commit(...Array.from({ length: 10 }, () => offer('a', '1')));
    if (clock.writes > writes) continue;
    pauses.push(n);
    clock.time += 50;
    await settled(hub, readers);
  }
  assert.deepEqual(pauses, [5, 6, 7, 8, 141, 142, 143, 144]);
  hub.close();
});

test('hub - rounds for different readers follow without a pause, and so does the rest of a page', async () => {
  const { hub, clock, commit, reader } = slowHub();
  const [one, other] = [reader(), reader()];
  hub.attach(one, ['queues/a', EVERYONE], 0, 0);
  hub.attach(other, ['queues/b', EVERYONE], 0, 0);
  for (let n = 1; n <= 6; n += 1) {
    await commit(offer(n % 2 === 0 ? 'a' : 'b', '1'));
    assert.equal(clock.writes, n);
  }
  clock.time += 1_000;
  await commit(...Array.from({ length: 1_400 }, () => offer('a', '1')));
  while (hub.counters().lag > 0) await turn();
  assert.equal(one.sent.length, 3 + 1_400, 'three pages in a row');
  hub.close();
});
