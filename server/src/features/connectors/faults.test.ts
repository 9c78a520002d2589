import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../core/errors.ts';
import { numberSubject } from '../../numbers/subject.ts';
import { connectorsRig } from '../../../test/support/connectors-rig.ts';
import { crmFile } from '../../../test/support/crm.ts';
import { until } from '../../../test/support/until.ts';

const HOUR = 3_600_000;
const ids = (n: number): string[] => Array.from({ length: n }, (_, i) => `a:${i}`);

test('connectors - a test and a creation end where the requests of the day are used up', async (t) => {
  const rig = await connectorsRig(t);
  const source = crmFile().replace('at_once: 4', 'at_once: 4, day: 1');
  await rig.create('find', { source });
  const post = async (path: string, body?: object) => {
    const { json } = await rig.call('POST', `connectors/1/${path}`, body, 'token-admin');
    return json as { works?: boolean; words?: string | null };
  };
  assert.equal((await post('test')).works, true);
  for (const [path, body] of [
    ['test', undefined],
    ['customers', { name: 'Bert', number: '+49305555' }],
  ] as const) {
    let words: string | null = null;
    void post(path, body).then((reply) => (words = reply.words ?? ''));
    await until(`the end of ${path}`, async () => {
      await rig.clock.advance(10_000);
      return words !== null;
    });
    assert.match(String(words), /no answer within [36]0 s/);
  }
});

test('connectors - a system that is away for a day: nothing is lost, no attempt is used up, and few requests ask for it', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  rig.crm.mood = () => 'away';
  for (const id of ids(30)) rig.feed.put(id);
  rig.connectors.service.wake();
  await until('the connector is away', async () => {
    await rig.clock.advance(1_000);
    return (await rig.list())[0]!.state === 'away';
  });
  for (let hour = 0; hour < 24; hour += 1) {
    for (let minute = 0; minute < 60; minute += 5) await rig.clock.advance(5 * 60_000);
    rig.feed.put(`late:${hour}`);
  }
  const [connector] = await rig.list();
  assert.deepEqual(
    [connector!.state, connector!.entries.parked, connector!.entries.uncertain],
    ['away', 0, 0],
  );
  assert.ok(rig.crm.requests.length < 400, `${rig.crm.requests.length} requests in a day`);
  assert.match(rig.connectors.troubles().join(), /Small CRM: /);
  rig.crm.mood = () => 'works';
  await rig.clock.advance(11 * 60_000);
  const all = [...ids(30), ...Array.from({ length: 24 }, (_, hour) => `late:${hour}`)];
  await rig.stands('sent', ...all);
  assert.deepEqual([...new Set(all.map((id) => rig.crm.of(id).length))], [1]);
  assert.deepEqual(rig.connectors.troubles(), []);
});

test('connectors - the answer of a create is lost, or takes longer than the service waits: the entry is found, not made again', async (t) => {
  for (const mood of ['lost', 'silent', 500] as const) {
    const rig = await connectorsRig(t);
    await rig.create();
    let posts = 0;
    rig.crm.mood = (request) => (request === 'POST /entries' && (posts += 1) === 1 ? mood : 'works');
    rig.feed.put('a:1');
    await rig.stands('sent', 'a:1');
    assert.equal(rig.crm.of('a:1').length, 1, String(mood));
    assert.equal(posts, mood === 500 ? 2 : 1, 'only one that was not done is sent again');
  }
});

test('connectors - a search for the customer that is refused while a create is in doubt: the entry is found, not made again', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  let posts = 0;
  let refusals = 0;
  rig.crm.mood = (request) => {
    if (request === 'POST /entries' && (posts += 1) === 1) return 'lost';
    return request === 'GET /customers' && posts === 1 && (refusals += 1) === 1 ? 403 : 'works';
  };
  rig.feed.put('a:1');
  await rig.stands('sent', 'a:1');
  assert.ok(refusals > 0, 'the customer was searched for again');
  assert.deepEqual([posts, rig.crm.of('a:1').length], [1, 1]);
});

test('connectors - an answer of 200 that says failure, a refusal, and what a person does about them', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  rig.crm.mood = (request) => (request === 'POST /entries' ? 422 : 'works');
  rig.feed.put('a:1');
  await rig.stands('parked', 'a:1');
  const [parked] = await rig.entries('?state=parked');
  assert.deepEqual([parked!.status, parked!.words, parked!.task], [422, 'not now', 'create']);
  rig.crm.mood = (request) => (request === 'POST /entries' ? 'lies' : 'works');
  rig.feed.put('a:2');
  rig.connectors.service.wake();
  await until('the words of the lie', async () => {
    await rig.clock.advance(100);
    return (await rig.entries()).some(({ words }) => words === 'it is locked');
  });
  assert.equal(rig.crm.entries.size, 0);
  rig.crm.mood = () => 'works';
  const retry = (entry: number) => rig.call('POST', `connectors/1/entries/${entry}/retry`, {});
  assert.equal((await retry(parked!.id)).status, 202);
  await rig.stands('sent', 'a:1', 'a:2');
  assert.deepEqual([(await retry(parked!.id)).json.code], ['wrong_entry_state']);
  assert.equal((await retry(99)).status, 404);
});

test('connectors - a change that the database rejects, at once or after its audit line, leaves the connector at work', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  const { store } = rig.temp;
  for (const when of ['at once', 'later']) {
    let away = false;
    await rig.restart({
      store: {
        ...store,
        transaction: (work) =>
          away
            ? Promise.reject(new ServiceError('store_unavailable', 'the database is away'))
            : store.transaction(work),
      },
      audit: {
        ...rig.audit,
        async recordIn(trx, ...entries) {
          await rig.audit.recordIn(trx, ...entries);
          away = true;
        },
      },
    });
    away = when === 'at once';
    const settings = { token: `geheim-${when}` };
    const { status } = await rig.call('PATCH', 'connectors/1', { settings }, 'token-admin');
    away = false;
    assert.equal(status, when === 'at once' ? 503 : 200);
    rig.feed.put(`a:${when}`);
    await rig.stands('sent', `a:${when}`);
  }
});

test('connectors - after a rejected change the connector reads the feed from where it was, not from its start', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  const { store } = rig.temp;
  let away = false;
  const refused = () => Promise.reject(new ServiceError('store_unavailable', 'the database is away'));
  await rig.restart({
    store: { ...store, transaction: (work) => (away ? refused() : store.transaction(work)) },
  });
  rig.feed.put('a:1');
  await rig.stands('sent', 'a:1');
  const read = rig.feed.changes.bind(rig.feed);
  const cursors: (string | null)[] = [];
  rig.feed.changes = (cursor) => {
    cursors.push(cursor);
    return read(cursor);
  };
  away = true;
  const { status } = await rig.call('PATCH', 'connectors/1', { title: 'Other' }, 'token-admin');
  away = false;
  assert.equal(status, 503);
  rig.feed.put('a:2');
  await rig.stands('sent', 'a:2');
  assert.deepEqual(new Set(cursors), new Set(['e1:1']));
});

test('connectors - a system that asks to wait is not asked before, one that rejects the sign-in holds its entries', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  rig.crm.mood = () => 429;
  rig.crm.retryAfter = '1800';
  rig.feed.put('a:1');
  rig.connectors.service.wake();
  await until('the connector is away', async () => {
    await rig.clock.advance(100);
    return (await rig.list())[0]!.state === 'away';
  });
  const asked = rig.crm.requests.length;
  await rig.clock.advance(0.4 * HOUR);
  assert.equal(rig.crm.requests.length, asked);
  rig.crm.retryAfter = null;
  rig.crm.mood = () => 401;
  await rig.clock.advance(0.2 * HOUR);
  await until('the connector is disconnected', async () => {
    await rig.clock.advance(60_000);
    return (await rig.list())[0]!.state === 'disconnected';
  });
  for (let n = 0; n < 30; n += 1) await rig.clock.advance(HOUR);
  assert.equal((await rig.list())[0]!.entries.waiting, 1);
  rig.crm.mood = () => 'works';
  // An administrator who signs in again and tests need not wait for the next question.
  const tested = await rig.call('POST', 'connectors/1/test', undefined, 'token-admin');
  assert.equal((tested.json as { works?: boolean }).works, true);
  await rig.stands('sent', 'a:1');
  assert.equal(rig.crm.of('a:1').length, 1);
});

test('connectors - a create whose answer was lost comes again when the call has changed: the entry gets the content of now', async (t) => {
  const rig = await connectorsRig(t);
  const source = crmFile('ledger')
    .replace('once: ledger', 'once: own_id')
    .replace("id: '{{ answer.id }}'", `id: '{{ call.id }}'\n    exists: '{{ answer.message == "exists" }}'`);
  rig.crm.mood = (request) => (request === 'POST /entries' ? 500 : 'works');
  await rig.create('find', { source });
  rig.feed.put('a1');
  await rig.stands('unknown', 'a1');
  // The system did what it answered 500 to.
  rig.crm.entries.set('a1', {
    id: 'a1',
    call: 'a1',
    customer: 'c1',
    text: 'of the first attempt',
    user: null,
  });
  rig.crm.words = 'exists';
  rig.crm.mood = (request) => (request === 'POST /entries' ? 409 : 'works');
  await rig.stands('sent', 'a1');
  assert.deepEqual(
    rig.crm.of('a1').map(({ text }) => /Incoming call/.test(text)),
    [true],
  );
});

test('connectors - the feed is lost with its epoch: entries that the ledger knows stay, others are first looked for', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  rig.feed.put('a:1');
  await rig.stands('sent', 'a:1');
  rig.crm.entries.set('e9', { id: 'e9', call: 'a:2', customer: 'c1', text: '', user: null });
  rig.feed.lose();
  rig.feed.put('a:2');
  await rig.clock.advance(1_000);
  await rig.stands('sent', 'a:1', 'a:2');
  assert.deepEqual([rig.crm.of('a:1').length, rig.crm.of('a:2').length], [1, 1]);
  assert.match(rig.crm.of('a:2')[0]!.text, /Incoming call/);
});

test('connectors - a restart in the middle of the backfill goes on where it was', async (t) => {
  const rig = await connectorsRig(t);
  for (const id of ids(20)) rig.feed.put(id);
  await rig.create();
  await until('some', () => rig.crm.entries.size >= 5);
  await rig.restart();
  await rig.stands('sent', ...ids(20));
  assert.deepEqual([...new Set(ids(20).map((id) => rig.crm.of(id).length))], [1]);
});

test('connectors - an erasure finds a number in the words of a refusal, and takes it out of them', async (t) => {
  const rig = await connectorsRig(t);
  await rig.create();
  rig.crm.mood = (request) => (request === 'POST /entries' ? 422 : 'works');
  rig.crm.words = 'phone 030 901820 is no number of +49 30 901821';
  rig.feed.put('a:1');
  await rig.stands('parked', 'a:1');
  const { data } = rig.connectors;
  const subject = numberSubject('+4930901820', 'DE')!;
  assert.deepEqual(await data.count(subject, t.signal), { connector_entries: 1 });
  const known: unknown[] = [];
  for await (const one of data.collect!(subject, [], t.signal)) known.push(one);
  assert.deepEqual(known, [
    { kind: 'connector entry', value: { connector: 1, conversation: 'a:1', words: rig.crm.words } },
  ]);
  assert.deepEqual(await data.erase(subject, 'erased-1', t.signal), { connector_entries: 1 });
  assert.equal((await rig.entries())[0]!.words, 'phone erased-1 is no number of +49 30 901821');
  assert.deepEqual(await data.count(subject, t.signal), {});
});

test('connectors - the clock of the machine is set back by days or forth by a day: entries and lookups go on', async (t) => {
  for (const skew of [-3 * 24 * HOUR, 24 * HOUR]) {
    const rig = await connectorsRig(t);
    let offset = 0;
    const clock = {
      now: () => rig.clock.now() + offset,
      sleep: (ms: number, signal?: AbortSignal) => rig.clock.sleep(ms, signal),
    };
    await rig.restart({ clock });
    await rig.create();
    rig.feed.put('a:1');
    await rig.stands('sent', 'a:1');
    const lookup = async () => {
      const { json } = await rig.call('GET', 'connector-lookup?number=030901820');
      return (json as { matches: { customers: unknown[] }[] }).matches[0]!.customers.length;
    };
    assert.equal(await lookup(), 1);
    // One waits for its second attempt and one for the system while the clock moves.
    rig.crm.mood = (request) => (request === 'POST /entries' ? 409 : 'works');
    rig.feed.put('a:2');
    rig.connectors.service.wake();
    await until('a refusal', async () => {
      await rig.clock.advance(100);
      return (await rig.entries()).some(({ status }) => status === 409);
    });
    rig.crm.mood = () => 'away';
    rig.feed.put('a:3');
    rig.connectors.service.wake();
    await until('the connector is away', async () => {
      await rig.clock.advance(1_000);
      return (await rig.list())[0]!.state === 'away';
    });
    offset = skew;
    rig.crm.mood = () => 'works';
    rig.feed.put('a:4');
    await rig.clock.advance(11 * 60_000);
    await rig.stands('sent', 'a:3', 'a:4');
    assert.equal(await lookup(), 1, 'the answer of before is too old or from the future');
    const [refused] = await rig.entries('?state=parked');
    await rig.call('POST', `connectors/1/entries/${refused!.id}/retry`, {});
    await rig.stands('sent', 'a:2');
    for (const id of ['a:1', 'a:2', 'a:3', 'a:4']) assert.equal(rig.crm.of(id).length, 1, id);
  }
});

test('connectors - an entry that waits for its next attempt when the clock is set back is not late by the skew', async (t) => {
  const rig = await connectorsRig(t);
  let offset = 0;
  const clock = {
    now: () => rig.clock.now() + offset,
    sleep: (ms: number, signal?: AbortSignal) => rig.clock.sleep(ms, signal),
  };
  await rig.restart({ clock });
  await rig.create();
  // 403 is tried again: rights may come.
  rig.crm.mood = (request) => (request === 'POST /entries' ? 403 : 'works');
  rig.feed.put('a:1');
  rig.connectors.service.wake();
  await until('the first refusal', async () => {
    await rig.clock.advance(100);
    return (await rig.entries()).some(({ status }) => status === 403);
  });
  rig.crm.mood = () => 'works';
  offset = -3 * 24 * HOUR;
  rig.connectors.service.wake();
  await rig.clock.advance(60_000);
  await rig.stands('sent', 'a:1');
  assert.equal(rig.crm.of('a:1').length, 1);
});

test('connectors - several entries are under way together, and room stays for a lookup of a live call', async (t) => {
  const rig = await connectorsRig(t);
  rig.crm.customers.set('+4930555', 'c2');
  let held = 0;
  rig.crm.mood = (request) => {
    if (request !== 'POST /entries' || held === 0) return 'works';
    held += 1;
    return 'silent';
  };
  for (const id of ids(10)) rig.feed.put(id);
  await rig.create();
  await rig.stands('sent', ...ids(10));
  held = 1;
  for (const n of [1, 2, 3, 4, 5]) rig.feed.put(`b:${n}`);
  rig.connectors.service.wake();
  await until('three that wait for their answer', () => held === 4);
  const found = await rig.call('GET', 'connector-lookup?number=%2B4930555', undefined, 'token-user');
  assert.equal(found.status, 200, JSON.stringify(found.json));
  assert.match(JSON.stringify(found.json), /"c2"/);
  assert.equal(held, 4, 'a fourth request would leave no room');
});

test('connectors - once: ledger: an outage leaves as many doubts as were under way, then one after each check', async (t) => {
  const rig = await connectorsRig(t);
  for (const id of ids(10)) rig.feed.put(id);
  await rig.create('ledger');
  await rig.stands('sent', ...ids(10));
  rig.crm.mood = (request) => (request === 'POST /entries' ? 500 : 'works');
  for (let n = 0; n < 20; n += 1) rig.feed.put(`b:${n}`);
  rig.connectors.service.wake();
  const doubts = async (): Promise<number> => (await rig.list())[0]!.entries.uncertain ?? 0;
  await until('doubts', async () => {
    await rig.clock.advance(10);
    return (await doubts()) > 0;
  });
  await rig.clock.advance(1_000);
  const first = await doubts();
  assert.ok(first <= 3, `${first} entries in doubt`);
  for (let check = 1; check <= 4; check += 1) {
    await until('one more', async () => {
      await rig.clock.advance(500);
      return (await doubts()) > first + check - 1;
    });
    assert.equal(await doubts(), first + check);
  }
});
