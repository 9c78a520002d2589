import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { FEATURES_OFF } from '../ports/engine-state.ts';
import type { DeviceState, ExtensionFeatures } from '../ports/engine-state.ts';
import type { LiveModel, Said } from '../ports/live.ts';
import { createModel } from './model.ts';
import { activityOf, reachabilityOf } from './presence.ts';
import { Scene, chan, channel, checkpointOf, site } from '../../test/support/model-scene.ts';

const rows: readonly [DeviceState[], string, string, string][] = [
  [['NOT_INUSE', 'UNAVAILABLE', 'UNAVAILABLE'], 'online', 'idle', 'available'],
  [['UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE'], 'offline', 'idle', 'offline'],
  [['UNKNOWN', 'UNAVAILABLE', 'INVALID'], 'offline', 'idle', 'offline'],
  [['UNAVAILABLE', 'RINGING', 'UNAVAILABLE'], 'online', 'ringing', 'ringing'],
  [['NOT_INUSE', 'RINGING', 'RINGING'], 'online', 'ringing', 'ringing'],
  [['INUSE', 'NOT_INUSE', 'UNAVAILABLE'], 'online', 'in_call', 'in_call'],
  [['INUSE', 'RINGING', 'UNAVAILABLE'], 'online', 'in_call_and_ringing', 'in_call'],
  [['RINGINUSE', 'NOT_INUSE', 'UNAVAILABLE'], 'online', 'in_call_and_ringing', 'in_call'],
  [['ONHOLD', 'RINGING', 'UNAVAILABLE'], 'online', 'in_call_and_ringing', 'in_call'],
  [['ONHOLD', 'NOT_INUSE', 'UNAVAILABLE'], 'online', 'in_call', 'in_call'],
  [['ONHOLD', 'INUSE', 'UNAVAILABLE'], 'online', 'in_call', 'in_call'],
  [['BUSY', 'NOT_INUSE', 'UNAVAILABLE'], 'online', 'busy', 'in_call'],
];
for (const [states, reachability, activity, summary] of rows) {
  test(`pbx presence - ${states.join(' ')} is ${reachability}, ${activity}, ${summary}`, () => {
    assert.equal(reachabilityOf(states), reachability);
    assert.equal(activityOf(states, false), activity);
    const scene = new Scene();
    for (const [i, name] of ['1001', '1001-web', '1001-mobile'].entries()) {
      scene.device(name, states[i] ?? 'UNKNOWN');
    }
    const live = scene.view.extension('1001');
    assert.deepEqual(
      [live?.reachability, live?.activity, live?.summary, live?.devices],
      [reachability, activity, summary, { sip: states[0], webrtc: states[1], mobile: states[2] }],
    );
  });
}

test('pbx presence - before any fact everything is unknown, shown as offline', () => {
  const scene = new Scene({ empty: true });
  const live = scene.view.extension('1001');
  assert.deepEqual([live?.reachability, live?.summary, scene.view.live], ['unknown', 'offline', false]);
  assert.equal(scene.view.extension('999'), undefined);
});

test('pbx presence - after a snapshot, a phone missing in it is unavailable', () => {
  const scene = new Scene({ empty: true });
  scene.snapshot({ devices: [{ endpoint: '1001', state: 'NOT_INUSE' }] });
  const reach = (extension: string) => scene.view.extension(extension)?.reachability;
  assert.deepEqual([reach('1001'), reach('1002')], ['online', 'offline']);
  assert.equal(scene.view.extension('1001')?.devices.webrtc, 'UNAVAILABLE');
  scene.device('2002', 'NOT_INUSE');
  scene.model.step({ ...site(['1001', '2001', '2002']), at: scene.at });
  assert.deepEqual([reach('1001'), reach('2001'), reach('2002')], ['online', 'offline', 'online']);
});

test('pbx presence - published only for visible changes; since is the time of the change, not of the event', () => {
  const scene = new Scene();
  const changed = () => scene.published.filter((e) => e.type === 'presence.changed').length;
  scene.device('1001', 'NOT_INUSE');
  const since = scene.at;
  assert.equal(changed(), 1);
  const version = scene.view.presence_version;
  scene.device('1001', 'NOT_INUSE');
  assert.equal(scene.view.presence_version, version);
  scene.device('1001-web', 'NOT_INUSE');
  assert.equal(changed(), 1, 'another device, the same presence');
  assert.equal(scene.view.extension('1001')?.since, since);
  assert.deepEqual(scene.view.changedSince(version), ['1001'], 'though a reader of the devices must know');
  scene.device('1001-web', 'RINGING');
  scene.device('1001-mobile', 'RINGING');
  assert.equal(changed(), 2);
  const [, event] = scene.published.filter((e) => e.type === 'presence.changed');
  assert.equal(event?.subject, 'presence/1001');
  assert.equal(event?.type === 'presence.changed' && event.data.activity, 'ringing');
});

/** A call of 1001 with a trunk, which both answered. */
function talking(scene: Scene): void {
  scene.created('t', { endpoint: 'trunk', state: 'up' });
  scene.created('1', { endpoint: '1001', of: 't', state: 'up' });
  scene.device('1001', 'INUSE');
}
const activities = (scene: Scene): unknown[] =>
  scene.published.flatMap((e) => (e.type === 'presence.changed' ? [e.data.activity] : []));

test('pbx presence - a person is on hold while it holds every call, by its device or a command; the held side is in a call', () => {
  const scene = new Scene();
  talking(scene);
  const begun = scene.view.extension('1001')!.since;
  const shown = (): unknown => scene.view.extension('1001')?.activity;
  scene.device('1001', 'ONHOLD');
  assert.equal(shown(), 'in_call', 'the other side holds it');
  scene.device('1001', 'INUSE');
  for (const by of ['device', 'operation'] as const) {
    const hold = (held: boolean): void =>
      void scene.send({ type: 'channel.held', id: chan('1'), held, ...(by === 'device' ? {} : { by }) });
    hold(true);
    const held = scene.at;
    assert.deepEqual([shown(), scene.view.extension('1001')?.since], ['on_hold', held]);
    scene.created(`2${by}`, { endpoint: '1001', state: 'dialing' });
    assert.equal(shown(), 'in_call', 'it dials');
    scene.hangup(`2${by}`);
    assert.equal(shown(), 'on_hold');
    scene.created(`3${by}`, { endpoint: '1001' });
    assert.equal(shown(), 'on_hold', 'it will ring');
    scene.state(`3${by}`, 'ringing');
    scene.device('1001', 'RINGINUSE');
    assert.equal(shown(), 'in_call_and_ringing');
    scene.hangup(`3${by}`);
    scene.device('1001', 'INUSE');
    assert.deepEqual([shown(), scene.view.extension('1001')?.since], ['on_hold', held], 'one hold');
    hold(false);
    assert.deepEqual([shown(), scene.view.extension('1001')?.since], ['in_call', begun], 'one talk');
  }
  scene.send({ type: 'channel.held', id: chan('1'), held: true });
  scene.published.length = 0;
  scene.hangup('1');
  scene.device('1001', 'NOT_INUSE');
  assert.deepEqual(activities(scene), ['idle']);
});

test('pbx presence - a hold that a snapshot shows, and the time of a talk, outlive a restart of the service', () => {
  const before = new Scene();
  talking(before);
  before.send({ type: 'channel.held', id: chan('1'), held: true, by: 'operation' });
  const { since } = before.view.extension('1001')!;
  for (const held of [true, false]) {
    const model = createModel();
    model.restore(null, before.published);
    const scene = new Scene({ model, empty: true });
    const published = scene.snapshot(
      {
        channels: [
          channel('t', { endpoint: 'trunk', state: 'up' }),
          channel('1', { endpoint: '1001', of: 't', state: 'up' }),
        ],
        devices: [{ endpoint: '1001', state: 'INUSE' }],
        held_here: held ? [chan('1')] : [],
      },
      'connect',
    );
    const { activity, since: at } = scene.view.extension('1001')!;
    assert.deepEqual([activity, at === since], [held ? 'on_hold' : 'in_call', held]);
    const changed = published.filter((e) => e.type === 'presence.changed' && e.data.extension === '1001');
    assert.equal(changed.length, held ? 0 : 1);
  }
});

test('pbx presence - since is the start of what the summary names, whatever else changes meanwhile', () => {
  const scene = new Scene();
  const seen = (): unknown[] => {
    const { summary, activity, since } = scene.view.extension('1002')!;
    return [summary, activity, since];
  };
  scene.device('1002', 'RINGING');
  const rang = scene.at;
  scene.send({ type: 'extension.features', extension: '1002', features: dnd(true) });
  const quiet = scene.at;
  assert.deepEqual(seen(), ['dnd', 'ringing', quiet]);
  scene.send({ type: 'extension.features', extension: '1002', features: dnd(false, 2) });
  assert.deepEqual(seen(), ['ringing', 'ringing', rang]);
  scene.device('1002', 'RINGINUSE');
  const talk = scene.at;
  assert.deepEqual(seen(), ['in_call', 'in_call_and_ringing', talk]);
  scene.device('1002', 'INUSE');
  assert.deepEqual(seen(), ['in_call', 'in_call', talk]);
  scene.send({ type: 'extension.features', extension: '1002', features: dnd(true, 3) });
  const again = scene.at;
  scene.device('1002', 'RINGINUSE');
  assert.deepEqual(seen(), ['dnd', 'in_call_and_ringing', again]);
  scene.send({ type: 'extension.features', extension: '1002', features: dnd(false, 4) });
  assert.deepEqual(seen(), ['in_call', 'in_call_and_ringing', talk]);
  says(scene, [['1002', { personal: 'away', note: null, expires_at: null }]]);
  assert.deepEqual(seen(), ['in_call', 'in_call_and_ringing', talk]);
  scene.device('1002', 'NOT_INUSE');
  const away = scene.at;
  assert.deepEqual(seen(), ['away', 'idle', away]);
  scene.device('1002', 'UNAVAILABLE');
  assert.deepEqual(seen(), ['away', 'idle', away]);
});

test('pbx presence - the reason of a pause is in the summary, behind the call and before available', () => {
  const scene = new Scene();
  scene.device('1002', 'NOT_INUSE');
  scene.member('support', '1002', { paused: true, paused_reason: 'lunch' });
  const summary = () => scene.view.extension('1002')?.summary;
  assert.equal(summary(), 'lunch');
  scene.device('1002', 'INUSE');
  assert.equal(summary(), 'in_call');
  scene.device('1002', 'NOT_INUSE');
  scene.member('support', '1002', { paused: true });
  assert.equal(summary(), 'not_ready');
  scene.member('support', '1002');
  assert.equal(summary(), 'available');
});

test('pbx presence - a reader that lags too far behind, or is ahead, must reload everything', () => {
  const scene = new Scene();
  const start = scene.view.presence_version;
  assert.deepEqual(scene.view.changedSince(start), []);
  for (let i = 0; i < 5000; i++) {
    scene.device('1001', 'INUSE');
    scene.device('1002', 'RINGING');
    scene.device('1001', 'NOT_INUSE');
    scene.device('1002', 'NOT_INUSE');
  }
  assert.equal(scene.view.changedSince(start), null);
  assert.equal(scene.view.changedSince(scene.view.presence_version + 1), null);
  assert.deepEqual(scene.view.changedSince(scene.view.presence_version - 4)?.toSorted(), ['1001', '1002']);
});

test('pbx presence - a changed site: new extensions take the engine’s known states, removed ones disappear', () => {
  const scene = new Scene();
  scene.device('2001', 'INUSE');
  scene.device('1001', 'INUSE');
  assert.equal(scene.view.extension('2001'), undefined);
  const version = scene.view.presence_version;
  const events = scene.model.step({ ...site(['1002', '2001']), at: scene.at });
  const removed = events.flatMap((one) => (one.type === 'presence.removed' ? [one.data.extension] : []));
  assert.deepEqual(removed, ['1001', '1003', '1004']);
  assert.equal(scene.view.extension('2001')?.activity, 'in_call');
  assert.equal(scene.view.extension('1001'), undefined);
  const changed = scene.view.changedSince(version) ?? [];
  assert.ok(changed.includes('2001') && changed.includes('1001') && !changed.includes('1002'));
});

test('pbx presence - an extension that was removed while the service was stopped is removed at its start, once', () => {
  const scene = new Scene();
  scene.device('1001', 'INUSE');
  const written = (model: LiveModel, events: readonly DomainEvent[]): string => {
    model.committed(events);
    return checkpointOf(model);
  };
  const told = (text: string): readonly DomainEvent[] => {
    const model = createModel();
    model.restore(text, []);
    return model.step(site(['1002']));
  };
  const model = createModel();
  model.step(site());
  const text = written(model, scene.published);
  const events = told(text);
  assert.deepEqual(
    events.map(({ type, data }) => [type, data]),
    [['presence.removed', { extension: '1001' }]],
  );
  model.restore(text, events);
  assert.deepEqual(told(checkpointOf(model)), []);
});

test('pbx presence - a leg belongs to an extension from the site’s change on', () => {
  const scene = new Scene();
  scene.created('1', { endpoint: '2001-web' });
  assert.equal(scene.view.calls()[0]?.legs[0]?.extension, null);
  scene.model.step({ ...site(['2001']), at: scene.at });
  assert.deepEqual(
    scene.view.calls()[0]?.legs.map((l) => [l.extension, l.party.name]),
    [['2001', 'Person 2001']],
  );
});

test('pbx presence - a person whose only device is an app that a push wakes is reachable by push', () => {
  const scene = new Scene();
  const shown = (): unknown[] => {
    const live = scene.view.extension('1001');
    return [live?.reachability, live?.summary];
  };
  for (const device of ['1001', '1001-web', '1001-mobile']) scene.device(device, 'UNAVAILABLE');
  assert.deepEqual(shown(), ['offline', 'offline']);
  const wakeable = (...extensions: string[]): void =>
    void scene.model.step({ type: 'push.wakeable', at: scene.at, extensions: new Set(extensions) });
  wakeable('1001', '999');
  assert.deepEqual(shown(), ['push_only', 'available']);
  scene.device('1001', 'NOT_INUSE');
  assert.deepEqual(shown(), ['online', 'available']);
  scene.device('1001', 'UNAVAILABLE');
  wakeable();
  assert.deepEqual(shown(), ['offline', 'offline']);
});

const dnd = (on: boolean, changed_at = 1): ExtensionFeatures => ({ ...FEATURES_OFF, dnd: on, changed_at });
const words = (scene: Scene): unknown[] =>
  scene.published.flatMap((e) =>
    e.type === 'presence.changed' ? [`${e.data.extension} ${e.data.personal}`] : [],
  );

test('pbx presence - do not disturb is shown whatever the devices do, and only while it is on', () => {
  const scene = new Scene();
  scene.device('1001', 'NOT_INUSE');
  scene.published.length = 0;
  scene.send({ type: 'extension.features', extension: '1001', features: dnd(true) });
  const live = scene.view.extension('1001');
  assert.deepEqual(
    [live?.personal, live?.summary, live?.activity, live?.reachability, live?.devices.sip],
    ['dnd', 'dnd', 'idle', 'online', 'NOT_INUSE'],
  );
  assert.deepEqual(words(scene), ['1001 dnd']);
  const forwarded = { ...dnd(true, 2), forward: '1002' };
  scene.send({ type: 'extension.features', extension: '1001', features: forwarded });
  assert.deepEqual(words(scene), ['1001 dnd'], 'a forward is not shown');
  assert.equal(scene.view.features.get('1001')?.forward, '1002');
  scene.send({ type: 'extension.features', extension: '1001', features: dnd(false, 3) });
  assert.deepEqual(words(scene), ['1001 dnd', '1001 not_set']);
  scene.send({ type: 'extension.features', extension: '999', features: dnd(true) });
  assert.deepEqual(words(scene).length, 2);
});

test('pbx presence - a snapshot sets do not disturb for all; until then the journal’s value holds', () => {
  const scene = new Scene();
  const devices = [{ endpoint: '1001', state: 'NOT_INUSE' as const }];
  scene.snapshot({ devices, features: new Map([['1001', dnd(true)]]) });
  assert.equal(scene.view.extension('1001')?.personal, 'dnd');
  const kept = scene.view.features;
  assert.deepEqual(scene.snapshot({ devices, features: new Map([['1001', dnd(true)]]) }), []);
  assert.equal(scene.view.features, kept, 'the same is no change');
  const next = createModel();
  next.restore(null, scene.published);
  next.step(site());
  assert.equal(next.view.extension('1001')?.personal, 'dnd', 'as the journal left it');
  assert.equal(next.view.features.size, 0);
  const again = new Scene({ model: next, empty: true });
  again.snapshot({ devices, features: new Map([['1001', dnd(true)]]) }, 'connect');
  const of1001 = (): unknown[] => words(again).filter((word) => String(word).startsWith('1001'));
  assert.deepEqual(of1001(), [], 'published once');
  again.snapshot({ devices, features: new Map() });
  assert.deepEqual(of1001(), ['1001 not_set']);
});

const says = (scene: Scene, people: readonly (readonly [string, Said | null])[]): readonly DomainEvent[] =>
  scene.model.step({ type: 'presence.said', at: scene.at, people: new Map(people) });

test('pbx presence - a person’s status ranks behind do not disturb and calls, and before the reason of a pause', () => {
  const scene = new Scene();
  scene.device('1002', 'NOT_INUSE');
  scene.member('support', '1002', { paused: true, paused_reason: 'lunch' });
  const seen = (): unknown[] => {
    const { personal, note, summary } = scene.view.extension('1002')!;
    return [personal, note, summary];
  };
  for (const [personal, summary] of [
    ['away', 'away'],
    ['xa', 'xa'],
    ['unavailable', 'unavailable'],
    ['available', 'lunch'],
    ['chat', 'lunch'],
  ] as const) {
    says(scene, [['1002', { personal, note: 'x', expires_at: null }]]);
    assert.deepEqual(seen(), [personal, 'x', summary]);
  }
  says(scene, [['1002', { personal: 'away', note: null, expires_at: null }]]);
  scene.device('1002', 'RINGING');
  assert.deepEqual(seen(), ['away', null, 'ringing']);
  scene.send({ type: 'extension.features', extension: '1002', features: dnd(true) });
  assert.deepEqual(seen(), ['dnd', null, 'dnd']);
  says(scene, [['1002', null]]);
  scene.send({ type: 'extension.features', extension: '1002', features: dnd(false, 2) });
  assert.deepEqual(seen(), ['not_set', null, 'ringing']);
});

test('pbx presence - persons’ statuses survive a restart of the engine, and come from the journal until the service reports them', () => {
  const scene = new Scene();
  const until = scene.at + 60_000;
  const devices = [{ endpoint: '1001', state: 'NOT_INUSE' as const }];
  scene.snapshot({ devices, features: new Map() });
  const published = says(scene, [['1001', { personal: 'away', note: 'Out', expires_at: until }]]);
  assert.equal(published.length, 1);
  const of = (model: LiveModel): unknown[] => {
    const live = model.view.extension('1001');
    return [live?.personal, live?.note, live?.expires_at];
  };
  scene.model.restore(null, []);
  scene.model.step(site());
  assert.deepEqual(of(scene.model), ['away', 'Out', until], 'whatever the journal lost');
  const next = createModel();
  next.restore(null, published);
  next.step(site());
  assert.deepEqual(of(next), ['away', 'Out', until]);
  next.step({ type: 'presence.said', at: scene.at, people: new Map() });
  assert.deepEqual(
    of(next),
    ['not_set', null, null],
    'the house has the last word, also of who says nothing',
  );
});
