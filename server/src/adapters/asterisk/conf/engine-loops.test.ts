/** Calls that are led in a circle over two engines of a site. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Site } from '../../../ports/site.ts';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { freePort } from '../../../../test/support/ports.ts';
import { PASSWORD, company, queue } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';
import { siteAt } from './engine-trunks.ts';

const at = {
  a: { node: 'a', host: '127.0.0.2', port: await freePort() },
  b: { node: 'b', host: '127.0.0.3', port: await freePort() },
};
/** A queue without agents, whose callers go on to the other one at once. */
const passing = (name: string, number: string, key: string) => ({
  ...queue({ name, number, join_when_empty: false, otherwise: { kind: 'queue', key } }),
  engine: name === 'far' ? 'b' : null,
});
const configured = (): Site => {
  const whole = company({
    engines: [at.b],
    queues: [passing('near', '500', 'far'), passing('far', '510', 'near')],
  });
  return {
    ...whole,
    extensions: whole.extensions.map((e) => ({
      ...e,
      voicemail: false,
      engine: e.extension === '1002' ? 'b' : null,
    })),
  };
};

const stack = new AsyncDisposableStack();
let engines: Readonly<Record<'a' | 'b', TestEngine>>;
let caller: Phone;
before(async () => {
  const start = (own: 'a' | 'b'): Promise<TestEngine> =>
    startTestEngine(siteAt(configured(), own === 'a' ? null : own, at.a), {
      ...at[own],
      engine_secret: 'a-secret-of-the-engines-0',
    });
  const a = stack.use(await start('a'));
  const b = stack.use(await start('b'));
  engines = { a, b };
  caller = stack.use(await registerPhone({ server: a.server, extension: '1005', password: PASSWORD }));
  await until('the trunk between the engines', async () =>
    (await Promise.all([a, b].map((one) => one.cli('pjsip show contacts')))).every((text) =>
      /Contact: +engine-\S+ +\S+ Avail /.test(text),
    ),
  );
});
after(() => stack.disposeAsync());

/** Dials, and returns the most channels that the engine had until the end; hangs up at more than `limit`. */
async function channelsOf(number: string, limit: number): Promise<number> {
  const call = await caller.invite(number);
  let most = 0;
  await until('the end of the call', async () => {
    const shown = await engines.a.cli('core show channels count');
    most = Math.max(most, Number(/^(\d+) active channel/m.exec(shown)?.[1] ?? 0));
    if (most > limit) await call.hangup();
    return call.state === 'ended';
  });
  await engines.a.idle();
  return most;
}

test('conf/engine-loops - people of two engines who forward to each other are an unanswered call', async () => {
  await engines.a.cli('database put offhook/1001 forward 1002');
  await engines.b.cli('database put offhook/1002 forward 1001');
  const most = await channelsOf('1001', 30);
  assert.ok(most <= 12, `${most} channels`);
});

test('conf/engine-loops - queues of two engines that overflow into each other end the call', async () => {
  // A hundred destinations, half of them here, each with a channel in and one out.
  const most = await channelsOf('500', 150);
  assert.ok(most <= 104, `${most} channels`);
});
