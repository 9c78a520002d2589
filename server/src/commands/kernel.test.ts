import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { createVirtualClock } from '../adapters/memory/virtual-clock.ts';
import { ServiceError, effectOf, markNotBegun } from '../core/errors.ts';
import { silent } from '../core/log.ts';
import { say } from '../core/said.ts';
import type { AuditEntry } from '../ports/audit.ts';
import { Commands } from './kernel.ts';
import type { Line } from './audited.ts';
import type { Command, CommandRules } from './kernel.ts';

const ASKED: Line = { action: 'calls.hold', actor: 'zoe', object: 'c1', ip: null };
const LIMIT = (counts: 'asked' | 'planned'): Partial<CommandRules> => ({
  limit: { counts, refusal: (count, who) => say`${count} operations of ${who} are under way` },
});

/** Commands on an engine that only records its requests. */
function rig(rules: Partial<CommandRules> = {}) {
  const asked: string[] = [];
  const trail: AuditEntry[] = [];
  const events: DomainEvent[] = [];
  const refuse = { audit: false };
  const commands = new Commands(
    {
      engine: {
        settled: async () => void asked.push('settled'),
        roundTrip: async () => void asked.push('round trip'),
      },
      audit: {
        async record(entry) {
          if (refuse.audit) throw new ServiceError('store_unavailable', 'the disk is full');
          trail.push(entry);
        },
      },
      clock: createVirtualClock(),
      log: silent,
      tell: ({ operation_id }) => void asked.push(`expects for ${operation_id.split('-')[0]}`),
    },
    {
      prefix: 'op',
      confirm_ms: 1_000,
      unsent: 'by_code',
      publish: (some) => void events.push(...some),
      ...rules,
    },
  );
  const command = (more: Partial<Command<string>> = {}): Command<string> => ({
    causes: { expects: [], ms: 1_000 },
    run: async () => (asked.push('sent'), 'done'),
    audit: 'must',
    ...more,
  });
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: unknown) => (error instanceof ServiceError ? error.code : 'internal'),
    );
  const lines = () => trail.map(({ outcome, detail }) => [outcome, detail?.['code'] ?? null]);
  const states = () => events.map(({ data }) => (data as { readonly state: string }).state);
  return { commands, command, asked, trail, events, refuse, codeOf, lines, states };
}
const failure = (code: 'engine_timeout' | 'engine_refused' | 'call_gone') => async (): Promise<never> => {
  throw new ServiceError(code, 'no');
};

test('commands - planned once the engine has settled, named before it is sent, audited and published after', async () => {
  const r = rig();
  const { id, value, pending } = await r.commands.run(ASKED, () => r.command());
  assert.deepEqual([value, pending], ['done', false]);
  assert.deepEqual(r.asked, ['settled', 'expects for op', 'sent']);
  assert.deepEqual(r.trail, [{ ...ASKED, outcome: 'ok' }]);
  assert.deepEqual(
    r.events.map((event) => [event.type, event.caused_by]),
    [['operation.completed', id]],
  );
  assert.deepEqual(r.states(), ['succeeded']);
});

test('commands - a result that the engine shows already counts after a round trip and a second plan', async () => {
  const r = rig();
  const plans = [true, false];
  await r.commands.run(ASKED, () => r.command({ isSo: plans.shift()! }));
  assert.deepEqual(r.asked, ['settled', 'round trip', 'expects for op', 'sent']);
});

test('commands - an outcome is refused, failed or unknown by the code of its error, and the feature takes it back', async () => {
  for (const [code, outcome, state] of [
    ['call_gone', 'refused', 'failed'],
    ['engine_refused', 'failed', 'failed'],
    ['engine_timeout', 'failed', 'unknown'],
  ] as const) {
    const r = rig();
    let undone = false;
    const undo = (error: unknown): unknown => ((undone = true), error);
    assert.equal(await r.codeOf(r.commands.run(ASKED, () => r.command({ run: failure(code), undo }))), code);
    assert.equal(undone, true);
    assert.deepEqual(r.lines(), [[outcome, code]]);
    assert.deepEqual(r.states(), [state]);
  }
});

test('commands - a line that must be first prevents the sending, one that belongs to the success takes it back', async () => {
  const r = rig();
  r.refuse.audit = true;
  assert.equal(
    await r.codeOf(r.commands.run(ASKED, () => r.command({ audit: 'first' }))),
    'store_unavailable',
  );
  assert.deepEqual(r.asked, ['settled']);
  let undone = false;
  const undo = (error: unknown): unknown => ((undone = true), error);
  const audit = () => Promise.reject(new ServiceError('store_unavailable', 'the disk is full'));
  assert.equal(await r.codeOf(r.commands.run(ASKED, () => r.command({ audit, undo }))), 'store_unavailable');
  assert.equal(undone, true);
});

test('commands - the error of a command that may have taken effect is marked, one before the sending or undone is not', async () => {
  const broken = new ServiceError('engine_unavailable', 'the link is down');
  const refusal = new ServiceError('store_unavailable', 'the disk is full');
  for (const [name, more, error, uncertain] of [
    ['sent', {}, broken, true],
    ['not sent', {}, markNotBegun(new ServiceError('overloaded', 'too many actions')), false],
    ['undone', { undo: (thrown: unknown) => thrown }, refusal, false],
    ['undone by a command without an answer', { undo: () => broken }, refusal, true],
  ] as const) {
    const { commands, command } = rig();
    const run = () => Promise.reject(error);
    const thrown: unknown = await commands
      .run(ASKED, () => command({ run, ...more }))
      .catch((e: unknown) => e);
    assert.equal(effectOf(thrown) === true, uncertain, name);
  }
  const { commands, command, refuse } = rig();
  const down = () => Promise.reject(new ServiceError('engine_unavailable', 'the link is down'));
  const unplanned: unknown = await commands.run(ASKED, down).catch((e: unknown) => e);
  assert.equal(effectOf(unplanned), false);
  refuse.audit = true;
  const unaudited: unknown = await commands.run(ASKED, () => command()).catch((e: unknown) => e);
  assert.equal(effectOf(unaudited), true);
});

test('commands - a refusal before the sending is audited as the feature requires', async () => {
  for (const [unsent, lines] of [
    ['by_code', [['failed', 'engine_timeout']]],
    ['refused', [['refused', 'engine_timeout']]],
    ['no_line', []],
  ] as const) {
    const r = rig({ unsent });
    assert.equal(await r.codeOf(r.commands.run(ASKED, failure('engine_timeout'))), 'engine_timeout');
    assert.deepEqual(r.lines(), lines);
    assert.deepEqual(r.asked, ['settled']);
  }
});

test('commands - 8 at once: counted from the request, the ninth is not planned; from the plan, it is planned and has no line', async () => {
  for (const counts of ['asked', 'planned'] as const) {
    const r = rig(LIMIT(counts));
    const gate = Promise.withResolvers<string>();
    let plans = 0;
    const plan = () => ((plans += 1), r.command({ run: () => gate.promise }));
    const eight = Array.from({ length: 8 }, () => r.commands.run(ASKED, plan));
    assert.equal(await r.codeOf(r.commands.run(ASKED, plan)), 'too_many_requests');
    assert.deepEqual(r.lines(), counts === 'asked' ? [['refused', 'too_many_requests']] : []);
    assert.equal(plans, counts === 'asked' ? 8 : 9);
    gate.resolve('done');
    await Promise.all(eight);
    await r.commands.run(ASKED, plan);
  }
});

test('commands - an operation with a rest keeps its place until its end, and ends as unknown with the service', async () => {
  const r = rig(LIMIT('planned'));
  const rest = (signal: AbortSignal): Promise<void> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  for (let i = 0; i < 8; i += 1) {
    const { pending } = await r.commands.run(ASKED, () => r.command({ rest }));
    assert.equal(pending, true);
  }
  assert.equal(await r.codeOf(r.commands.run(ASKED, () => r.command())), 'too_many_requests');
  assert.deepEqual(r.events, []);
  await r.commands.close();
  assert.deepEqual(
    r.states(),
    Array.from({ length: 8 }, () => 'unknown'),
  );
});
