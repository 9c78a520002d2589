import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { configRig } from '../../../test/support/config-rig.ts';

test('config routes - an object is created, read, changed, listed and deleted in the draft', async (t) => {
  const { ask, objects } = await configRig(t);
  const person = { extension: '1050', username: 'ada', name: 'Ada Lovelace' };
  const made = await ask('POST', 'extensions', person);
  assert.equal(made.status, 201, made.text);
  assert.equal(made.headers.location, '/api/v1/config/extensions/1050');
  assert.equal(made.headers.etag, `"${made.body.etag}"`);
  assert.equal(made.body.pending, 'added');
  assert.match(made.body.secrets.sip_password, /^[A-Za-z0-9_-]{32}$/);
  assert.match(made.body.secrets.voicemail_pin, /^\d{6}$/);
  assert.deepEqual(made.body.secrets_set, ['voicemail_pin', 'sip_password']);
  assert.equal(made.body.object.sip_password, undefined);

  const read = await ask('GET', 'extensions/1050');
  assert.equal(read.status, 200, read.text);
  assert.equal(read.body.etag, made.body.etag);
  assert.equal(read.body.object.level, 'user');
  assert.ok(!read.text.includes(made.body.secrets.sip_password));
  const held = { headers: { 'if-none-match': `"${made.body.etag}"` } };
  assert.equal((await ask('GET', 'extensions/1050', undefined, held)).status, 304);

  const patched = await ask('PATCH', 'extensions/1050', { department: 'IT', level: 'agent' });
  assert.equal(patched.status, 200, patched.text);
  assert.deepEqual([patched.body.object.department, patched.body.object.level], ['IT', 'agent']);
  assert.deepEqual(patched.body.secrets, {});
  assert.notEqual(patched.body.etag, made.body.etag);

  const list = await ask('GET', 'extensions?q=LOVE');
  assert.deepEqual(
    list.body.objects.map((o: { key: string }) => o.key),
    ['1050'],
  );
  assert.equal(objects.applied().of('extension').has('1050'), false);
  assert.equal((await ask('GET', 'extensions/1050?view=applied')).status, 404);
  assert.equal((await ask('DELETE', 'extensions/1050')).status, 200);
  assert.equal((await ask('GET', 'extensions/1050')).status, 404);
  const { body } = await ask('GET', 'draft');
  assert.equal(body.total, 0);
});

type Refs = readonly { readonly key: string }[];
const keysOf = (objects: Refs): string[] => objects.map((o) => o.key);
const group = (name: string, number: string, members = ['1003'], more: object = {}) => ({
  name,
  number,
  title: `Group ${name}`,
  members,
  ...more,
});

test('config routes - an invalid object is reported with kind, key and field, and not stored', async (t) => {
  const { ask, objects } = await configRig(t);
  const cases: readonly [path: string, body: object, findings: readonly string[]][] = [
    ['ring-groups', { ...group('care', '550'), colour: 'red' }, ['ring_group care colour']],
    ['ring-groups', group('care', '55a'), ['ring_group care number']],
    [
      'ring-groups',
      {},
      ['ring_group  name', 'ring_group  number', 'ring_group  title', 'ring_group  members'],
    ],
    [
      'menus',
      {
        name: 'main',
        title: 'Main',
        choices: [{ key: '1', to: { kind: 'queue', key: 'support', loud: true } }],
        otherwise: { kind: 'nowhere' },
      },
      ['menu main choices.0.to.loud', 'menu main otherwise.kind'],
    ],
  ];
  for (const [path, body, findings] of cases) {
    const refused = await ask('POST', path, body);
    assert.equal(refused.status, 400, refused.text);
    assert.equal(refused.body.code, 'invalid_request');
    assert.deepEqual(
      refused.body.findings.map((f: Record<string, string>) => `${f['kind']} ${f['key']} ${f['path']}`),
      findings,
    );
  }
  const across: readonly [path: string, body: object, finding: string][] = [
    ['ring-groups', group('care', '550', ['1003', '4711']), 'ring_group care members.1'],
    ['ring-groups', group('care', '500'), 'ring_group care number'],
    ['extensions', { extension: '1060', username: 'zoe', name: 'Zoe' }, 'extension 1060 username'],
    ['feature-codes', { id: 'agent.fly', code: '*99' }, 'feature_code agent.fly id'],
  ];
  for (const [path, body, finding] of across) {
    const refused = await ask('POST', path, body);
    assert.equal(refused.status, 422, refused.text);
    assert.equal(refused.body.code, 'invalid_configuration');
    const [{ kind, key, path: field, detail }] = refused.body.findings;
    assert.equal(`${kind} ${key} ${field}`, finding, detail);
  }
  assert.equal((await ask('GET', 'draft')).body.total, 0);
  assert.equal(objects.draft().of('ring_group').size, 0);
});

test('config routes - of two concurrent changes one is refused, and loses nothing', async (t) => {
  const { ask } = await configRig(t);
  const { body: seen } = await ask('GET', 'queues/support');
  const held = { headers: { 'if-match': `"${seen.etag}"` } };
  const both = await Promise.all([
    ask('PATCH', 'queues/support', { wrap_up_seconds: 30 }, held),
    ask('PATCH', 'queues/support', { max_callers: 7 }, held),
  ]);
  assert.deepEqual(
    both.map((r) => r.status).toSorted((a, b) => a - b),
    [200, 412],
  );
  const lost = both.find((r) => r.status === 412)!;
  assert.equal(lost.body.code, 'precondition_failed');
  const { body: now } = await ask('GET', 'queues/support');
  assert.equal(lost.body.etag, now.etag);
  const again = { headers: { 'if-match': `"other", "${now.etag}"` } };
  assert.equal(
    (await ask('PATCH', 'queues/support', { wrap_up_seconds: 30, max_callers: 7 }, again)).status,
    200,
  );
  const { body: last } = await ask('GET', 'queues/support');
  assert.deepEqual([last.object.wrap_up_seconds, last.object.max_callers], [30, 7]);
  for (const method of ['PUT', 'DELETE'] as const)
    assert.equal(
      (await ask(method, 'queues/support', method === 'PUT' ? last.object : undefined, held)).status,
      412,
    );
  assert.equal((await ask('PATCH', 'queues/support', {}, { headers: { 'if-match': 'W/"x"' } })).status, 400);
  assert.equal((await ask('PATCH', 'queues/support', {}, { headers: { 'if-match': '*' } })).status, 200);
});

test('config routes - PUT creates only on request, replaces all but the secrets, and renames nothing', async (t) => {
  const { ask, objects } = await configRig(t);
  const care = group('care', '550');
  assert.equal((await ask('PUT', 'ring-groups/care', care)).status, 404);
  const make = { headers: { 'if-none-match': '*' } };
  const made = await ask('PUT', 'ring-groups/care', care, make);
  assert.deepEqual([made.status, made.body.pending], [200, 'added'], made.text);
  assert.equal((await ask('PUT', 'ring-groups/care', care, make)).status, 412);
  assert.equal((await ask('POST', 'ring-groups', care)).body.code, 'name_taken');
  const renamed = await ask('PUT', 'ring-groups/care', { ...care, name: 'cure' });
  assert.equal(renamed.status, 400);
  assert.match(renamed.body.detail, /cannot be renamed/);
  const trunk = { name: 'carrier', title: 'Carrier', host: '192.0.2.9', username: 'u', password: 'p4ss' };
  const stored = () => objects.draft().of('trunk').get('carrier')!.body;
  const first = await ask('POST', 'trunks', trunk);
  assert.equal(first.status, 201, first.text);
  const { password: _, ...open } = trunk;
  assert.equal((await ask('PUT', 'trunks/carrier', { ...open, max_calls: 7 })).status, 200);
  assert.deepEqual([stored().max_calls, stored().password], [7, 'p4ss']);
  assert.equal((await ask('PUT', 'trunks/carrier', { ...open, username: null })).status, 200);
  assert.equal(stored().password, undefined);
  const conference = { name: 'room', title: 'Room', number: '560', pin: '4711' };
  assert.equal((await ask('POST', 'conferences', conference)).status, 201);
  assert.deepEqual((await ask('GET', 'conferences/room')).body.secrets_set, ['pin']);
  const patched = await ask('PATCH', 'conferences/room', { pin: null, title: 'Hall' });
  assert.deepEqual([patched.status, patched.body.secrets_set], [200, []]);
});

test('config routes - a merge patch restores defaults, replaces arrays, and needs its own media type', async (t) => {
  const { ask } = await configRig(t);
  const type = { headers: { 'content-type': 'application/merge-patch+json; charset=utf-8' } };
  const one = await ask(
    'PATCH',
    'queues/support',
    { wrap_up_seconds: 33, thresholds: { waiting: { warn: 2, alarm: 4 } } },
    type,
  );
  assert.equal(one.status, 200, one.text);
  assert.deepEqual(one.body.object.thresholds, {
    waiting: { warn: 2, alarm: 4 },
    longest_wait_seconds: null,
    service_level_percent: null,
  });
  const two = await ask(
    'PATCH',
    'queues/support',
    { wrap_up_seconds: null, members: [{ extension: '1004' }] },
    type,
  );
  assert.equal(two.body.object.wrap_up_seconds, 0);
  assert.deepEqual(two.body.object.members, [{ extension: '1004', static: false, penalty: 0 }]);
  assert.equal((await ask('PATCH', 'queues/support', { title: null })).body.findings[0].path, 'title');
  assert.equal((await ask('PATCH', 'queues/support', { members: { 0: null } })).status, 400);
  assert.equal((await ask('PUT', 'queues/support', {}, type)).status, 415);
  assert.equal((await ask('PATCH', 'queues/support', '[]')).status, 400);
  const renewed = await ask('PATCH', 'extensions/1003', { sip_password: null });
  assert.deepEqual(Object.keys(renewed.body.secrets), ['sip_password']);
});

test('config routes - a referenced object stays; the refusal lists the references', async (t) => {
  const { ask } = await configRig(t);
  await ask('POST', 'ring-groups', group('care', '550', ['1003', '1004']));
  const menu = {
    name: 'main',
    title: 'Main',
    number: '560',
    choices: [{ key: '1', to: { kind: 'ring_group', key: 'care' } }],
    otherwise: { kind: 'queue', key: 'support' },
  };
  assert.equal((await ask('POST', 'menus', menu)).status, 201);
  const uses = await ask('GET', 'ring-groups/care/uses');
  assert.deepEqual(uses.body.used_by, [{ kind: 'menu', key: 'main', path: 'choices.0.to' }]);
  assert.deepEqual(uses.body.uses, [
    { kind: 'extension', key: '1003', path: 'members.0' },
    { kind: 'extension', key: '1004', path: 'members.1' },
  ]);
  const refused = await ask('DELETE', 'ring-groups/care');
  assert.deepEqual([refused.status, refused.body.code], [409, 'in_use']);
  assert.deepEqual(refused.body.used_by, uses.body.used_by);
  const inQueues = await ask('DELETE', 'extensions/1003');
  assert.deepEqual(
    inQueues.body.used_by.map((u: { kind: string; key: string }) => `${u.kind} ${u.key}`),
    ['queue sales', 'queue support', 'ring_group care'],
  );
  assert.equal((await ask('DELETE', 'draft/ring_group/care')).body.code, 'in_use');
  const both = {
    changes: [
      { op: 'delete', kind: 'ring_group', key: 'care' },
      { op: 'delete', kind: 'menu', key: 'main' },
    ],
  };
  for (const kind of ['constructor', 'toString', 'no_kind', 7, null]) {
    const wrong = await ask('POST', 'draft/changes', { changes: [{ op: 'create', kind, object: {} }] });
    assert.deepEqual([wrong.status, wrong.body.code], [400, 'invalid_request'], String(kind));
  }
  assert.equal((await ask('POST', 'draft/changes', both)).status, 200);
  assert.equal(
    (await ask('DELETE', 'extensions/1001')).body.findings[0].detail,
    'at least one active person must keep the level admin',
  );
});

test('config routes - several changes are stored together or not at all, in order', async (t) => {
  const { ask, objects, draft } = await configRig(t);
  const round = (name: string, number: string, to: string) => ({
    op: 'create',
    kind: 'menu',
    object: { name, number, title: name, otherwise: { kind: 'menu', key: to } },
  });
  const changes = [
    round('one', '561', 'two'),
    round('two', '562', 'one'),
    { op: 'patch', kind: 'menu', key: 'one', patch: { title: 'First' } },
  ];
  const half = await ask('POST', 'draft/changes', { changes: changes.slice(0, 1) });
  assert.equal(half.status, 422, half.text);
  assert.equal(half.body.findings[0].path, 'otherwise');
  const { body: before } = await ask('GET', 'draft');
  const done = await ask('POST', 'draft/changes', { changes, if_match: before.etag });
  assert.equal(done.status, 200, done.text);
  assert.deepEqual(
    [done.body.differs.added, done.body.differs.changed, done.body.differs.removed],
    [2, 0, 0],
  );
  assert.equal(objects.draft().of('menu').get('one')?.body.title, 'First');
  const late = await ask('POST', 'draft/changes', {
    changes: [{ op: 'delete', kind: 'menu', key: 'one' }],
    if_match: before.etag,
  });
  assert.deepEqual([late.status, late.body.etag], [412, draft.etag()]);
  const { body: rows } = await ask('GET', 'draft');
  assert.deepEqual(
    rows.changes.map((c: Record<string, string>) => [c['kind'], c['key'], c['pending'], c['author']]),
    [
      ['menu', 'one', 'added', '1001'],
      ['menu', 'two', 'added', '1001'],
    ],
  );
  const wrong = await ask('POST', 'validate', {
    changes: [{ op: 'patch', kind: 'menu', key: 'one', patch: { attempts: 99 } }],
  });
  assert.deepEqual([wrong.body.valid, wrong.body.findings[0].path], [false, 'attempts']);
  assert.deepEqual((await ask('POST', 'validate', {})).body.valid, true);
  const discarded = await ask('DELETE', 'draft');
  assert.deepEqual([discarded.body.discarded, (await ask('GET', 'draft')).body.total], [2, 0]);
  assert.equal(objects.draft().of('menu').size, 0);
});

test('config routes - 5,000 extensions at once within limits, without blocking others', async (t) => {
  const { ask, objects } = await configRig(t);
  const person = (i: number) => ({ extension: String(20_000 + i), username: `p${i}`, name: `Person ${i}` });
  const create = (i: number) => ({ op: 'create', kind: 'extension', object: person(i) });
  const many = Array.from({ length: 5_000 }, (_, i) => create(i));
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 5);
  const made = await ask('POST', 'draft/changes', { changes: many });
  clearInterval(timer);
  assert.equal(made.status, 200, made.text.slice(0, 500));
  assert.equal(made.body.secrets.length, 5_000);
  assert.ok(turns > 10, `only ${turns} turns of others`);
  assert.equal(objects.draft().of('extension').size, 5_012);
  const ids = new Set([...objects.draft().of('extension').values()].map((o) => o.id));
  assert.equal(ids.size, 5_012);
  const pages: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { body }: { body: { objects: Refs; next_cursor: string | null; total: number } } = await ask(
      'GET',
      `extensions?limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    assert.equal(body.total, 5_012);
    pages.push(...keysOf(body.objects));
    cursor = body.next_cursor;
  }
  assert.deepEqual(pages, [...objects.draft().of('extension').keys()]);
  const more = await ask('POST', 'draft/changes', {
    changes: Array.from({ length: 15_000 }, (_, i) => create(6_000 + i)),
  });
  assert.deepEqual([more.status, more.body.code], [409, 'limit_reached']);
  const groups = Array.from({ length: 1_001 }, (_, i) => ({
    op: 'create',
    kind: 'ring_group',
    object: group(`g${i}`, String(100_000 + i)),
  }));
  assert.equal((await ask('POST', 'draft/changes', { changes: groups })).body.code, 'limit_reached');
  assert.equal((await ask('PUT', 'extensions/20001', 'x'.repeat(70_000))).status, 413);
});

test('config routes - API keys read with one scope and write with the other, never administrators or passwords', async (t) => {
  const keys = {
    read: { scopes: ['config:read'] as const },
    write: { scopes: ['config:read', 'config:write'] as const },
    some: { scopes: ['config:read', 'config:write'] as const, queues: ['support'] },
    none: { scopes: ['queues:read'] as const },
  };
  const { ask, audit } = await configRig(t, { keys });
  const as = (name: string) => ({ as: `key-${name}` });
  const patch = { title: 'Help' };
  assert.equal((await ask('GET', 'queues', undefined, as('read'))).status, 200);
  assert.equal((await ask('PATCH', 'queues/support', patch, as('read'))).status, 403);
  assert.equal((await ask('PATCH', 'queues/support', patch, as('write'))).status, 200);
  for (const name of ['some', 'none']) {
    assert.equal((await ask('GET', 'queues/support', undefined, as(name))).status, 403);
    assert.equal((await ask('PATCH', 'queues/support', patch, as(name))).status, 403);
  }
  for (const level of ['user', 'agent', 'supervisor'])
    assert.equal((await ask('GET', 'queues', undefined, { as: `token-${level}` })).status, 403);
  const own = { extension: '1070', username: 'me', name: 'Me' };
  assert.equal((await ask('POST', 'extensions', { ...own, level: 'admin' }, as('write'))).status, 403);
  assert.equal((await ask('POST', 'extensions', own, as('write'))).status, 201);
  assert.equal((await ask('PATCH', 'extensions/1070', { level: 'admin' }, as('write'))).status, 403);
  assert.equal((await ask('PATCH', 'extensions/1001', { name: 'X' }, as('write'))).status, 403);
  assert.equal((await ask('POST', 'extensions/1070/credentials', {}, as('write'))).status, 403);
  const { body } = await ask('GET', 'draft');
  assert.deepEqual(
    body.changes.map((c: { author: string }) => c.author),
    ['key:k', 'key:k'],
  );
  const { entries } = await audit.page({ limit: 10 });
  assert.deepEqual(entries.map((e) => [e.action, e.actor, e.object]).toReversed(), [
    ['config.changed', 'key:k', 'queue:support'],
    ['config.changed', 'key:k', 'extension:1070'],
  ]);
});

test('config routes - a new extension gets its credentials, for person and phone', async (t) => {
  const { ask, objects, passwords } = await configRig(t);
  const path = 'extensions/1080/credentials';
  assert.equal((await ask('POST', path, {})).status, 404);
  await ask('POST', 'extensions', { extension: '1080', username: 'eve', name: 'Eve' });
  const stored = () => objects.draft().of('extension').get('1080')!;
  const first = await ask('POST', path);
  assert.equal(first.status, 200, first.text);
  assert.deepEqual(first.body.secrets, { password: 'made-up-password' });
  assert.equal(passwords.get(stored().id), 'made-up-password');
  const old = stored().body.sip_password;
  const second = await ask('POST', path, { password: 'correct horse', renew_sip_password: true });
  assert.deepEqual(second.body.secrets, { sip_password: stored().body.sip_password });
  assert.notEqual(stored().body.sip_password, old);
  assert.equal(passwords.get(stored().id), 'correct horse');
  assert.deepEqual((await ask('POST', path, { password: null })).body.secrets, {});
  assert.equal((await ask('POST', path, { password: 'short' })).status, 400);
});

test('config routes - the whole as a document: the same bytes, and no change when written back', async (t) => {
  const { ask, objects } = await configRig(t);
  await ask('POST', 'ring-groups', group('care', '550'));
  const json = await ask('GET', 'export');
  assert.equal(json.status, 200, json.text);
  assert.equal((await ask('GET', 'export')).text, json.text);
  for (const secret of ['sip_password', 'voicemail_pin']) assert.ok(!json.text.includes(secret));
  const yaml = await ask('GET', 'export', undefined, { headers: { accept: 'application/yaml' } });
  assert.match(String(yaml.headers['content-type']), /^application\/yaml/);
  assert.deepEqual(parse(yaml.text), json.body);
  const before = objects.draft();
  const same = await ask('POST', 'import', json.body);
  assert.equal(same.status, 200, same.text);
  assert.deepEqual(
    [same.body.differs.added, same.body.differs.changed, same.body.differs.removed],
    [1, 0, 0],
  );
  assert.equal(objects.draft(), before);

  const document = { ...json.body, ring_groups: [], pause_reasons: [{ id: 'tea', name: 'Tea' }] };
  const dry = await ask('POST', 'import?dry_run=true', document);
  assert.deepEqual([dry.body.differs.added, dry.body.differs.removed], [1, 4]);
  assert.equal(objects.draft(), before);
  const merged = await ask('POST', 'import?mode=merge', {
    offhook: 1,
    pause_reasons: document.pause_reasons,
  });
  assert.deepEqual([merged.body.differs.added, merged.body.differs.removed], [2, 0]);
  const replaced = await ask('POST', 'import', document);
  assert.deepEqual([replaced.body.differs.added, replaced.body.differs.removed], [1, 4]);
  assert.equal(objects.draft().of('ring_group').size, 0);
  const secret = (model: typeof before) => model.of('extension').get('1003')?.body.sip_password;
  assert.equal(secret(objects.draft()), secret(before));

  const twice = { ...document, queues: [...document.queues, document.queues[0]] };
  assert.equal((await ask('POST', 'import', twice)).body.findings[0].detail, 'must not occur twice');
  const typo = { ...document, queues: [{ ...document.queues[0], ring_second: 20 }] };
  const [finding] = (await ask('POST', 'import', typo)).body.findings;
  assert.deepEqual(
    [finding.path, finding.detail],
    ['ring_second', 'unknown field; did you mean ring_seconds?'],
  );
  assert.match((await ask('POST', 'import', { ...document, quues: [] })).body.detail, /quues: unknown field/);
  assert.equal((await ask('POST', 'import', { ...document, offhook: 2 })).status, 400);
  assert.equal((await ask('POST', 'import', { ...document, queues: [null] })).status, 400);
  assert.equal((await ask('POST', 'import', [])).status, 400);
});

test('config routes - keys that no address could contain are not found, keys with signs are', async (t) => {
  const { ask } = await configRig(t);
  assert.equal((await ask('GET', 'services/*97')).body.key, '*97');
  assert.equal((await ask('GET', 'services/%2A97/uses')).status, 200);
  for (const key of ['__proto__', 'constructor', '%00', 'a%0Ab', '..', 'toString'])
    assert.equal((await ask('GET', `services/${key}`)).status, 404, key);
  assert.equal((await ask('POST', 'settings', {})).body.code, 'name_taken');
  assert.equal((await ask('GET', 'settings/site')).body.object.name, 'site');
});

test('config routes - a million findings are refused after the first thousand', async (t) => {
  const { ask } = await configRig(t);
  const nothing = Array.from({ length: 200_000 }, () => 0);
  const imported = await ask('POST', 'import', { offhook: 1, menus: nothing });
  assert.equal(imported.status, 400);
  assert.deepEqual([imported.body.findings.length, imported.body.findings_total], [200, 1000]);
  const fields = Object.fromEntries(nothing.map((_, i) => [`field-${i}`, 0]));
  const changes = [{ op: 'create', kind: 'menu', object: { name: 'main', ...fields } }];
  const made = await ask('POST', 'draft/changes', { changes });
  assert.equal(made.status, 400, made.text);
  assert.deepEqual([made.body.findings.length, made.body.findings_total], [200, 1000]);
});

test('config routes - a weakened tag still proves no change, and a missing tag does not match', async (t) => {
  const { ask } = await configRig(t);
  const { body: seen } = await ask('GET', 'queues/support');
  for (const tags of [`W/"${seen.etag}"`, `"other", W/"${seen.etag}"`, '*'])
    assert.equal(
      (await ask('GET', 'queues/support', undefined, { headers: { 'if-none-match': tags } })).status,
      304,
    );
  const other = await ask('GET', 'queues/support', undefined, { headers: { 'if-none-match': 'W/"other"' } });
  assert.equal(other.status, 200);
  const patch = { title: 'Help' };
  for (const [tags, status] of [
    ['', 400],
    [seen.etag, 400],
    [`"other", "${seen.etag}"`, 200],
  ] as const) {
    const answer = await ask('PATCH', 'queues/support', patch, { headers: { 'if-match': tags } });
    assert.equal(answer.status, status, `${tags}: ${answer.text}`);
  }
});

test('config routes - the address of a trunk changes only with its password given again or removed', async (t) => {
  const { ask, draft } = await configRig(t);
  const path = 'trunks/carrier';
  const trunk = {
    name: 'carrier',
    title: 'Carrier',
    host: 'sip.example.com',
    username: 'me',
    codecs: ['alaw'],
  };
  assert.equal((await ask('POST', 'trunks', { ...trunk, password: 'kept-secret' })).status, 201);
  const password = () => draft.objects.draft().of('trunk').get('carrier')?.body.password;
  for (const change of [{ host: 'evil.example.com' }, { port: 5070 }, { transport: 'tcp' }]) {
    const [field = ''] = Object.keys(change);
    const tries = [
      () => ask('PATCH', path, change),
      () => ask('PUT', path, { ...trunk, ...change }),
      () =>
        ask('POST', 'draft/changes', {
          changes: [{ op: 'patch', kind: 'trunk', key: 'carrier', patch: change }],
        }),
      () => ask('POST', 'import?mode=merge', { offhook: 1, trunks: [{ ...trunk, ...change }] }),
    ];
    for (const attempt of tries) {
      const { status, body } = await attempt();
      assert.equal(status, 400, JSON.stringify(body));
      const [finding] = (body as { findings: { path: string; detail: string }[] }).findings;
      assert.equal(finding?.path, 'password');
      assert.match(finding?.detail ?? '', new RegExp(`${field} changes`));
    }
  }
  assert.equal((await ask('PATCH', path, { title: 'Renamed' })).status, 200);
  assert.equal(password(), 'kept-secret');
  assert.equal((await ask('PATCH', path, { host: 'new.example.com', password: 'kept-secret' })).status, 200);
  assert.equal(
    (await ask('PATCH', path, { host: 'open.example.com', username: null, password: null })).status,
    200,
  );
  assert.equal(password(), undefined);
});

test('config routes - a new extension may call nothing expensive by default; an existing one keeps its rights', async (t) => {
  const { ask } = await configRig(t);
  const of = async (path: string) => (await ask('GET', path)).body.object;
  const way = { trunks: [{ trunk: 'carrier' }] };
  assert.equal((await ask('POST', 'trunks', { name: 'carrier', title: 'C', host: '192.0.2.1' })).status, 201);
  assert.equal((await of('trunks/carrier')).max_calls, 30);
  const person = { extension: '1050', username: 'ada', name: 'Ada' };
  assert.equal((await ask('POST', 'extensions', person)).status, 201);
  assert.deepEqual((await of('extensions/1050')).call_permission, [
    'emergency',
    'local',
    'national',
    'mobile',
  ]);
  await ask('PATCH', 'extensions/1050', { call_permission: ['premium'] });
  assert.equal((await ask('PUT', 'extensions/1050', person)).status, 200);
  assert.deepEqual((await of('extensions/1050')).call_permission, ['premium']);
  for (const [name, patterns, wanted] of [
    ['abroad', ['+X.'], 'international'],
    ['zeros', ['00X.'], 'international'],
    ['american', ['011X.'], 'international'],
    ['american-all', ['011.'], 'international'],
    ['all', ['0.'], 'international'],
    ['home', ['+49X.', '0ZX.', '110', '0113X.'], 'national'],
  ] as const) {
    const path = `outbound-routes/${name}`;
    const put = await ask('POST', 'outbound-routes', { name, patterns, ...way });
    assert.equal(put.status, 201, JSON.stringify(put.body));
    assert.equal((await of(path)).class, wanted, name);
  }
  await ask('PATCH', 'outbound-routes/abroad', { class: 'local' });
  await ask('PUT', 'outbound-routes/abroad', { name: 'abroad', patterns: ['+X.'], ...way });
  assert.equal((await of('outbound-routes/abroad')).class, 'local');
});

test('config routes - the token of a phone is chosen by nobody and shown in no reply', async (t) => {
  const { ask } = await configRig(t);
  const phone = { name: 'desk', vendor: 'yealink', extensions: ['1003'] };
  const chosen = await ask('POST', 'phones', { ...phone, token: 'b'.repeat(43) });
  assert.equal(chosen.status, 400, chosen.text);
  assert.match(chosen.text, /token.*is generated; send null for a new one/);
  const made = await ask('POST', 'phones', phone);
  assert.equal(made.status, 201, made.text);
  assert.deepEqual([made.body.secrets, made.body.secrets_set], [{}, ['token']]);
  assert.equal((await ask('PATCH', 'phones/desk', { token: 'b'.repeat(43) })).status, 400);
  const renewed = await ask('PATCH', 'phones/desk', { token: null });
  assert.deepEqual([renewed.status, renewed.body.secrets], [200, {}]);
});
