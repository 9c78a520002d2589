import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';
import { until } from '../../../test/support/until.ts';
import { extensionSubject, numberSubject } from '../../numbers/subject.ts';
import type { PersonalData } from '../../ports/privacy.ts';

let site: Site;
let data: PersonalData;
const { signal } = new AbortController();
const subject = extensionSubject('1005');
before(async () => {
  site = await siteFixture();
  // Persons 4 and 6 had the extension before person 5; 4 has left, and 6 has another extension.
  data = site.sessions.personalData(async (extension) => (extension === '1005' ? [5, 4, 6] : []));
});
after(() => site.close());

test('sessions - personal data: an export has the sessions of the present holder, an erasure deletes those of all holders', async () => {
  const at = new Date(site.clock.now()).toISOString();
  await site.signIn('1004');
  site.directory.remove('1004');
  await until('the former holder to be signed out', async () => {
    const live = await site.sessions.devices(4);
    return live.length === 0;
  });
  const [ended, live, other] = [
    await site.signIn('1005'),
    await site.signIn('1005'),
    await site.signIn('1006'),
  ];
  await site.sessions.logout((await site.sessions.authenticate(ended))!, '192.0.2.1');
  const caller = (await site.sessions.authenticate(live))!;
  site.clock.advance(90_000);
  await site.sessions.authenticate(live);
  assert.deepEqual(await data.count(subject, signal), { sessions: 3 });
  const items: unknown[] = [];
  for await (const { kind, value } of data.collect!(subject, [], signal)) items.push([kind, value]);
  const session = {
    device_name: null,
    platform: null,
    address: '192.0.2.1',
    signed_in_at: at,
    last_used_at: at,
    ends_at: new Date(Date.parse(at) + 2_592_000_000).toISOString(),
    ended_at: null,
    ended_by: null,
    company_sub: null,
    company_sid: null,
  };
  const used = new Date(Date.parse(at) + 90_000).toISOString();
  assert.deepEqual(items, [
    ['session', { ...session, ended_at: at, ended_by: 'logout' }],
    ['session', { ...session, last_used_at: used }],
  ]);

  const closed: [number, string][] = [];
  site.sessions.onSessionEnded((id, why) => void closed.push([id, why]));
  assert.deepEqual(await data.erase(subject, 'erased-1', signal), { sessions: 3 });
  assert.deepEqual(await data.count(subject, signal), {});
  assert.deepEqual(closed, [[caller.session_id, 'ended']]);
  const works = async (token: string) => (await site.sessions.authenticate(token)) !== null;
  assert.deepEqual([await works(live), await works(other)], [false, true]);
  const db = site.store.db<Record<string, { session_id: number }>>();
  const tokens = await db.selectFrom('session_tokens').selectAll().execute();
  assert.equal(tokens.length, 1);
});

test('sessions - personal data: a number has no sessions, nor has an extension without holders', async () => {
  await site.signIn('1005');
  for (const none of [numberSubject('030901820', 'DE')!, extensionSubject('1099')]) {
    assert.deepEqual(await data.count(none, signal), {});
    assert.deepEqual(await data.erase(none, 'erased-1', signal), {});
  }
  assert.deepEqual(await data.count(subject, signal), { sessions: 1 });
});
