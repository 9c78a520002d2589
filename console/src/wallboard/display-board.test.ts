import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OffhookError } from '@offhook/client';
import type { Client } from '@offhook/client';
import { followBoard } from './display-board.ts';
import type { Look } from './display-board.ts';

const page = new EventTarget();
Object.assign(globalThis, {
  addEventListener: page.addEventListener.bind(page),
  removeEventListener: page.removeEventListener.bind(page),
});
/** setImmediate is not mocked. */
const settled = (): Promise<void> => new Promise<void>((resolve) => setImmediate(resolve));

/** A display whose requests the test answers. */
function display() {
  const asked: PromiseWithResolvers<{ name: string }>[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  const client = {
    ping: () => Promise.resolve({ server_time: 0, version: '1' }),
    boards: {
      get: async (_id: number, signal?: AbortSignal) => {
        const answer = Promise.withResolvers<{ name: string }>();
        asked.push(answer);
        signals.push(signal);
        return { board: { version: asked.length, ...(await answer.promise) } };
      },
    },
  } as unknown as Client;
  let look: Look = { board: null, is: 'asking' };
  const stop = followBoard(client, 1, (next) => {
    look = next(look);
  });
  return { asked, signals, stop, shown: () => `${look.is} ${look.board?.name ?? '-'}` };
}

test('display - only the newest request for the board counts and plans the next one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { asked, signals, stop, shown } = display();
  await settled();
  for (const name of ['online', 'offhook-look']) page.dispatchEvent(new Event(name));
  await settled();
  assert.equal(asked.length, 3);
  assert.deepEqual(
    signals.map((signal) => signal?.aborted),
    [true, true, false],
  );
  asked[2]!.resolve({ name: 'newest' });
  await settled();
  asked[0]!.resolve({ name: 'oldest' });
  asked[1]!.reject(new Error('no answer'));
  await settled();
  assert.equal(shown(), 'shown newest');
  for (let n = 4; n < 7; n += 1) {
    t.mock.timers.tick(30_000);
    await settled();
    assert.equal(asked.length, n, 'one request in each interval');
    asked[n - 1]!.resolve({ name: `reload ${n}` });
    await settled();
    assert.equal(shown(), `shown reload ${n}`);
  }
  stop();
  page.dispatchEvent(new Event('online'));
  t.mock.timers.tick(60_000);
  await settled();
  assert.equal(asked.length, 6);
});

test('display - a failure is repeated after five seconds and keeps the board; a refused key has none', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { asked, stop, shown } = display();
  await settled();
  asked[0]!.resolve({ name: 'hall' });
  await settled();
  t.mock.timers.tick(30_000);
  await settled();
  asked[1]!.reject(new TypeError('no network'));
  await settled();
  assert.equal(shown(), 'away hall');
  t.mock.timers.tick(5_000);
  await settled();
  asked[2]!.reject(new OffhookError(401, null, null));
  await settled();
  assert.equal(shown(), 'refused -');
  t.mock.timers.tick(30_000);
  await settled();
  asked[3]!.resolve({ name: 'hall' });
  await settled();
  assert.equal(shown(), 'shown hall');
  stop();
});
