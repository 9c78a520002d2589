/** Wrong PINs of conferences and mailboxes on a real engine, with no service beside it. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { farAddress } from '../../../../test/support/far-address.ts';
import type { FarAddress } from '../../../../test/support/far-address.ts';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { Phone, PhoneCall } from '../../../../test/support/phone.ts';
import {
  PASSWORD,
  company,
  conference,
  inboundRoute,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { PATIENCE_MS, until } from '../../../../test/support/until.ts';

const HOUR_S = 3_600;
const WRONG = '9999#';
/** Name of the far side of the trunk in the prompts. */
const OUTSIDE = 'trunk';
const ROOM = { number: '831', key: 'room-closed', opens: '0012#' };
const BOX = { number: '4000', key: 'box-4000', opens: '2468#' };
type Place = typeof ROOM;
let at: FarAddress;
let engine: TestEngine;
before(async () => {
  at = await farAddress('127.0.0.2');
  engine = await startTestEngine(
    company({
      conferences: [
        conference({ name: 'closed', number: ROOM.number, pin: '0012', leader_pin: '4711' }),
        conference({ name: 'open-to-guests', number: '832', leader_pin: '4711' }),
      ],
      mailboxes: [{ number: BOX.number, title: 'Front', pin: '2468' }],
      trunks: [trunk({ name: 'north', ...at, max_calls: null })],
      inbound_routes: [
        inboundRoute({
          name: 'room',
          trunk: 'north',
          number: ROOM.number,
          to: { kind: 'conference', key: 'closed' },
        }),
        inboundRoute({
          name: 'box',
          trunk: 'north',
          number: BOX.number,
          to: { kind: 'mailbox', key: '4000' },
        }),
      ],
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });
const far = (number: string): Promise<Phone> =>
  openFarSide({ server: engine.server, extension: number, at, cli: engine.cli });

/** Number of wrong PINs of a key that are not forgotten yet. */
async function stored(key: string): Promise<number> {
  const [, time] = /^Value: (\d+)/m.exec(await engine.cli(`database get offhook-wrong ${key}`)) ?? [];
  return time === undefined ? 0 : Math.ceil((Number(time) - Date.now() / 1_000) / HOUR_S);
}
/** Stores wrong PINs of now, as the engine does. */
const store = (key: string, wrong: number): Promise<string> =>
  engine.cli(`database put offhook-wrong ${key} ${Math.floor(Date.now() / 1_000) + wrong * HOUR_S}`);
const forget = (): Promise<string> => engine.cli('database deltree offhook-wrong');
/** Texts of the records that report a PIN which was guessed too often. */
const reported = async (): Promise<readonly string[]> =>
  (await engine.records()).flatMap(
    (line) => /"OFFHOOK_PINS_REFUSED",.*""extra"":""([^"]*)""/.exec(line)?.[1] ?? [],
  );

interface Asked {
  readonly call: PhoneCall;
  readonly hears: (prompt: string) => Promise<unknown>;
}
/** Calls a conference or mailbox until it asks for the PIN. */
async function ask(from: Phone, place: Place, name = from.extension): Promise<Asked> {
  let seen = (await engine.heard(name)).length;
  const hears = (prompt: string): Promise<unknown> =>
    until(
      `${name} to hear ${prompt}`,
      async () => {
        const found = (await engine.heard(name)).indexOf(prompt, seen);
        if (found !== -1) seen = found + 1;
        return found !== -1;
      },
      { seen: async () => (await engine.heard(name)).slice(seen) },
    );
  const call = await from.invite(place.number);
  if (place === BOX) {
    await hears('vm-intro');
    await call.digits('*');
  }
  await hears(place === BOX ? 'vm-password' : 'conf-getpin');
  return { call, hears };
}
/** Types a wrong PIN and hangs up when it is refused. */
async function guessWrong(from: Phone, place: Place, name?: string): Promise<void> {
  const { call, hears } = await ask(from, place, name);
  await call.digits(WRONG);
  await hears(place === BOX ? 'vm-incorrect' : 'conf-invalidpin');
  await call.hangup();
}
/** Whether the right PIN opens the conference or mailbox. */
async function opens(from: Phone, place: Place, name = from.extension): Promise<boolean> {
  const { call } = await ask(from, place, name);
  const before = (await engine.heard(name)).length;
  await call.digits(place.opens);
  const opened = await until('the answer to the right PIN', async () => {
    const heard = (await engine.heard(name)).slice(before);
    if (heard.includes('vm-incorrect') || heard.includes('conf-invalidpin')) return 'no';
    const inside = /closed +1/.test(await engine.cli('confbridge list'));
    return heard.includes('vm-youhave') || (place === ROOM && inside) ? 'yes' : undefined;
  });
  // The call of a refused PIN ends by itself.
  await (opened === 'yes' ? call.hangup() : call.ended());
  await engine.idle();
  return opened === 'yes';
}

test('conf/pins - ten wrong PINs of one extension are accepted at once, over all its calls, then one an hour', async () => {
  await using guesser = await phone('1001');
  await using other = await phone('1002');
  const key = 'room-closed-1001';
  const { call, hears } = await ask(guesser, ROOM);
  for (let wrong = 1; wrong <= 3; wrong += 1) {
    await call.digits(WRONG);
    if (wrong < 3) await hears('conf-getpin');
  }
  await call.ended();
  assert.equal(await stored(key), 3, 'the wrong PINs of the call are stored');
  await store(key, 9);
  assert.deepEqual(await reported(), []);
  await guessWrong(guesser, ROOM);
  assert.equal(await stored(key), 10);
  await until('the record of the last wrong PIN', async () => (await reported()).includes(key));
  assert.equal(await opens(guesser, ROOM), false, 'the right PIN is not compared any more');
  assert.equal(await stored(key), 10);
  assert.equal(await opens(other, ROOM), true, 'another extension is not concerned');
  await store(key, 9);
  assert.equal(await opens(guesser, ROOM), true, 'an hour later');
  assert.equal(await stored(key), 9, 'a right PIN neither counts nor forgets wrong ones');
  assert.deepEqual(await reported(), [key]);
  await forget();
});

test('conf/pins - callers outside have twenty wrong PINs together, whatever number they show, and lock out nobody inside', async () => {
  const key = 'box-4000-outside';
  {
    await using one = await far('+4915112345678');
    await guessWrong(one, BOX, OUTSIDE);
  }
  {
    await using two = await far('+4915199999999');
    await guessWrong(two, BOX, OUTSIDE);
    assert.equal(await stored(key), 2);
    await store(key, 19);
    await guessWrong(two, BOX, OUTSIDE);
    assert.equal(await stored(key), 20);
    await until('the record of the last wrong PIN', async () => (await reported()).includes(key));
    await engine.restart();
  }
  await using two = await far('+4915199999999');
  assert.equal(await opens(two, BOX, OUTSIDE), false, 'also after a restart of the engine');
  await using own = await phone('1001');
  assert.equal(await opens(own, BOX), true);
  await forget();
});

test('conf/pins - a caller who types nothing, or too little, guesses nothing', async () => {
  await using caller = await phone('1003');
  const { call, hears } = await ask(caller, ROOM);
  for (const typed of ['#', '12#', '001#']) {
    await call.digits(typed);
    if (typed !== '001#') await hears('conf-getpin');
  }
  await call.ended();
  const guest = await caller.invite('832');
  await guest.answered();
  await until('the prompt of a conference for guests', async () =>
    (await engine.heard('1003')).slice(-1).includes('conf-getpin'),
  );
  await guest.digits('#');
  await until('the guest to enter', async () =>
    /open-to-guests +1/.test(await engine.cli('confbridge list')),
  );
  await guest.hangup();
  assert.match(await engine.cli('database show offhook-wrong'), /^0 results/m);
});

test('conf/pins - a time that a wrong clock left in the store, and a count of 0.1, end', async () => {
  await using caller = await phone('1004');
  for (const left of [String(Math.floor(Date.now() / 1_000) + 365 * 24 * HOUR_S), '10-1764000000']) {
    await engine.cli(`database put offhook-wrong room-closed-1004 ${left}`);
    assert.equal(await opens(caller, ROOM), true, left);
  }
  await forget();
});

test('conf/pins - nothing of all this left a warning', async () => {
  assert.deepEqual(await engine.warnings(), []);
});

/** The last test: the engine cannot write its store afterwards. */
test('conf/pins - a store that cannot be written accepts no PIN', async () => {
  await using caller = await phone('1005');
  assert.equal(await opens(caller, ROOM), true);
  using db = new DatabaseSync(path.join(engine.instance.folder, 'lib/astdb.sqlite3'), {
    timeout: PATIENCE_MS,
  });
  // The engine has a lock from its first read after a write until its next write.
  await until('the engine to end its transaction', async () => {
    await engine.cli('database put offhook-test written 1');
    return db.prepare("SELECT 1 FROM astdb WHERE key = '/offhook-test/written'").get() !== undefined;
  });
  db.exec("CREATE TRIGGER full BEFORE INSERT ON astdb BEGIN SELECT RAISE(ABORT, 'full'); END");
  assert.equal(await opens(caller, ROOM), false);
});
