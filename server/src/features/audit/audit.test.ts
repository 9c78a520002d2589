import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { z } from 'zod';
import { AuditPage } from '@offhook/contract/audit.ts';
import { siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';

let site: Site;
let admin: { authorization: string };
before(async () => {
  site = await siteFixture();
  admin = { authorization: `Bearer ${await site.signIn('1001')}` };
  for (let i = 0; i < 120; i += 1) {
    site.clock.advance(1_000);
    await site.audit.record({
      action: i % 2 === 0 ? 'agent.pause' : 'agent.unpause',
      actor: `100${i % 5}`,
      object: 'support',
      outcome: 'ok',
      ip: '192.0.2.1',
      detail: { n: i, text: "'; drop table audit; --\n", flag: true, none: null },
    });
  }
});
after(() => site.close());
const page = async (query: string) => {
  const response = await site.host.app.inject({ url: `/api/v1/audit${query}`, headers: admin });
  assert.equal(response.statusCode, 200, response.body);
  return AuditPage.parse(response.json());
};

test('audit - newest first, a page at a time, each line once although new ones come in between', async () => {
  const seen: number[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { entries, next_cursor }: z.infer<typeof AuditPage> = await page(
      `?limit=50${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    seen.push(...entries.map((e) => e.id));
    assert.ok(seen.length < 500, 'the pages do not end');
    cursor = next_cursor;
    await site.audit.record({ action: 'x', actor: null, object: null, outcome: 'failed', ip: null });
  }
  assert.equal(seen.length, 121);
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => b - a),
  );
  assert.equal(new Set(seen).size, 121);
});
test('audit - by action, person and time; recorded lines are returned unchanged', async () => {
  const { entries } = await page('?action=agent.pause&actor=1002&limit=200');
  assert.equal(entries.length, 12);
  assert.deepEqual(entries[0]?.detail, { n: 112, text: "'; drop table audit; --\n", flag: true, none: null });
  const from = entries.at(-1)!.at;
  const to = entries[0].at;
  const between = await page(`?action=agent.pause&actor=1002&from=${from}&to=${to}`);
  assert.equal(between.entries.length, 11, 'from is included, to is not');
  assert.equal((await page(`?actor=${encodeURIComponent("' or 1=1--")}`)).entries.length, 0);
});
test('audit - for administrators only; an invalid query is 400', async () => {
  for (const extension of ['1002', '1003', '1005']) {
    const token = await site.signIn(extension);
    const response = await site.host.app.inject({
      url: '/api/v1/audit',
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(response.statusCode, 403);
  }
  for (const query of [
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=1e2',
    'limit=x',
    'limit=5&limit=6',
    'cursor=0',
    'cursor=x',
    "cursor=1'--",
    'from=yesterday',
    'to=2026-13-01T00:00:00Z',
    'order=desc',
    `action=${'x'.repeat(65)}`,
  ]) {
    const response = await site.host.app.inject({ url: `/api/v1/audit?${query}`, headers: admin });
    assert.equal(response.statusCode, 400, query);
  }
});
test('audit - a person is found by extension and user name; older lines, too', async () => {
  const line = { action: 'who.test', object: null, outcome: 'ok', ip: null } as const;
  for (const actor of ['1005', 'dan', 'key:crm', '']) await site.audit.record({ ...line, actor });
  await site.store
    .db<{ audit: Record<string, unknown> }>()
    .insertInto('audit')
    .values({ ...line, actor: 'dan', at: site.clock.now(), detail: '{}' })
    .execute();
  const by = async (actor: string) =>
    (await page(`?action=who.test&actor=${encodeURIComponent(actor)}`)).entries.map((e) => e.actor);
  assert.deepEqual(await by('1005'), ['dan', '1005', '1005']);
  assert.deepEqual(await by('dan'), await by('1005'));
  assert.deepEqual(await by('key:crm'), ['key:crm']);
  assert.deepEqual(
    (await page('?action=who.test&limit=2')).entries.map((e) => e.actor),
    ['dan', null],
  );
});
test('audit - a thousand refusals of a person in a second give few lines, and one with the count; others have their own', async () => {
  const refuse = (actor: string | null, object: string, ip = '192.0.2.1') =>
    site.audit.record({
      action: 'flood',
      actor,
      object,
      outcome: 'refused',
      ip,
      detail: { code: 'forbidden' },
    });
  for (let i = 0; i < 1_000; i += 1) await refuse('1006', `call ${i}`);
  await refuse('1004', 'call 1');
  await site.audit.record({ action: 'flood', actor: '1006', object: 'x', outcome: 'ok', ip: null });
  const of = async (actor: string) => (await page(`?action=flood&actor=${actor}&limit=200`)).entries;
  const lines = await of('1006');
  assert.equal(lines.length, 62);
  const sums = lines.filter((line) => 'times' in line.detail);
  assert.deepEqual(
    sums.map(({ object, outcome, detail }) => [object, outcome, detail['code'], detail['times']]),
    [[null, 'refused', 'forbidden', 940]],
  );
  assert.equal((await of('1004')).length, 1);
  assert.equal((await of('1006')).length, 62, 'it is written once');
  for (let i = 0; i < 300; i += 1) await refuse(null, 'x', `198.51.100.${i % 250}`);
  const all = (await page('?action=flood&limit=200')).entries.filter((e) => e.actor === null);
  assert.equal(all.length, 61, 'of unknown people by network');
  site.clock.advance(10_000);
  await refuse('1006', 'later');
  assert.equal((await of('1006'))[0]?.object, 'later', 'who stops has a line each again');
});
test('audit - a search finds a part of any column, in any case, and treats no sign as a pattern', async () => {
  await site.audit.record({
    action: 'config.changed',
    actor: 'ada',
    object: 'outbound_route:national',
    outcome: 'ok',
    ip: '192.0.2.9',
    detail: { note: '100%_Sure' },
  });
  const found = async (q: string) =>
    (await page(`?q=${encodeURIComponent(q)}&limit=200`)).entries.map((e) => e.object);
  for (const q of ['NATIONAL', 'outbound_route:n', '192.0.2.9', '100%_sure', 'onfig.chang'])
    assert.deepEqual(await found(q), ['outbound_route:national'], q);
  assert.deepEqual(await found('outboundXroute'), [], 'an underscore is no pattern');
  assert.deepEqual(await found("' or 1=1--"), []);
});
