import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_CALLER_RULES } from '@offhook/contract/caller-rules.ts';
import type { CallerRule } from '@offhook/contract/caller-rules.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { authenticatorWithKeys, hostFixture } from '../../../test/support/host-fixture.ts';
import { until } from '../../../test/support/until.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import { addOperations } from '../../http/operations.ts';
import { numberSubject } from '../../numbers/subject.ts';
import type { CallerRuleVerbs, StoredCallerRule } from '../../ports/engine-verbs.ts';
import { createAudit } from '../audit/service.ts';
import { callerRuleOperations } from './operations.ts';
import { CallerRules } from './service.ts';
import { migrations } from './tables.ts';
import type { RuleRow, RuleTables } from './tables.ts';

async function rig(t: { after(end: () => Promise<void>): void }) {
  const { store, ...temp } = await temporaryStore();
  const clock = createVirtualClock();
  const audit = await createAudit(store, clock, silent);
  const kept = new Map<string, StoredCallerRule | null>();
  const events: DomainEvent[] = [];
  const away = { engine: false, writes: false, forgotten: 0 };
  const engine: CallerRuleVerbs = {
    async storedCallerRules(each) {
      for (const [key, rule] of kept) each(key, rule);
    },
    async keepCallerRules(rules) {
      if (away.writes) throw new ServiceError('engine_unavailable', 'away');
      for (const [key, rule] of rules)
        if (rule === null) kept.delete(key);
        else kept.set(key, rule);
    },
    async forgetLastCallers() {
      if (away.engine) throw new ServiceError('engine_unavailable', 'away');
      away.forgotten += 1;
    },
  };
  const open = () =>
    CallerRules.open({
      store,
      engine,
      country: 'DE',
      audit,
      clock,
      log: silent,
      publish: (all) => void events.push(...all),
    });
  const rules = await open();
  const host = await hostFixture({ authenticator: authenticatorWithKeys({ crm: {} }) });
  addOperations(host.app, [callerRuleOperations(rules)]);
  await host.app.ready();
  t.after(async () => {
    await host.close();
    await rules.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const ask = async (token: string, method: 'GET' | 'POST' | 'DELETE', path = '', payload?: object) => {
    const reply = await host.app.inject({
      method,
      url: `/api/v1/caller-rules${path}`,
      headers: { authorization: `Bearer ${token}` },
      ...(payload === undefined ? {} : { payload }),
    });
    return {
      status: reply.statusCode,
      body: reply.json<{ code?: string; rule: CallerRule; rules: CallerRule[]; enforced: boolean }>(),
    };
  };
  const enforced = () =>
    until('the engine to have the rules', async () => (await ask('token-agent', 'GET')).body.enforced);
  return { rules, kept, away, events, audit, ask, enforced, open };
}
const marks = (kept: ReadonlyMap<string, StoredCallerRule | null>) =>
  Object.fromEntries([...kept].map(([key, r]) => [key, [r?.number, r?.prefix, r?.by]]));

test('caller rules - the engine has each spelling of a rule, once it is there; agents block numbers, supervisors do the rest', async (t) => {
  const { rules, kept, events, audit, ask, enforced } = await rig(t);
  const made = await ask('token-agent', 'POST', '', { number: '0301234567' });
  assert.deepEqual([made.status, made.body.rule.number], [201, '+49301234567']);
  assert.equal(
    (await ask('token-agent', 'POST', '', { number: '+49 30 1234567' })).body.rule.id,
    made.body.rule.id,
  );
  assert.equal((await ask('token-agent', 'GET')).body.enforced, false);
  assert.equal(kept.size, 0, 'the engine is away');
  rules.again();
  await enforced();
  const both = ['block', null, null];
  assert.deepEqual(marks(kept), { '+49301234567': both, '0301234567': both });
  for (const [token, body] of [
    ['token-agent', { match: 'prefix', number: '+4930' }],
    ['token-agent', { action: 'allow', number: '+49301' }],
    ['token-agent', { match: 'anonymous' }],
    ['token-user', { number: '+4930123' }],
  ] as const)
    assert.equal((await ask(token, 'POST', '', body)).status, 403, JSON.stringify(body));
  for (const body of [
    { match: 'prefix', number: '30' },
    { match: 'prefix', number: `+${'1'.repeat(16)}` },
    { match: 'prefix' },
    { match: 'anonymous', number: '+49' },
    { match: 'anonymous', action: 'allow' },
    { number: null },
    { number: "1';--" },
    { number: '1'.repeat(500) },
    { number: '+49301234568', note: 'a\nb' },
    { number: '+49301234568', x: 1 },
  ]) {
    const { status, body: said } = await ask('token-supervisor', 'POST', '', body);
    assert.deepEqual([status, said.code], [400, 'invalid_request'], JSON.stringify(body));
  }
  assert.equal(
    (await ask('token-supervisor', 'POST', '', { action: 'allow', number: '+49301234567' })).body.code,
    'name_taken',
  );
  await ask('token-supervisor', 'POST', '', { match: 'prefix', number: '0900', note: 'Premium' });
  await ask('token-supervisor', 'POST', '', { match: 'prefix', action: 'allow', number: '00431' });
  await ask('token-supervisor', 'POST', '', { match: 'anonymous' });
  await enforced();
  assert.deepEqual(marks(kept), {
    '+49301234567': both,
    '0301234567': both,
    '+49900': [null, 'block', null],
    '0900': [null, 'block', null],
    '+431': [null, 'allow', null],
    anonymous: both,
  });
  const { id } = made.body.rule;
  assert.equal((await ask('token-agent', 'DELETE', `/${id}`)).status, 403);
  assert.equal((await ask('token-supervisor', 'DELETE', `/${id}`)).status, 200);
  assert.equal((await ask('token-supervisor', 'DELETE', `/${id}`)).status, 404);
  await enforced();
  assert.equal(kept.has('0301234567'), false);
  assert.deepEqual(
    events.map(({ type, data }) => [type, (data as { change: string }).change]),
    [
      ...Array.from({ length: 4 }, () => ['phonebook.callers_changed', 'created']),
      ['phonebook.callers_changed', 'deleted'],
    ],
  );
  assert.ok(!JSON.stringify(events).includes('1234567'), 'no number in the journal');
  const { entries } = await audit.page({ limit: 10 });
  assert.deepEqual(entries.map((e) => [e.action, e.actor]).slice(0, 2), [
    ['caller_rule.deleted', 'supervisor'],
    ['caller_rule.created', 'supervisor'],
  ]);
});

test('caller rules - a rule of a feature code that is deleted before the engine takes it over does not return', async (t) => {
  const { rules, kept, away, ask, enforced } = await rig(t);
  kept.set('4930555666', { number: 'block', prefix: null, by: '1001' });
  away.writes = true;
  rules.again();
  const list = async () => (await ask('token-agent', 'GET')).body.rules;
  const [rule] = await until('the rule', async () => ((await list()).length === 1 ? await list() : null));
  assert.equal((await ask('token-supervisor', 'DELETE', `/${rule!.id}`)).status, 200);
  away.writes = false;
  rules.again();
  await enforced();
  assert.deepEqual([await list(), kept.size], [[], 0]);
  kept.set('4930555666', { number: 'block', prefix: null, by: '1001' });
  rules.written();
  await enforced();
  assert.equal((await list()).length, 1, 'a later code blocks again');
});

test('caller rules - what a feature code wrote becomes a rule, what nothing of ours wrote is undone, a full list refuses', async (t) => {
  const { rules, kept, away, ask, enforced, open } = await rig(t);
  kept.set('4930555666', { number: 'block', prefix: null, by: '1001' });
  kept.set('123', { number: 'block', prefix: 'block', by: null });
  kept.set('77', null);
  rules.again();
  await enforced();
  const { body } = await ask('token-agent', 'GET');
  assert.deepEqual(
    body.rules.map(({ number, created_by }) => [number, created_by]),
    [['+4930555666', '1001']],
  );
  assert.deepEqual([...kept.keys()].toSorted(), ['+4930555666', '030555666']);
  assert.equal(kept.get('030555666')?.by, null);
  assert.equal((await open()).list().rules.length, 1, 'after a restart');
  const subject = numberSubject('030 555666', 'DE')!;
  const signal = AbortSignal.timeout(60_000);
  assert.deepEqual(await rules.data.count(subject, signal), { caller_rules: 1 });
  const known = [];
  for await (const one of rules.data.collect!(subject, [], signal)) known.push(one.kind);
  assert.deepEqual(known, ['caller_rule']);
  away.engine = true;
  assert.deepEqual(await rules.data.erase(subject, 'erased-1', signal), { caller_rules: 1 });
  assert.equal(away.forgotten, 0);
  away.engine = false;
  rules.again();
  await until('the last callers of phones to be deleted', () => away.forgotten === 1);
  await enforced();
  assert.equal(kept.size, 0);
  for (let i = 0; i < MAX_CALLER_RULES; i += 1)
    kept.set(`+43${i}`, { number: 'block', prefix: null, by: '1001' });
  kept.set('+44', { number: 'block', prefix: null, by: '1001' });
  rules.written();
  await enforced();
  assert.equal((await ask('token-agent', 'GET')).body.rules.length, MAX_CALLER_RULES);
  assert.equal((await ask('token-agent', 'POST', '', { number: '+4930555666' })).body.code, 'limit_reached');
});

test('caller rules - no rule gets the id of a deleted one, so that a repeated DELETE deletes no other; a migrated rule keeps its id', async (t) => {
  const { ask, open } = await rig(t);
  const add = async (number: string) => (await ask('token-supervisor', 'POST', '', { number })).body.rule.id;
  const remove = async (id: number) => (await ask('token-supervisor', 'DELETE', `/${id}`)).status;
  const [kept, wrong] = [await add('+49301'), await add('+49302')];
  assert.equal(await remove(wrong), 200);
  assert.equal(await remove(wrong), 404);
  const right = await add('+49303');
  assert.ok(right > wrong);
  assert.equal(await remove(wrong), 404);
  const ids = (await ask('token-agent', 'GET')).body.rules.map(({ id }) => id);
  assert.deepEqual(ids, [right, kept]);
  assert.deepEqual(
    (await open()).list().rules.map(({ id }) => id),
    ids,
  );

  const { store, ...temp } = await temporaryStore();
  t.after(() => temp[Symbol.asyncDispose]());
  await store.migrate(
    'caller-rules',
    migrations.filter(({ id }) => id < '0110'),
  );
  const rule = { action: 'block', match: 'number', note: null, created_by: 'ada', created_at: 1 } as const;
  const db = store.db<RuleTables>();
  await db
    .insertInto('caller_rules')
    .values([
      { id: 4, number: '+491', ...rule },
      { id: 7, number: '+492', ...rule },
    ])
    .execute();
  await store.migrate('caller-rules', migrations);
  await db.deleteFrom('caller_rules').where('id', '=', 7).execute();
  await db
    .insertInto('caller_rules')
    .values({ number: '+493', ...rule } as RuleRow)
    .execute();
  const rows = await db.selectFrom('caller_rules').select(['id', 'number']).orderBy('id').execute();
  assert.deepEqual(
    rows.map(({ id, number }) => [id, number]),
    [
      [4, '+491'],
      [8, '+493'],
    ],
  );
});
