import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { passwordOf, siteFixture } from '../../../test/support/sessions-fixture.ts';
import type { Site } from '../../../test/support/sessions-fixture.ts';
import type { Caller } from '../../ports/http.ts';
import { ServiceError } from '../../core/errors.ts';
import { createOtp } from './otp.ts';
import { fromBase32 } from '../../../test/support/base32.ts';
import { base32, newRecoveryCode, otpauthUri, stepOf, totp } from './totp.ts';

const RFC_SECRET = Buffer.from('12345678901234567890');

test('totp - the vectors of RFC 6238', () => {
  for (const [seconds, digits] of [
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ] as const) {
    assert.equal(totp(RFC_SECRET, Math.floor(seconds / 30)), digits.slice(2), String(seconds));
  }
});
test('totp - base32 as RFC 4648 writes it, and the address a QR code holds', () => {
  for (const [text, encoded] of [
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
  ] as const) {
    assert.equal(base32(Buffer.from(text)), encoded);
  }
  assert.equal(
    otpauthUri(RFC_SECRET, 'ada', 'Test & Co'),
    'otpauth://totp/Test%20%26%20Co:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Test%20%26%20Co',
  );
  assert.match(newRecoveryCode(), /^[A-Z2-7]{5}-[A-Z2-7]{5}$/);
});
test('totp - digits fit their half minute and its neighbours, once, and nothing else fits', () => {
  const now = 59_000_000_000;
  const step = now / 30_000;
  for (const [offset, fits] of [
    [-2, false],
    [-1, true],
    [0, true],
    [1, true],
    [2, false],
  ] as const) {
    assert.equal(
      stepOf(RFC_SECRET, totp(RFC_SECRET, Math.floor(step) + offset), now, 0) !== undefined,
      fits,
      String(offset),
    );
  }
  const present = Math.floor(step);
  assert.equal(stepOf(RFC_SECRET, totp(RFC_SECRET, present), now, present), undefined);
  for (const digits of ['', '12345', '1234567', 'abcdef', '１２３４５６', '12 456']) {
    assert.equal(stepOf(RFC_SECRET, digits, now, 0), undefined, digits);
  }
});

let site: Site;
let secret: Buffer;
let codes: string[];
let network = 0;
before(async () => {
  site = await siteFixture();
});
after(() => site.close());
beforeEach(() => {
  network += 1;
});
const ip = (): string => `10.5.${network}.1`;
const login = (otp?: string, password = passwordOf('1005')) =>
  site.sessions.login({ name: '1005', password, otp, ip: ip() });
const is = (code: string, body?: object) => (error: unknown) => {
  assert.ok(error instanceof ServiceError, String(error));
  assert.equal(error.code, code);
  if (body !== undefined) assert.deepEqual(error.extras.body, body);
  return true;
};
/** The digits of a half minute that was not used yet. */
const digits = (): string => {
  site.clock.advance(30_000);
  return totp(secret, Math.floor(site.clock.now() / 30_000));
};
let me: Caller;

test('second factor - enrolled with the password, on only when it is confirmed', async () => {
  me = (await site.sessions.authenticate((await login()).token))!;
  await assert.rejects(
    site.sessions.otp.enrol(me, 'wrong password', 'Test', ip()),
    is('invalid_credentials'),
  );
  const first = await site.sessions.otp.enrol(me, passwordOf('1005'), 'Test', ip());
  const { secret: text } = await site.sessions.otp.enrol(me, passwordOf('1005'), 'Test', ip());
  assert.notEqual(first.secret, text);
  secret = fromBase32(text);
  await login();
  await assert.rejects(site.sessions.otp.confirm(me, '000000', ip()), is('otp_required'));
  await assert.rejects(
    site.sessions.otp.confirm(
      me,
      totp(fromBase32(first.secret), Math.floor(site.clock.now() / 30_000)),
      ip(),
    ),
    is('otp_required'),
  );
  const { schema } = site.store.db();
  await schema.alterTable('otp_recovery').renameTo('elsewhere').execute();
  await assert.rejects(site.sessions.otp.confirm(me, digits(), ip()), /otp_recovery/);
  await schema.alterTable('elsewhere').renameTo('otp_recovery').execute();
  assert.equal(await site.sessions.otp.isOn(5), false, 'not on without recovery codes');
  codes = await site.sessions.otp.confirm(me, digits(), ip());
  assert.equal(new Set(codes).size, 8);
  assert.equal(await site.sessions.otp.isOn(5), true);
  await assert.rejects(site.sessions.otp.enrol(me, passwordOf('1005'), 'Test', ip()), is('otp_already_on'));
  await assert.rejects(site.sessions.otp.confirm(me, digits(), ip()), is('otp_already_on'));
});
test('second factor - the password alone is 401 otp_required, a wrong password does not reveal the factor', async () => {
  for (const otp of [undefined, '', '  '])
    await assert.rejects(login(otp), is('otp_required', { otp_required: true }));
  await assert.rejects(login('000000'), is('otp_required', { otp_required: true }));
  await assert.rejects(login(digits(), 'wrong password'), is('invalid_credentials'));
  const good = digits();
  await login(`${good.slice(0, 3)} ${good.slice(3)}`);
  await assert.rejects(login(good), is('otp_required'), 'digits work once');
  const response = await site.host.app.inject({
    method: 'POST',
    url: '/api/auth/login',
    payload: { username: '1005', password: passwordOf('1005') },
  });
  assert.equal(response.statusCode, 401);
  assert.equal(response.json<{ otp_required: boolean }>().otp_required, true);
});
test('second factor - the same digits sent at the same time count once', async () => {
  const otp = await createOtp(site.store, site.clock);
  const good = digits();
  const verdicts = await Promise.all([otp.check(5, good), otp.check(5, good), otp.check(5, good)]);
  assert.deepEqual(verdicts.toSorted(), ['right', 'wrong', 'wrong']);
});
/** The query with `before` awaited before it is sent. */
const delayed = <T extends object>(query: T, before: () => Promise<unknown>): T =>
  new Proxy(query, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const call = () => Reflect.apply(value, target, args) as object;
        return String(name).startsWith('execute') ? before().then(call) : delayed(call(), before);
      };
    },
  });
test('second factor - a setup that began before another one was confirmed does not switch it off', async () => {
  const secretOf = (text: string) => totp(fromBase32(text), Math.floor(site.clock.now() / 30_000));
  const otp = await createOtp(site.store, site.clock);
  const { secret: text } = await otp.enrol(6, 'eve', 'Test');
  const late = await createOtp(
    {
      ...site.store,
      db: <T>() => {
        const db = site.store.db<T>();
        const insertInto = (table: never) =>
          delayed(db.insertInto(table), () => otp.confirm(6, secretOf(text)));
        return new Proxy(db, {
          get: (target, name) => {
            if (name === 'insertInto') return insertInto;
            const value: unknown = Reflect.get(target, name);
            return typeof value === 'function' ? (value.bind(target) as unknown) : value;
          },
        });
      },
    },
    site.clock,
  );
  await assert.rejects(late.enrol(6, 'eve', 'Test'), is('otp_already_on'));
  assert.equal(await otp.isOn(6), true);
  await otp.disable(6);
});
test('second factor - digits cannot be guessed, neither at sign-in nor by leaving them out in between', async () => {
  for (let i = 0; i < 5; i += 1) {
    await assert.rejects(login('000000'), is('otp_required'));
    if (i < 4) await assert.rejects(login(), is('otp_required'));
  }
  await assert.rejects(login(digits()), is('too_many_attempts'));
});
test('second factor - nor at switching it off', async () => {
  const { token } = await login(digits());
  const me = (await site.sessions.authenticate(token))!;
  for (let i = 0; i < 5; i += 1) {
    await assert.rejects(
      site.sessions.otp.remove(me, passwordOf('1005'), '000000', ip()),
      is('otp_required'),
    );
  }
  await assert.rejects(
    site.sessions.otp.remove(me, passwordOf('1005'), digits(), ip()),
    is('too_many_attempts'),
  );
  assert.equal(await site.sessions.otp.isOn(5), true);
  network += 1;
  await assert.rejects(login(digits()), is('too_many_attempts'), 'ten wrong digits within the day');
});
test('second factor - nor from many networks by whoever has the password', async () => {
  site.clock.advance(86_400_000);
  for (let i = 0; i < 10; i += 1) {
    network += 1;
    await assert.rejects(login('000000'), is('otp_required'));
  }
  network += 1;
  await assert.rejects(login(digits()), is('too_many_attempts'));
  site.clock.advance(15 * 60_000);
  await login(digits());
  site.clock.advance(86_400_000);
});
test('second factor - a recovery code replaces the digits once, in any spelling', async () => {
  await login(codes[0]!);
  await assert.rejects(login(codes[0]!), is('otp_required'));
  await login(codes[1]!.toLowerCase().replace('-', ' '));
  const rows = await site.store.db<Record<string, object>>().selectFrom('otp_recovery').selectAll().execute();
  assert.equal(rows.length, 6);
  assert.equal(JSON.stringify(rows).includes(codes[2]!), false);
});
test('second factor - switched off over HTTP with password and digits; an administrator can reset it', async () => {
  const { token } = await login(digits());
  const post = (url: string, payload: object) =>
    site.host.app.inject({
      method: 'POST',
      url,
      headers: { authorization: `Bearer ${token}` },
      remoteAddress: ip(),
      payload,
    });
  const state = async () => {
    const response = await site.host.app.inject({
      url: '/api/v1/session/otp',
      headers: { authorization: `Bearer ${token}` },
    });
    return response.json<{ enabled: boolean }>().enabled;
  };
  assert.equal(await state(), true);
  assert.equal(
    (await post('/api/v1/session/otp/disable', { current_password: passwordOf('1005'), otp: '000000' }))
      .statusCode,
    401,
  );
  assert.equal(
    (await post('/api/v1/session/otp/disable', { current_password: passwordOf('1005'), otp: digits() }))
      .statusCode,
    200,
  );
  assert.equal(await state(), false);
  await login();
  const enrolled = await post('/api/v1/session/otp', { current_password: passwordOf('1005') });
  assert.equal(enrolled.statusCode, 200);
  secret = fromBase32(enrolled.json<{ secret: string }>().secret);
  const confirmed = await post('/api/v1/session/otp/confirm', { otp: digits() });
  assert.equal(confirmed.json<{ recovery_codes: string[] }>().recovery_codes.length, 8);
  await assert.rejects(login(codes[2]!), is('otp_required'), 'codes of before are void');
  await site.sessions.others.disableOtp(
    { caller: (await site.sessions.authenticate(await site.signIn('1001')))!, ip: ip() },
    '1005',
  );
  await login();
  const actions = (await site.audit.page({ limit: 200 })).entries.map((e) => e.action);
  assert.ok(actions.includes('session.otp_on') && actions.includes('session.otp_off'));
});
