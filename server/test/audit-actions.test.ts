import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { Area, Operation } from '@offhook/contract/operation.ts';
import { kindOperations } from '@offhook/contract/operations/config.ts';
import { auditDetails } from './support/audit-details.ts';
import { REPOSITORY, readSources } from './support/sources.ts';

/** Writes that the audit trail has no line of, with the reason. */
const UNAUDITED: Readonly<Record<string, string>> = {
  '/api/mobile/call_history.php': 'hides rows in the own list',
  '/api/v1/calls/:id/quality': 'a measurement of a phone',
  '/api/v1/config/route-test': 'changes nothing',
  '/api/v1/config/validate': 'changes nothing',
  '/api/v1/connectors/:id/test': 'changes nothing',
  '/api/v1/presence': 'the own word, which its event tells',
  '/api/v1/session/confirm': 'only a failure has a line',
  '/api/v1/session/otp': 'counts once it is confirmed',
  '/api/v1/stream/ticket': 'a pass for a socket',
  '/api/v1/webhooks/:id/test': 'the delivery log has it',
};

/** Files with details that are named at run time, with the reason why that needs no words here. */
const COMPUTED: Readonly<Record<string, string>> = {
  'server/src/features/audit/service.ts': 'reads what others wrote',
  'server/src/features/console-settings/service.ts': 'settings of the console, which it also writes by name',
  'server/src/features/pbx-config/draft.ts': 'fields of the configuration, in console/locales/*/fields.json',
  'server/src/features/self-service/change.ts': 'features of an extension, which it also writes by name',
};

async function everyOperation(): Promise<Operation[]> {
  const folder = path.join(REPOSITORY, 'contract/operations');
  const files = (await readdir(folder)).filter((name) => name !== 'groups.ts');
  const modules = await Promise.all(
    files.map((name) => import(path.join(folder, name)) as Promise<Record<string, unknown>>),
  );
  const areas = modules.flatMap((module) =>
    Object.values(module).filter((value): value is Area => typeof value === 'object'),
  );
  return [...areas, kindOperations('queue')].flatMap((area) => Object.values<Operation>(area));
}
const actionsOf = ({ audit = [] }: Operation): readonly string[] => [audit].flat();

test('audit - every write names its action of the trail, or stands in the list of those without', async () => {
  const writes = (await everyOperation()).filter(({ method }) => method !== 'GET');
  assert.ok(writes.length > 80, `only ${writes.length} writes were found: the test looks in the wrong place`);
  const without: readonly string[] = writes
    .filter((operation) => actionsOf(operation).length === 0)
    .map((o) => o.path);
  const listed = Object.keys(UNAUDITED);
  const different = [...without, ...listed].filter(
    (path) => !without.includes(path) || !listed.includes(path),
  );
  const remedy = 'give these operations `audit`, or a row of UNAUDITED';
  assert.deepEqual(without.toSorted(), listed, `${remedy}: ${different.join(', ')}`);
});

test('audit - the console has words for every action that an operation names', async () => {
  const file = path.join(REPOSITORY, 'console/locales/en/audit-actions.json');
  const words = JSON.parse(await readFile(file, 'utf8')) as Readonly<Record<string, string>>;
  const named = new Set((await everyOperation()).flatMap(actionsOf));
  const missing = [...named].filter((action) => words[action] === undefined);
  const remedy = 'add these actions to console/locales/*/audit-actions.json';
  assert.deepEqual(missing, [], `${remedy}: ${missing.join(', ')}`);
});

test('audit - every action that an operation names is written by the server', async () => {
  const files = (await readSources(['server/src'], /\.ts$/)).filter((f) => !f.path.endsWith('.test.ts'));
  const all = files.map((f) => f.text).join('\n');
  // An action is written whole, or its noun before what is filled in, as `agent.${kind}`.
  const isWritten = (action: string): boolean => {
    const [noun = '', verb = ''] = action.split('.');
    return all.includes(`'${action}'`) || (all.includes(`\`${noun}.\${`) && all.includes(`'${verb}'`));
  };
  const named = (await everyOperation()).flatMap(actionsOf);
  const unwritten = named.filter((action) => !isWritten(action));
  assert.deepEqual(unwritten, [], `no code below server/src writes these actions: ${unwritten.join(', ')}`);
});

test('audit - the console has words for every name that the server can write in `detail`', async () => {
  const { names, computed } = auditDetails();
  assert.ok(names.size > 80, `only ${names.size} names were found: the test looks in the wrong place`);
  const remedy = 'type these details as `AuditEntry["detail"]`, or add a row of COMPUTED';
  assert.deepEqual([...computed].toSorted(), Object.keys(COMPUTED), remedy);
  for (const language of ['en', 'de', 'tr']) {
    const file = path.join(REPOSITORY, `console/locales/${language}/audit-details.json`);
    const words = JSON.parse(await readFile(file, 'utf8')) as Readonly<Record<string, string>>;
    // The former value of `x` is `was_x`, which the console shows beside the new one.
    const missing = [...names].filter(([name]) => words[name.replace(/^was_/, '')] === undefined);
    assert.deepEqual(missing, [], `add these names to ${path.relative(REPOSITORY, file)}`);
  }
});
