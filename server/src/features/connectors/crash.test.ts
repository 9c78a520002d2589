import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';
import { mortalStore } from '../../../test/support/mortal-store.ts';
import { startCrm } from '../../../test/support/crm.ts';
import type { Mood } from '../../../test/support/crm.ts';
import { PATIENCE_MS, until } from '../../../test/support/until.ts';
import { createConnectorStore } from './store.ts';

/** Conversations of a life; the first one makes room for the others, which are under way together. */
const CALLS = ['a:0', 'a:1', 'a:2', 'a:3'] as const;
/**
 * Runs conversations through a life that dies at a commit and a second one; returns for each what stands there and in the
 * ledger.
 */
async function killed(
  t: TestContext,
  once: 'find' | 'ledger',
  at: number,
  side: 'before' | 'after',
  mood: Mood,
): Promise<{
  readonly ends: { readonly entries: number; readonly state: string }[];
  readonly died: boolean;
}> {
  const rig = await connectorsRig(t);
  await rig.create(once);
  await rig.connectors.close();
  for (const id of CALLS) rig.feed.put(id);
  const life = mortalStore(rig.temp.store, at, side);
  rig.crm.mood = (request) => (request === 'POST /entries' && !life.dead ? mood : 'works');
  const first = await rig.open({ store: life.store });
  const states = async (): Promise<string[]> => {
    const reader = await createConnectorStore(rig.temp.store);
    const rows = await reader.entries(1, { limit: 10, before: null, state: null, conversation: null });
    return CALLS.map((id) => rows.find(({ conversation }) => conversation === id)?.state ?? 'none');
  };
  const isEnd = (state: string): boolean => state === 'sent' || state === 'uncertain';
  let quiet = 0;
  await until('the end of the first life', async () => {
    await rig.clock.advance(500);
    const now = await states();
    quiet = now.every((state) => isEnd(state) || state === 'unknown') ? quiet + 1 : 0;
    return life.dead || now.every(isEnd) || quiet > 3;
  });
  const died = life.dead;
  if (!died) await first.close();
  rig.crm.mood = () => 'works';
  const second = await rig.open();
  rig.replace(second);
  await until('an end', async () => {
    await rig.clock.advance(5_000);
    return (await states()).every(isEnd);
  });
  await rig.clock.advance(60_000);
  const last = await states();
  return { ends: CALLS.map((id, at) => ({ entries: rig.crm.of(id).length, state: last[at]! })), died };
}

for (const once of ['find', 'ledger'] as const)
  test(`connectors - once: ${once}: a service that dies at any commit, whatever became of the request, leaves one entry or a named doubt`, async (t) => {
    let deaths = 0;
    for (const side of ['before', 'after'] as const)
      for (const mood of ['works', 'lost', 'away'] as const)
        for (let at = 1; at <= 8; at += 1) {
          const { ends, died } = await killed(t, once, at, side, mood);
          deaths += Number(died);
          const where = `${side} commit ${at}, the request ${mood}: ${JSON.stringify(ends)}`;
          for (const { entries, state } of ends)
            if (once === 'find') assert.deepEqual([entries, state], [1, 'sent'], where);
            else if (state === 'sent') assert.equal(entries, 1, where);
            else assert.ok(entries <= 1, where);
        }
    assert.ok(deaths >= 24, `only ${deaths} lives ended`);
  });

test('connectors - once: ledger: what is uncertain is never sent again by itself, and as one a person found it is updated', async (t) => {
  const rig = await connectorsRig(t);
  rig.crm.mood = (request) => (request === 'POST /entries' ? 'lost' : 'works');
  await rig.create('ledger');
  rig.feed.put('a:1');
  await rig.stands('uncertain', 'a:1');
  rig.feed.put('a:1', { revision: 2, state: 'amended' });
  rig.crm.mood = () => 'works';
  rig.connectors.service.wake();
  await rig.clock.advance(48 * 3_600_000);
  const [entry] = await rig.entries();
  assert.deepEqual([entry!.state, rig.crm.of('a:1').length], ['uncertain', 1]);
  assert.match(entry!.words!, /look there before/);
  const [there] = rig.crm.of('a:1');
  await rig.call('POST', `connectors/1/entries/${entry!.id}/retry`, { entry_id: there!.id });
  await rig.stands('sent', 'a:1');
  assert.equal(rig.crm.of('a:1').length, 1);
});

test('connectors - a service killed with -9 at each of ten requests: one entry of each conversation', async (t) => {
  await using temp = await temporaryStore();
  await using crm = await startCrm();
  await temp.store.close();
  const program = path.resolve(import.meta.dirname, '../../../test/support/connector-main.ts');
  const calls = Array.from({ length: 12 }, (_, n) => `k:${n}`);
  let child: ChildProcess | null = null;
  let kills = 0;
  const ended = Promise.withResolvers<void>();
  const start = (): void => {
    child = spawn(
      process.execPath,
      [program, path.join(temp.folder, 'offhook.db'), crm.url, calls.join(' ')],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    ).once('exit', (code) => {
      if (code === 0) ended.resolve();
    });
  };
  t.after(() => child?.kill('SIGKILL'));
  // Some die before their request is done, some after it and before its answer.
  crm.mood = (request) => {
    if (!/^(POST|PATCH)/.test(request) || kills >= 10) return 'works';
    kills += 1;
    child!.kill('SIGKILL');
    setTimeout(start, 50);
    return kills % 2 === 0 ? 'silent' : 'away';
  };
  start();
  let done = false;
  void ended.promise.then(() => (done = true));
  await until('a life that ends with every entry sent', () => done, { ms: 10 * PATIENCE_MS });
  assert.equal(kills, 10);
  assert.deepEqual(
    calls.map((id) => crm.of(id).length),
    calls.map(() => 1),
  );
});
