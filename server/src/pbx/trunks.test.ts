import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineTrunk } from '../ports/engine-state.ts';
import { Scene, checkpointOf, node, site, snapshot } from '../../test/support/model-scene.ts';
import { createModel } from './model.ts';

const URI = 'sip:office@far';
const FAR = 'far:5060';
const SECOND = 'next:5060';
const SITE = {
  ...site(),
  trunks: [
    { name: 'north', title: 'North', endpoint: 'trunk-north', registers: false },
    { name: 'login', title: 'Login', endpoint: 'trunk-login', registers: true },
  ],
};
const row = (
  name: string,
  reachable: boolean | null,
  state: 'registered' | 'rejected' | 'pending' | null = null,
): EngineTrunk => ({
  endpoint: `trunk-${name}`,
  servers: [
    {
      server: FAR,
      reachable,
      round_trip_ms: reachable === true ? 2 : null,
      registration: state === null ? null : { uri: URI, state },
    },
  ],
});
const begun = (trunks: readonly EngineTrunk[]): Scene => {
  const scene = new Scene({ empty: true, site: SITE });
  scene.send({ type: 'engine.link', node, up: true, reason: '', boot_id: 'boot-1' });
  scene.send({ type: 'engine.snapshot', why: 'connect', snapshot: snapshot({ trunks }) });
  return scene;
};
const published = (scene: Scene): string[] =>
  scene.published.flatMap((e) =>
    e.type === 'trunk.up' || e.type === 'trunk.down'
      ? [`${e.type} ${e.data.trunk} ${e.data.state} ${e.data.reason ?? '-'} ${e.observed}`]
      : [],
  );
const contact = (
  scene: Scene,
  name: string,
  reachable: boolean | null,
  round_trip_ms: number | null = null,
  server = FAR,
) => scene.send({ type: 'trunk.contact', endpoint: `trunk-${name}`, server, reachable, round_trip_ms });
const registration = (scene: Scene, state: 'registered' | 'rejected' | 'pending', server = FAR) =>
  scene.send({ type: 'trunk.registration', server, uri: URI, state });

test('trunks - no event before the first answer; then up, down and up, each once', () => {
  const scene = begun([row('north', null)]);
  assert.deepEqual(published(scene), []);
  assert.equal(scene.view.trunk('north'), undefined);
  contact(scene, 'north', true, 3);
  contact(scene, 'north', true, 4);
  assert.equal(scene.view.trunk('north')?.round_trip_ms, 4);
  contact(scene, 'north', false);
  contact(scene, 'north', true, 5);
  contact(scene, 'phone', false);
  assert.deepEqual(published(scene), [
    'trunk.up north reachable - live',
    'trunk.down north unreachable no_answer live',
    'trunk.up north reachable - live',
  ]);
});

test('trunks - a trunk with a registration is up once registered, and rejected only while it answers', () => {
  const scene = begun([row('login', true, 'pending')]);
  assert.deepEqual(published(scene), []);
  registration(scene, 'registered');
  contact(scene, 'login', false);
  registration(scene, 'rejected');
  contact(scene, 'login', true);
  scene.send({
    type: 'engine.snapshot',
    why: 'resync',
    snapshot: snapshot({ trunks: [row('login', true, 'rejected')] }),
  });
  assert.equal(scene.view.trunk('login')?.state, 'unreachable', 'the next attempt decides');
  registration(scene, 'rejected');
  registration(scene, 'registered');
  assert.deepEqual(published(scene), [
    'trunk.up login registered - live',
    'trunk.down login unreachable no_answer live',
    'trunk.down login rejected registration_failed live',
    'trunk.up login registered - live',
  ]);
});

test('trunks - a resync emits only what changed, and a restart takes the state from the journal', () => {
  const scene = begun([row('north', true), row('login', true, 'registered')]);
  const again = (trunks: readonly EngineTrunk[]) =>
    scene.send({ type: 'engine.snapshot', why: 'resync', snapshot: snapshot({ trunks }) });
  again([row('north', true), row('login', true, 'registered')]);
  assert.equal(published(scene).length, 2);
  const since = scene.view.trunk('north')?.since;

  scene.model.committed(scene.published);
  const restarted = createModel();
  restarted.step(SITE);
  restarted.restore(checkpointOf(scene.model), []);
  const after = new Scene({ model: restarted, empty: true, site: SITE });
  after.at = scene.at;
  after.send({ type: 'engine.link', node, up: true, reason: '', boot_id: 'boot-1' });
  after.send({
    type: 'engine.snapshot',
    why: 'connect',
    snapshot: snapshot({ trunks: [row('north', true), row('login', false, 'registered')] }),
  });
  assert.deepEqual(published(after), ['trunk.down login unreachable no_answer resync']);
  assert.equal(after.view.trunk('north')?.since, since);
});

test('trunks - a disabled trunk has no state, and is up again once it is enabled', () => {
  const scene = begun([row('north', true)]);
  scene.model.step({ ...SITE, trunks: [] });
  assert.equal(scene.view.trunk('north'), undefined);
  const out = scene.model.step(SITE);
  assert.deepEqual(
    out.map(({ type }) => type),
    ['trunk.up'],
  );
});

/** Type and servers of each event of trunks; a server that does not answer has a minus. */
const servers = (scene: Scene): string[] =>
  scene.published.flatMap((e) =>
    e.type === 'trunk.up' || e.type === 'trunk.down'
      ? [
          [e.type, ...e.data.servers.map((one) => (one.reachable === false ? '-' : '') + one.server)].join(
            ' ',
          ),
        ]
      : [],
  );
test('trunks - of several servers each that ends or returns is an event, and the trunk is up while one answers', () => {
  const scene = begun([row('north', true)]);
  contact(scene, 'north', true, 9, SECOND);
  assert.equal(scene.view.trunk('north')?.round_trip_ms, 2, 'that of the fastest');
  contact(scene, 'north', false);
  assert.equal(scene.view.trunk('north')?.state, 'reachable');
  contact(scene, 'north', false, null, SECOND);
  contact(scene, 'north', true, 4, SECOND);
  contact(scene, 'north', null);
  assert.deepEqual(servers(scene), [
    `trunk.up ${FAR}`,
    `trunk.up ${FAR} ${SECOND}`,
    `trunk.up -${FAR} ${SECOND}`,
    `trunk.down -${FAR} -${SECOND}`,
    `trunk.up -${FAR} ${SECOND}`,
    `trunk.up ${SECOND}`,
  ]);
});

test('trunks - a registration counts only with a server that answers', () => {
  const [first] = row('login', true, 'registered').servers;
  const scene = begun([
    {
      endpoint: 'trunk-login',
      servers: [first!, { ...first!, server: SECOND, registration: { uri: URI, state: 'pending' } }],
    },
  ]);
  assert.equal(scene.view.trunk('login')?.state, 'registered');
  contact(scene, 'login', false);
  registration(scene, 'rejected', SECOND);
  assert.equal(
    scene.view.trunk('login')?.state,
    'rejected',
    'the registration at the dead server is worth nothing',
  );
  registration(scene, 'registered', SECOND);
  assert.equal(scene.view.trunk('login')?.state, 'registered');
});
