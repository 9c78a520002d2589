import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { readJournal, wholeJournal } from '../support/journal.ts';
import type { Site } from '../support/site.ts';
import { comesInEngine, finishedCalls, freeze, gist, shows, statusIs } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const stale = (person: Person, wanted: boolean): Promise<unknown> =>
  until(`stale ${wanted}`, async () => (await person.contacts()).stale === wanted);
/** The service noticed that the engine is gone, and follows the next one; a reader may be too slow to see it stale between. */
async function lostAndBack(site: Site, since: number): Promise<void> {
  for (const type of ['engine.link_down', 'engine.resynced'])
    await until(type, () => readJournal(site).some((e) => e.seq > since && e.type === type));
}
const head = (site: Site): number => readJournal(site).at(-1)?.seq ?? 0;
const unavailable = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 503 || error.status === 504);

describe('engine faults', () => {
  const site = useSite();

  test('engine faults - killed: reported lost, restarted, pause and membership as before, its call ended once', async () => {
    const [zoe, jose] = [await site().person('1003'), await site().person('1004')];
    const [olha, nour] = [await site().person('1008'), await site().person('1009')];
    await zoe.agent('pause', { reason: 'lunch' });
    await jose.agent('logout', { queue: 'sales' });
    await using a = await site().phone('1008');
    await using b = await site().phone('1009');
    const call = await a.invite('1009');
    const incoming = await b.incoming();
    incoming.ring();
    await incoming.answer();
    await call.answered();
    await shows(olha, '1009', 'busy', 'in_call');

    const pid = site().enginePid()!;
    const before = head(site());
    process.kill(pid, 'SIGKILL');
    await lostAndBack(site(), before);
    await stale(zoe, false);
    assert.notEqual(site().enginePid(), pid);
    await Promise.all([a.register(), b.register()]);
    await Promise.all(['1008', '1009'].map((who) => shows(olha, who, 'online', 'idle')));

    await comesInEngine(site(), 'support', '1003', /paused:lunch/);
    await comesInEngine(site(), 'sales', '1003', /paused:lunch/);
    await statusIs(zoe, 'PAUSED', 'lunch');
    await until('1004 to be in support alone, as before', async () => {
      const { queues } = (await jose.agent('get_queues')).agent;
      return queues.flatMap((q) => (q.member ? q.queue : [])).join() === 'support';
    });

    const [row] = await finishedCalls(olha, 1);
    assert.equal(gist(row!), 'out 1009 ANSWERED -');
    assert.equal((await finishedCalls(nour, 1))[0]!.direction, 'in');
    await wholeJournal(site());
    assert.ok(
      readJournal(site()).some((e) => e.type === 'call.ended' && e.data['reason'] === 'engine_lost'),
      'the journal says how the call ended',
    );
  });

  test('engine faults - stopped for 12 s: stale meanwhile, actions fail, and the call continues', async () => {
    const [zoe, olha] = [await site().person('1003'), await site().person('1010')];
    await using a = await site().phone('1010');
    await using b = await site().phone('1011');
    const call = await a.invite('1011');
    const incoming = await b.incoming();
    incoming.ring();
    await incoming.answer();
    await call.answered();
    await zoe.agent('pause', { reason: 'lunch' });
    const before = 'lunch';
    const pid = site().enginePid()!;
    await freeze(pid);
    const stopped = Date.now();
    try {
      await assert.rejects(zoe.agent('pause', { reason: 'training' }), unavailable);
      await stale(zoe, true);
      await assert.rejects(zoe.agent('unpause'), unavailable);
      await until('twelve seconds of a stopped engine', () => Date.now() - stopped > 12_000, {
        every: 200,
      });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await stale(zoe, false);
    assert.equal(site().enginePid(), pid, 'a stopped engine is not killed: its calls go on');
    // A failed action must not take effect: the engine performs it when it continues, and gets the reverse command right
    // after.
    await statusIs(zoe, null, before);
    await comesInEngine(site(), 'support', '1003', new RegExp(`paused:${before}`));
    call.play('tone');
    await incoming.hears(20);
    await shows(olha, '1011', 'busy', 'in_call');
    await call.hangup();
    await finishedCalls(olha, 1);
    await wholeJournal(site());
  });

  test('engine faults - restarted from its own console: stale, then recovered, agents as before', async () => {
    const zoe = await site().person('1003');
    await statusIs(zoe, 'PAUSED', 'lunch');
    const boots = () => readJournal(site()).filter((e) => e.type === 'engine.resynced').length;
    const before = boots();
    await site()
      .engineCli('core restart now')
      .catch(() => '');
    await until('a resync after the restart', () => boots() > before);
    await stale(zoe, false);
    await comesInEngine(site(), 'support', '1003', /paused:lunch/);
    await statusIs(zoe, 'PAUSED', 'lunch');
    assert.equal((await zoe.agent('unpause')).is_paused, false);
    await wholeJournal(site());
  });

  test('engine faults - killed right after a pause was confirmed: the pause stays', async () => {
    const lan = await site().person('1006');
    await lan.agent('pause', { reason: 'back_office' });
    const before = head(site());
    process.kill(site().enginePid()!, 'SIGKILL');
    await lostAndBack(site(), before);
    await stale(lan, false);
    await comesInEngine(site(), 'support', '1006', /paused:back_office/);
    await comesInEngine(site(), 'sales', '1006', /paused:back_office/);
    await statusIs(lan, 'PAUSED', 'back_office');
  });
});
