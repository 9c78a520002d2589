/** Systems that store times without a time zone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openForTest, startSystem } from '../../../../test/support/connector-rig.ts';
import type { SystemAnswer } from '../../../../test/support/connector-rig.ts';
import { loadConnector } from './load.ts';
import { SAMPLE_CALL } from './verbs.ts';

const ZONE = "zone: { get: /zone, name: '{{ answer.zone }}' }\n";
const file = (zone = ZONE): string => `connector: 1
name: Local times
settings: { address: { text: Address, url: true } }
base: '{{ set.address }}'
${zone}check: { get: / }
entry:
  once: own_id
  create:
    post: /entries
    body: &entry { at: '{{ local(call.started_at, zone) }}', until: '{{ local(call.ended_at, zone) }}' }
    id: '{{ call.id }}'
  update: { put: '/entries/{{ entry.id }}', body: *entry }
`;

test('connectors - the times of an entry are those of the zone of the system, in summer and winter, and the zone is asked once a day', async (t) => {
  let zone: string | null = 'Europe/Berlin';
  let status = 200;
  const system = await startSystem(t, ({ path }) =>
    path === '/zone' ? { status, json: { zone } } : { json: {} },
  );
  const { session, clock, signal } = openForTest(t, file(), { address: system.url });
  const entry = session.entry!;
  const subject = (started_at: string, ended_at: string) => ({
    call: { ...SAMPLE_CALL, started_at, ended_at },
  });
  const written = (): unknown => JSON.parse(system.asked.at(-1)!.body);
  await entry.create(subject('2026-07-01T21:59:59.900Z', '2026-07-01T22:00:00.000Z'), signal);
  assert.deepEqual(written(), { at: '2026-07-01 23:59:59', until: '2026-07-02 00:00:00' });
  await entry.update('1', subject('2026-12-31T23:30:00.000Z', ''), signal);
  assert.deepEqual(written(), { at: '2027-01-01 00:30:00' });
  const asked = () => system.asked.filter(({ path }) => path === '/zone').length;
  assert.equal(asked(), 1);
  zone = 'Asia/Kolkata';
  await clock.advance(86_400_000);
  await entry.update('1', subject('2026-12-31T23:30:00.000Z', ''), signal);
  assert.deepEqual([written(), asked()], [{ at: '2027-01-01 05:00:00' }, 2]);

  await clock.advance(86_400_000);
  const sent = system.asked.filter(({ path }) => path !== '/zone').length;
  status = 500;
  const failed = await entry.create(subject('', ''), signal);
  assert.equal(failed.kind, 'unsent', 'nothing was written');
  status = 200;
  assert.equal(system.asked.filter(({ path }) => path !== '/zone').length, sent);
  zone = null;
  await entry.update('1', subject('2026-12-31T23:30:00.000Z', ''), signal);
  assert.deepEqual(written(), { at: '2027-01-01 05:00:00' }, 'the zone that the system named last');
});

test('connectors - entries have the times of the site where the system does not name its zone, which is logged once', async (t) => {
  let answer: SystemAnswer = { status: 404, json: { message: 'no such method' } };
  const system = await startSystem(t, ({ path }) => (path === '/zone' ? answer : { json: {} }));
  const { session, clock, warned, signal } = openForTest(t, file(), { address: system.url });
  const call = { ...SAMPLE_CALL, started_at: '2026-12-31T23:30:00.000Z', ended_at: '' };
  const written = async (): Promise<unknown> => {
    await session.entry!.create({ call }, signal);
    return JSON.parse(system.asked.at(-1)!.body);
  };
  const asked = () => system.asked.filter(({ path }) => path === '/zone').length;
  for (const _ of [1, 2]) assert.deepEqual(await written(), { at: '2027-01-01 02:30:00' });
  assert.equal(asked(), 1);
  answer = { json: { zone: 'Europe/Nowhere' } };
  await clock.advance(3_600_000);
  assert.deepEqual([await written(), asked()], [{ at: '2027-01-01 02:30:00' }, 2]);
  assert.deepEqual(warned, [
    'a system does not name its time zone (no such method): its entries have the times of Europe/Istanbul',
  ]);
  answer = { json: { zone: 'Asia/Kolkata' } };
  await clock.advance(3_600_000);
  assert.deepEqual(await written(), { at: '2027-01-01 05:00:00' });
});

test('connectors - a file that reads the zone without asking for it is refused when it is loaded', () => {
  const [finding] = loadConnector(file('')).findings;
  assert.deepEqual([finding?.path, finding?.rule], ['entry.create.body.at', 'expression_name']);
});
