import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock as clock } from '../core/clock.ts';
import type { Directory } from '../ports/directory.ts';
import type { Caller } from '../ports/http.ts';
import type { Credentials } from '../ports/stream.ts';
import { Client } from './client.ts';
import { Clients } from './clients.ts';
import { WEBSOCKET } from './stream-frames.ts';
import type { Hub } from './hub.ts';

const nothing = () => () => {};
const caller = {
  person_id: 1,
  key: null,
  level: 'agent',
  extension: '',
  expires_at: Infinity,
} as never as Caller;

/** Counts its heartbeats. */
class Quiet extends Client {
  readonly #beaten: (time: string) => void;
  talks = false;
  full = false;
  constructor(beaten: () => void) {
    super(WEBSOCKET, caller, null);
    this.#beaten = beaten;
  }
  get unsent(): number {
    return 0;
  }
  heartbeat(_scanned: number, time: string): void {
    this.#beaten(time);
  }
  send(): void {}
  rightsChanged(): void {}
  end(): void {}
  restart(): void {}
  vanish(): void {}
  tooSlow(): void {}
  missed(): void {}
  caughtUp(): void {}
}

const DIRECTORY = { onChange: nothing, queuesOf: () => [] } as never as Directory;
const clientsOf = (heartbeatMs: number, directory = DIRECTORY): Clients =>
  new Clients({
    hub: { safeCursorOf: () => 1, leave: () => {} } as never as Hub,
    directory,
    credentials: { onSessionEnded: nothing, onKeyEnded: nothing } as never as Credentials,
    clock,
    heartbeatMs,
    perPerson: 1_000,
  });

test('delivery/clients - heartbeats of many clients are spread over the interval, one for each in it', async () => {
  const clients = clientsOf(1_500);
  const many = 300;
  const beats = new Map<number, number>();
  const all = Promise.withResolvers<void>();
  let inTurn = 0;
  let most = 0;
  const beaten = (i: number): void => {
    if (inTurn === 0) queueMicrotask(() => (inTurn = 0));
    most = Math.max(most, (inTurn += 1));
    beats.set(i, (beats.get(i) ?? 0) + 1);
    if (beats.size === many) all.resolve();
  };
  for (let i = 0; i < many; i += 1) clients.add(new Quiet(() => beaten(i)));
  // The process can end while only the timer of the clients is active.
  const alive = setInterval(() => {}, 1_000);
  try {
    await all.promise;
  } finally {
    clearInterval(alive);
    clients.close();
  }
  assert.deepEqual(new Set(beats.values()), new Set([1]));
  assert.equal(most, 2, 'heartbeats in one turn of the event loop');
});

test('delivery/clients - whose unsent bytes stay for two heartbeats is too slow, and only those bytes are looked at', async () => {
  const clients = clientsOf(150);
  const stuck = Promise.withResolvers<void>();
  class Slow extends Quiet {
    override get unsent(): number {
      return 100;
    }
    override tooSlow(): void {
      clients.remove(this);
      stuck.resolve();
    }
  }
  class Moving extends Quiet {
    #left = 10_000;
    override get unsent(): number {
      return (this.#left -= 1);
    }
    override tooSlow(): void {
      assert.fail('a client that takes bytes is not too slow');
    }
  }
  class Large extends Quiet {
    override get unsent(): number {
      return 100 * 65_536;
    }
    override tooSlow(): void {
      assert.fail('a large frame takes a slow client longer than two heartbeats');
    }
  }
  class Idle extends Quiet {
    override get unsent(): number {
      return assert.fail('the bytes of an idle client were looked at');
    }
  }
  const began = performance.now();
  for (const client of [new Large(() => {}), new Slow(() => {}), new Moving(() => {}), new Idle(() => {})]) {
    client.waits = !(client instanceof Idle);
    clients.add(client);
  }
  const alive = setInterval(() => {}, 1_000);
  try {
    await stuck.promise;
  } finally {
    clearInterval(alive);
    clients.close();
  }
  assert.ok(performance.now() - began >= 300);
});

test('delivery/clients - an open stream gets the new name of its person', (t) => {
  let onChange = (): void => {};
  const person = { id: 1, level: 'agent', extension: '', username: 'zoe', active: true };
  const directory = {
    version: 1,
    people: () => [{ ...person }],
    queuesOf: () => [],
    onChange: (listener: () => void) => ((onChange = listener), () => {}),
  };
  const clients = clientsOf(1_500, directory as never as Directory);
  t.after(() => clients.close());
  const client = new Quiet(() => {});
  clients.add(client);
  person.username = 'zoë';
  directory.version += 1;
  onChange();
  assert.equal(client.caller.username, 'zoë');
});
