import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INSTANCE, SETTINGS, company, renderCompany } from '../../../../test/support/rendered-company.ts';
import type { Site } from '../../../ports/site.ts';

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
  assert.deepEqual(contextOf(dialplan, 'arrivals'), ['include => people-here', 'include => queues-here']);
  assert.ok(contextOf(dialplan, 'from-engines').at(-2)!.endsWith('Goto(arrivals,${EXTEN},1)'));
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

test('conf/engine-trunks - a site with one engine has none of it', () => {
  for (const [name, text] of renderCompany(company()))
    assert.doesNotMatch(text, /engine-|-here|X-Offhook/, name);
});
