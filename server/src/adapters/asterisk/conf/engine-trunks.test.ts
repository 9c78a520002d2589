import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  INSTANCE,
  SETTINGS,
  company,
  conference,
  menu,
  renderCompany,
  ringGroup,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import type { Site } from '../../../ports/site.ts';
import { siteAt } from './engine-trunks.ts';

const other = { node: 'b', host: '10.0.0.2', port: 5060 };
const settings = { ...SETTINGS, engine_secret: 'a-secret-of-the-engines-0' };
/** 1002 and the queue `sales`, which has no agents then, are homed at b. */
const twoEngines = (): Site => {
  const site = company();
  return {
    ...site,
    engines: [other],
    extensions: site.extensions.map((e) => (e.extension === '1002' ? { ...e, elsewhere: 'b' } : e)),
    queues: site.queues.map((q) =>
      q.name === 'sales' ? { ...q, elsewhere: 'b', members: [], agents: [], static_members: [] } : q,
    ),
  };
};
/** The lines of one context. */
const contextOf = (text: string, name: string): readonly string[] =>
  (text.split(`\n[${name}]\n`)[1] ?? '').split('\n[', 1)[0]!.split('\n').filter(Boolean);

test('conf/engine-trunks - an extension of another engine is a number that leads there, and no phone here', () => {
  const files = renderCompany(twoEngines(), settings);
  const dialplan = files.get('extensions.conf')!;
  assert.deepEqual(contextOf(dialplan, 'people'), [
    'include => people-here',
    'exten => 1002,1,Goto(to-engine-b,${EXTEN},1)',
  ]);
  assert.ok(!contextOf(dialplan, 'people-here').some((line) => line.includes('1002')));
  assert.ok(contextOf(dialplan, 'people-here').some((line) => line.includes('1001')));
  for (const name of ['pjsip_endpoints.conf', 'pjsip_auths.conf', 'pjsip_aors.conf'])
    assert.doesNotMatch(files.get(name)!, /^\[1002/m);
  assert.doesNotMatch(files.get('queues.conf')!, /^\[sales\]/m);
  assert.deepEqual(contextOf(dialplan, 'queues'), [
    'include => queues-here',
    'exten => 510,1,Goto(to-engine-b,${EXTEN},1)',
  ]);
});

test('conf/engine-trunks - a call from another engine reaches only what is homed here', () => {
  const dialplan = renderCompany(twoEngines(), settings).get('extensions.conf')!;
  assert.deepEqual(
    contextOf(dialplan, 'arrivals'),
    ['people', 'queues', 'queue-moved'].map((name) => `include => ${name}-here`),
  );
  assert.ok(contextOf(dialplan, 'from-engines').includes(' same => n,Goto(arrivals,${EXTEN},1)'));
});

test('conf/engine-trunks - a caller is moved to a queue of another engine by a call there', () => {
  const dialplan = renderCompany(twoEngines(), settings).get('extensions.conf')!;
  const [include, number, ...steps] = contextOf(dialplan, 'queue-moved');
  assert.equal(include, 'include => queue-moved-here');
  assert.match(number!, /^exten => _510\*X\.,1,/);
  assert.ok(steps.includes(' same => n,Goto(to-engine-b,${EXTEN},1)'));
  const here = contextOf(dialplan, 'queue-moved-here');
  assert.ok(here.some((line) => line.startsWith('exten => _500*X.,1,')));
  assert.ok(here.every((line) => !line.includes('_510')));
});

test('conf/engine-trunks - engines sign in with the name of their node, and are known by their addresses', () => {
  const shared = renderCompany(twoEngines(), settings).get('pjsip_shared.conf')!;
  assert.match(shared, /\[engine-b\]\(engine\)\naors = engine-b\nauth = engine-b\n/);
  assert.match(shared, new RegExp(`username = engine-${INSTANCE.node}\n`));
  assert.match(shared, /identify_by = ip\nallow_unauthenticated_options = yes\ncontext = from-engines\n/);
  assert.match(shared, /type = identify\nendpoint = engine-b\nmatch = 10\.0\.0\.2\n/);
  assert.throws(() => renderCompany(twoEngines()), { code: 'invalid_request' });
});

test('conf/engine-trunks - a queue whose agent has another home is refused', () => {
  const site = twoEngines();
  const extensions = site.extensions.map((e) => (e.extension === '1003' ? { ...e, elsewhere: 'b' } : e));
  assert.throws(() => renderCompany({ ...site, extensions }, settings), {
    message: 'queue support: 1003 is homed at another engine than the queue',
  });
});

/** The site as its configuration has it: 1002 and the queue `sales` are homed at b. */
const configured = (fields: Partial<Site> = {}): Site => {
  const { engines, extensions, queues, ...site } = twoEngines();
  return {
    ...site,
    engines: engines!,
    extensions: extensions.map(({ elsewhere = null, ...e }) => ({ ...e, engine: elsewhere })),
    queues: queues.map(({ elsewhere = null, ...q }) => ({ ...q, engine: elsewhere })),
    ...fields,
  };
};
const leading = { node: INSTANCE.node, host: '10.0.0.1', port: 5060 };

test('conf/engine-trunks - each engine of a site has what is homed there, and the way to the rest', () => {
  const names = ({ extensions }: Site, elsewhere: string | null) =>
    extensions.filter((e) => (e.elsewhere ?? null) === elsewhere).map((e) => e.extension);
  const [first, second] = [siteAt(configured(), null, leading), siteAt(configured(), 'b', leading)];
  assert.deepEqual(names(first, 'b'), ['1002']);
  assert.deepEqual(names(second, null), ['1002']);
  assert.deepEqual(first.engines, [other]);
  assert.deepEqual(second.engines, [leading]);
  assert.deepEqual([first.leading, second.leading], [null, INSTANCE.node]);
});

test('conf/engine-trunks - a site without other engines is rendered as it is given', () => {
  for (const site of [company(), company({ engines: [] })]) assert.equal(siteAt(site, null, leading), site);
  assert.deepEqual(renderCompany(company({ engines: [] })), renderCompany(company()));
});

test('conf/engine-trunks - a member of a ring group who is homed elsewhere is rung there', () => {
  const ring_groups = [ringGroup({ name: 'care', number: '550', members: ['1001', '1002'] })];
  const site = siteAt(configured({ ring_groups }), null, leading);
  const dialplan = renderCompany(site, settings).get('extensions.conf')!;
  assert.ok(contextOf(dialplan, 'ring-member').some((line) => line.endsWith('&PJSIP/*${EXTEN}@engine-b)')));
  assert.ok(contextOf(dialplan, 'rings-care').some((line) => line.includes('b(ringing-member^s^1)')));
  assert.ok(contextOf(dialplan, 'from-engines').includes(' same => n,Goto(arrived-member,${EXTEN:1},1)'));
  // A group of people of this engine is rung as before.
  const near = [ringGroup({ name: 'care', number: '550', members: ['1001'] })];
  const alone = renderCompany(siteAt(configured({ ring_groups: near }), null, leading), settings);
  assert.ok(
    contextOf(alone.get('extensions.conf')!, 'rings-care').every((line) => !line.includes('ringing-member')),
  );
});

test('conf/engine-trunks - conferences and mailboxes are at the leading engine, from everywhere', () => {
  const site = configured({
    conferences: [conference({ name: 'room', number: '570' })],
    mailboxes: [{ number: '801', title: 'Shared', pin: '4321' }],
    menus: [menu({ name: 'main', number: '560', otherwise: { kind: 'mailbox', key: '801' } })],
  });
  const here = renderCompany(siteAt(site, null, leading), settings);
  assert.deepEqual(contextOf(here.get('extensions.conf')!, 'shared-here'), [
    'exten => 570,1,Goto(places,${EXTEN},1)',
    'exten => 801,1,Goto(places,${EXTEN},1)',
  ]);
  assert.ok(contextOf(here.get('extensions.conf')!, 'arrivals').includes('include => shared-here'));
  assert.match(here.get('voicemail.conf')!, /^801 => /m);
  const there = renderCompany(siteAt(site, 'b', leading), settings);
  const dialplan = there.get('extensions.conf')!;
  assert.ok(contextOf(dialplan, 'places').includes(`exten => 570,1,Goto(to-engine-${INSTANCE.node},570,1)`));
  assert.ok(
    contextOf(dialplan, 'menu-main').some((line) => line.endsWith(`Goto(to-engine-${INSTANCE.node},801,1)`)),
  );
  assert.doesNotMatch(there.get('voicemail.conf')!, /^801 => /m);
  assert.match(here.get('voicemail.conf')!, /^1003 => /m);
  assert.doesNotMatch(there.get('voicemail.conf')!, /^1003 => /m);
});

test('conf/engine-trunks - only the leading engine registers at carriers', () => {
  const login = { username: 'user', password: 'p4ss' };
  const site = configured({
    trunks: [trunk({ name: 'north', host: '192.0.2.7', register: true, login })],
  });
  const shows = (own: string | null): boolean =>
    [...renderCompany(siteAt(site, own, leading), settings).values()].some((text) =>
      /^type = registration$/m.test(text),
    );
  assert.deepEqual([shows(null), shows('b')], [true, false]);
});

test('conf/engine-trunks - a site with one engine has none of it', () => {
  for (const [name, text] of renderCompany(company()))
    assert.doesNotMatch(text, /engine-|-here|X-Offhook/, name);
});
