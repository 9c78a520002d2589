import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Readiness } from '@offhook/contract/health.ts';
import { TrunkChange, TrunksReply } from '@offhook/contract/trunks.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { eventsOf } from '../support/call-steps.ts';
import { prepareDemo } from '../support/company.ts';
import { farAddress, silence } from '../support/far-address.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const NORTH = await farAddress('127.0.0.2');
const LOCKED = await farAddress('127.0.0.3');

describe('trunk events', () => {
  const site = useSite({
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        trunk: [
          { name: 'north', title: 'North', ...NORTH },
          {
            name: 'locked',
            title: 'Locked',
            ...LOCKED,
            username: 'office',
            password: 'not-the-right-one',
            register: true,
          },
        ],
      });
    }),
  });
  const admin = async (path: string): Promise<Response> =>
    fetch(`${site().base}${path}`, {
      headers: { authorization: `Bearer ${(await site().person('1001')).token}` },
    });
  /** Type, state, reason and origin of each event of a trunk. */
  const published = (name: string): string[] =>
    eventsOf(site(), 'trunk.up', 'trunk.down')
      .filter(({ data }) => data['trunk'] === name)
      .map(({ type, data, observed }) => {
        const { state, reason } = TrunkChange.parse(data);
        return [type, state, reason ?? '-', observed].join(' ');
      });
  const shows = async (name: string) =>
    TrunksReply.parse(await (await admin('/api/v1/trunks')).json()).trunks.find((t) => t.name === name)!;
  const check = async () => {
    const { checks, details } = Readiness.parse(await (await admin('/readyz')).json());
    return [checks['trunks'], details?.['trunks'] ?? ''] as const;
  };
  /** Sends OPTIONS without waiting for the regular ones, and waits for the engine's own view. */
  const asked = async (trunk: string, word: 'Avail' | 'Unavail'): Promise<void> => {
    await site().engineCli(`pjsip qualify ${trunk}`);
    await until(`the engine shows ${trunk} as ${word}`, async () =>
      new RegExp(`${trunk}/sip:.* ${word} `).test(await site().engineCli('pjsip show contacts')),
    );
  };
  /** After its start the engine waits up to 20 s for the first OPTIONS and some for the first REGISTER; these are sent now. */
  const known = async (): Promise<void> => {
    for (const line of [
      'pjsip qualify trunk-north',
      'pjsip qualify trunk-locked',
      'pjsip send register trunk-locked',
    ])
      await site().engineCli(line);
    await until(
      'both trunks have their states',
      () => published('north').length > 0 && last('locked').endsWith(' registration_failed'),
    );
  };
  const last = (name: string): string => published(name).at(-1)?.split(' ').slice(0, 3).join(' ') ?? '';

  test('start - an answering trunk is up, one whose registration is refused is down and names it', async () => {
    await known();
    await until('the state of north', () => last('north') === 'trunk.up reachable -');
    // Its OPTIONS may be answered before its registration is refused.
    await until('the state of locked', () => last('locked') === 'trunk.down rejected registration_failed');
    const [north, locked] = [await shows('north'), await shows('locked')];
    assert.deepEqual([north.state, north.reason, north.reachable], ['reachable', null, true]);
    assert.ok(north.round_trip_ms !== null && north.round_trip_ms > 0);
    assert.deepEqual([locked.state, locked.reachable], ['rejected', true]);
    const [state, detail] = await check();
    assert.notEqual(state, 'ok');
    assert.match(detail, /^registration failed: Locked, since \S+$/);
    assert.equal((await admin('/readyz')).status, 200);
  });

  test('down and up - a far side that dies and comes back is two events, with check and metric', async () => {
    await known();
    const before = published('north').length;
    const away = silence(NORTH);
    await asked('trunk-north', 'Unavail');
    await until('the event of the end', () => published('north').length === before + 1);
    assert.equal(last('north'), 'trunk.down unreachable no_answer');
    assert.match((await check())[1], /no answer: North, since/);
    const figures = await (await admin('/metrics')).text();
    assert.match(figures, /^offhook_trunk_up\{trunk="north"\} 0$/m);
    assert.match(figures, /^offhook_extensions\{reachability="offline"\} \d+$/m);
    away.speak();
    await asked('trunk-north', 'Avail');
    await until('the event of the return', () => published('north').length === before + 2);
    assert.equal(last('north'), 'trunk.up reachable -');
    assert.match(await (await admin('/metrics')).text(), /^offhook_trunk_up\{trunk="north"\} 1$/m);
  });

  test('absence - what ended while the service was killed is one event of a resync after its start', async () => {
    await known();
    const before = { north: published('north').length, locked: published('locked') };
    await site().kill('SIGKILL');
    const away = silence(NORTH);
    await asked('trunk-north', 'Unavail');
    await site().start();
    await until('the missed event', () => published('north').length > before.north);
    assert.equal(published('north').at(-1), 'trunk.down unreachable no_answer resync');
    const { since } = await shows('north');
    await site().kill('SIGKILL');
    await site().start();
    await until('the same state after another start', async () => (await shows('north')).state !== null);
    assert.equal((await shows('north')).since, since);
    assert.equal(published('north').length, before.north + 1, 'nothing new, no event');
    assert.deepEqual(published('locked'), before.locked);
    away.speak();
  });
});
