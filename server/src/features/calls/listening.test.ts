import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlacedCall } from '../../ports/engine-verbs.ts';
import { callsRig } from '../../../test/support/calls-rig.ts';
import { fixtureAuthenticator } from '../../../test/support/host-fixture.ts';
import { chan } from '../../../test/support/model-scene.ts';
import { until } from '../../../test/support/until.ts';

const PERSON = 'token-agent';
const BOSS = 'token-supervisor';

test('calls - with the site’s confirmation on, listening needs a fresh one, by REST and by command', async (t) => {
  const confirmed = new Set<number>();
  const rig = await callsRig(t, {
    keys: { all: { scopes: ['calls:control'] } },
    mayListen: (caller) => confirmed.has(caller.session_id),
  });
  const call = rig.talk();
  rig.scene.device('1002', 'NOT_INUSE');
  const caller = (await fixtureAuthenticator.authenticate(BOSS))!;
  for (const does of ['listen', 'whisper', 'barge'] as const) {
    const reply = await rig.post(BOSS, `/${call}/${does}`);
    assert.deepEqual([reply.status, reply.body.code], [403, 'confirmation_required'], does);
    const line = rig.trail.at(-1)!;
    assert.deepEqual(
      [line.action, line.outcome, line.detail?.['code']],
      [`calls.${does}`, 'refused', 'confirmation_required'],
    );
    await assert.rejects(rig.commands.run({ caller, ip: null }, `calls.${does}`, { id: call }), {
      code: 'confirmation_required',
    });
    assert.equal((await rig.post(PERSON, `/${call}/${does}`)).body.code, 'forbidden');
    assert.equal((await rig.post('key-all', `/${call}/${does}`, { from: '1002' })).body.code, 'forbidden');
  }
  assert.equal(rig.asked.length, 0);
  confirmed.add(caller.session_id);
  const answer = rig.post(BOSS, `/${call}/listen`);
  await until('it was asked for', () => rig.asked.length === 1);
  rig.rings('1002');
  assert.equal((await answer).status, 202);
});

test('calls - listening ends with the session that began it, and with the right to listen; no other does', async (t) => {
  const { session_id } = (await fixtureAuthenticator.authenticate(BOSS))!;
  for (const [why, change, ends] of [
    ['its session ended', (rig: Rig) => rig.endSession(session_id), true],
    ['another session ended', (rig: Rig) => rig.endSession(session_id + 1), false],
    [
      'its person is no supervisor any more',
      (rig: Rig) => {
        rig.former.level = 'user';
        rig.endSession(session_id + 1);
      },
      true,
    ],
  ] as const) {
    const rig = await callsRig(t);
    const call = rig.talk();
    rig.scene.device('1002', 'NOT_INUSE');
    const answer = rig.post(BOSS, `/${call}/listen`);
    await until('it was asked for', () => rig.asked.length === 1);
    const { part } = rig.asked[0]!.args[0] as PlacedCall;
    assert.equal(part.does === 'listen' && part.session_id, session_id, 'the engine keeps the session');
    rig.origins.set(chan(rig.rings('1002')), session_id);
    assert.equal((await answer).status, 202);
    rig.asked.length = 0;
    change(rig);
    await rig.calls.looked();
    const asked = new Set(rig.asked.map(({ verb, args }) => `${verb} ${String(args[0])}`));
    assert.deepEqual([...asked], ends ? [`hangup ${chan('own')}`] : [], why);
  }
});
type Rig = Awaited<ReturnType<typeof callsRig>>;
