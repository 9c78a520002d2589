import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { queueName, queueNames } from '../app/queue-names.ts';
import { talkSpan } from '../app/talk-span.ts';
import { beyondExport, exportFilterOf, queryOf, rangeOf, readFilters, writeFilters } from './filters.ts';
import { fits, sameNumber } from './fits.ts';
import { arriving, caughtUp, rowsOf, updating, without } from './pages.ts';
import { numberOf, sidesOf } from './sides.ts';
import type { Pages } from './use-conversations.ts';

const one = (n: number, over: Partial<ConversationSummary> = {}): ConversationSummary => {
  const row = {
    id: `ast1:${n}.1`,
    merged_from: [],
    change: n,
    state: 'final',
    direction: 'internal',
    disposition: 'answered',
    started_at: new Date(Date.UTC(2026, 10, 22, 9, n)).toISOString(),
    dialled: '1002',
    dialled_e164: null,
    caller: { extension: '1001', number: '1001', number_e164: null, name: 'Zoë Müller', trunk: null },
    parties: [],
    extensions: ['1001', '1002'],
    queues: [],
    agents: [],
    has_recording: false,
    outcome: null,
    ...over,
  };
  return row as unknown as ConversationSummary;
};
const page = (conversations: ConversationSummary[], next_cursor: string | null = null, count?: number) => ({
  success: true as const,
  conversations,
  next_cursor,
  total: count === undefined ? null : { count, exact: true },
});
const pages = (...all: Pages['pages']): Pages => ({ pages: all, pageParams: all.map(() => undefined) });
const ids = (data: Pages): string[] => rowsOf(data).map((c) => c.id.slice(5, -2));

test('history list - known conversations change in position, new ones are inserted by time, merged ones are removed', () => {
  const data = pages(page([one(9), one(8)], 'a', 5), page([one(6), one(5)], 'b'));
  const joined = one(10, { merged_from: [one(8).id], change: 90 });
  const after = arriving(data, [joined, one(7, { change: 91 }), one(1, { change: 92 })], {});
  assert.deepEqual(ids(after), ['10', '9', '7', '6', '5'], 'older than what is loaded comes with its page');
  assert.equal(after.pages[0]?.total?.count, 6);
  const changed = arriving(after, [one(6, { change: 95, notes: 3 }), one(9, { change: 2, notes: 9 })], {});
  assert.equal(rowsOf(changed).find((c) => c.id === one(6).id)?.notes, 3);
  assert.notEqual(rowsOf(changed).find((c) => c.id === one(9).id)?.notes, 9, 'an older word is not news');
  assert.deepEqual(ids(updating(data, [one(20), one(9, { change: 99 })])), ['9', '8', '6', '5']);
  assert.deepEqual(ids(without(data, [one(9).id])), ['8', '6', '5']);
  assert.deepEqual(ids(without(data, 'all')), []);
});

test('history list - a merged conversation is removed although its own earlier update comes with the merge', () => {
  const data = pages(page([one(9), one(8)], null, 2));
  const merge = one(9, { merged_from: [one(8).id], change: 91 });
  for (const some of [
    [one(8, { change: 90 }), merge],
    [merge, one(8, { change: 90 })],
  ]) {
    const after = arriving(data, some, {});
    assert.deepEqual(ids(after), ['9']);
    assert.equal(after.pages[0]?.total?.count, 1);
  }
  assert.deepEqual(ids(arriving(data, [merge, one(8, { change: 92 })], {})), ['9', '8'], 'a later update');
});

test('history list - only conversations that match the filters are inserted', () => {
  const c = one(1, { dialled_e164: '+4930901820', queues: ['support'], disposition: 'missed' });
  assert.ok(
    fits(c, { q: 'muller' }) && fits(c, { q: '90182' }) && fits(c, { queue: 'support', person: '1002' }),
  );
  assert.ok(
    !fits(c, { q: 'nobody' }) && !fits(c, { disposition: 'answered' }) && !fits(c, { person: '1003' }),
  );
  assert.ok(!fits(c, { from: '2026-11-22T09:02:00Z' }) && !fits(c, { to: '2026-11-22T09:01:00Z' }));
  for (const same of ['030 90 18 20', '+49 30 901820', '0049 30 90182-0', '+4930901820']) {
    assert.ok(fits(c, { number: same }), same);
  }
  assert.ok(!sameNumber('0820', '+4930901820') && !sameNumber('820', '+4930901820'));
});

test('history filters - the address stores them, and invalid values are dropped', () => {
  const search = new URLSearchParams(
    'when=7d&from=2026-01-01T00:00:00Z&person=12ab&direction=up&q=%20Zo%C3%AB&view=mine',
  );
  assert.deepEqual(readFilters(search), { when: '7d', q: 'Zoë' });
  const next = writeFilters(search, { when: null, q: '', queue: 'support' });
  assert.equal(next.get('view'), 'mine');
  assert.deepEqual(readFilters(next), { from: '2026-01-01T00:00:00Z', queue: 'support' });
  const now = Date.UTC(2026, 10, 22, 12);
  const { from = '', to = '' } = rangeOf({ when: 'yesterday' }, now);
  assert.equal(Date.parse(to) - Date.parse(from), 86_400_000);
  assert.deepEqual(queryOf({ recording: 'false', outcome: 'sold' }, 'mine', '1001', now), {
    own: true,
    outcome: 'sold',
    has_recording: false,
  });
  assert.deepEqual(exportFilterOf({ queue: 'support' }, 'mine', '1001', now), {
    queue: 'support',
    person: '1001',
  });
  assert.deepEqual(beyondExport({ state: 'open', q: 'x' }), ['state']);
});

test('history list - after missed events, a list with an older conversation that goes on is read again', () => {
  const list = (...rows: ConversationSummary[]): Pages => ({
    pages: [{ success: true, conversations: rows, next_cursor: null, total: null }],
    pageParams: [undefined],
  });
  const newest = [one(9), one(8)];
  assert.equal(caughtUp(list(one(8), one(7)), newest, 2), 'current');
  assert.equal(caughtUp(list(one(8, { state: 'open' }), one(7)), newest, 2), 'current');
  assert.equal(caughtUp(list(one(8), one(7, { state: 'open' })), newest, 2), 'open');
  assert.equal(caughtUp(list(one(7), one(6)), newest, 2), 'beyond');
  assert.equal(caughtUp(list(one(7)), newest, 3), 'current', 'all there are');
  assert.equal(caughtUp(list(one(7, { state: 'open' })), newest, 3), 'open', 'with a filter for open ones');
});

test('history list - for a queue, the answering agent is the other side, else the queue', () => {
  const party = (extension: string) => ({ extension, number: extension, name: '' });
  const queued = (over: Partial<ConversationSummary>): ConversationSummary =>
    one(1, {
      dialled: '500',
      queues: ['support'],
      parties: ['1001', '1004', '1005'].map(party) as ConversationSummary['parties'],
      caller: party('1001') as ConversationSummary['caller'],
      ...over,
    });
  const sides = (c: ConversationSummary, own: string | null): string[] => sidesOf(c, own).map(numberOf);
  const answered = queued({ agents: ['1005'], answered_at: '2026-11-22T09:01:00Z' });
  assert.deepEqual(sides(answered, null), ['1001', '1005']);
  assert.deepEqual(sides(answered, '1001'), ['1005']);
  assert.deepEqual(sides(answered, '1005'), ['1001']);
  const abandoned = queued({ answered_at: null });
  assert.deepEqual(sides(abandoned, null), ['1001', '500']);
  assert.deepEqual(sides(abandoned, '1004'), ['1001']);
});

test('history list - a queue is named by its title, and by its key without one', () => {
  const c = { queues: ['support', 'closed'], queue_titles: ['Customer support', null] };
  assert.deepEqual(queueNames(c), ['Customer support', 'closed']);
  assert.equal(queueName(c, 'other'), 'other');
  assert.deepEqual(queueNames({ queues: ['support'] }), ['support']);
});

test('history list - two people who talked for 21 s are 21 s, not 42', () => {
  const talk = {
    answered_at: '2026-11-22T09:01:00.000Z',
    ended_at: '2026-11-22T09:01:21.000Z',
    talk_time: 42,
  };
  assert.equal(talkSpan(talk), 21);
  assert.equal(talkSpan({ ...talk, answered_at: null, talk_time: 5 }), 5, 'a mailbox takes no call');
});
