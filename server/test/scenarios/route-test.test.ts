/**
 * Compares the route test with the engine: random sites are rendered, calls are placed by phones and by far sides of
 * trunks, and each must go where the route test says.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { ROUTE_CLASSES } from '@offhook/contract/config-fields.ts';
import type { Destination } from '@offhook/contract/config-fields.ts';
import type { RouteTestEnd } from '@offhook/contract/config-route-test.ts';
import {
  PASSWORD,
  company,
  extension,
  inboundRoute,
  outboundRoute,
  queue,
  trunk,
} from '../support/rendered-company.ts';
import { startTestEngine } from '../support/throwaway-engine.ts';
import type { TestEngine } from '../support/throwaway-engine.ts';
import { testRoute } from '../../src/features/pbx-config/route-test.ts';
import type { RouteQuestion } from '../../src/features/pbx-config/route-test.ts';
import type { Site } from '../../src/ports/site.ts';
import { farSidesReached, openFarSide, registerPhone } from '../support/phone.ts';
import type { Phone, PhoneCall } from '../support/phone.ts';
import { farAddress } from '../support/far-address.ts';
import type { FarAddress } from '../support/far-address.ts';
import { until } from '../support/until.ts';

const ZONE = 'Europe/Istanbul';
const HOSTS = { north: '127.0.0.2', south: '127.0.0.3', west: '127.0.0.4' } as const;
type Trunk = keyof typeof HOSTS;
const TRUNKS = Object.keys(HOSTS) as Trunk[];
const farAt = new Map<Trunk, FarAddress>();
const PEOPLE = ['1001', '1002', '1003', '1004'] as const;
const CALLERS = ['', '+4915112345678', '+4930999', '030999123', '1001'];
/** Around the ends of hours, days, a year and the leap day. */
const TIMES = [
  '2026-11-23T08:59:59+03:00',
  '2026-11-23T09:00:00+03:00',
  '2026-11-28T12:00:00+03:00',
  '2026-11-24T13:00:00+03:00',
  '2026-11-25T22:00:00+03:00',
  '2026-11-27T00:31:00+03:00',
  '2026-11-26T23:45:00+03:00',
  '2026-12-31T23:30:00+03:00',
  '2027-01-01T00:30:00+03:00',
  '2028-02-29T10:00:00+03:00',
  '2026-11-26T21:59:00Z',
];

let engine: TestEngine;
const phones = new Map<string, Phone>();
const fars = new Map<string, Phone>();
before(async () => {
  for (const name of TRUNKS) farAt.set(name, await farAddress(HOSTS[name]));
  engine = await startTestEngine(await firstSite());
  for (const e of PEOPLE)
    phones.set(e, await registerPhone({ server: engine.server, extension: e, password: PASSWORD }));
});
after(async () => {
  for (const phone of [...fars.values(), ...phones.values()]) await phone[Symbol.asyncDispose]();
  await engine?.[Symbol.asyncDispose]();
});

const pick = <T>(...of: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...of);
const charOf = (text: string): fc.Arbitrary<string> => pick(...text.split(''));
const digits = (text: string): fc.Arbitrary<string> =>
  fc.string({ unit: charOf(text), minLength: 1, maxLength: 3 });
const final: fc.Arbitrary<Destination> = fc.oneof(
  pick(...PEOPLE).map((key) => ({ kind: 'extension' as const, key })),
  pick<Destination>(
    { kind: 'queue', key: 'support' },
    { kind: 'ring_group', key: 'all' },
    { kind: 'menu', key: 'front' },
    { kind: 'conference', key: 'room' },
    { kind: 'mailbox', key: '580' },
    { kind: 'service', key: '600' },
    { kind: 'hang_up', reason: 'busy', play: null },
    { kind: 'hang_up', reason: 'congestion', play: null },
    { kind: 'hang_up', reason: 'not_found', play: null },
    { kind: 'trunk', key: 'south', strip: 1, prepend: '00' },
    { kind: 'trunk', key: 'west', strip: 32, prepend: '+49151' },
  ),
);
const destination: fc.Arbitrary<Destination> = fc.oneof(
  final,
  pick('tc-0', 'tc-1', 'tc-2', 'tc-0', 'tc-1').map((key) => ({ kind: 'time_condition' as const, key })),
);
const clock = pick('00:00', '00:31', '08:00', '09:00', '12:00', '13:00', '22:00', '23:45', '24:00');
const condition = (name: string) =>
  fc.record({
    name: fc.constant(name),
    number: fc.constant(null),
    title: fc.constant(name),
    hours: fc.array(
      fc
        .record({
          days: fc
            .subarray(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const, { minLength: 1 })
            .map((d) => [...d]),
          from: clock.filter((c) => c !== '24:00'),
          to: clock,
        })
        .filter((h) => h.from !== h.to),
      { maxLength: 3 },
    ),
    holidays: fc.subarray(['public']).map((h) => [...h]),
    switched_by: fc.constant<string[]>([]),
    override: pick<'none' | 'open' | 'closed'>('none', 'none', 'none', 'open', 'closed'),
    // A loop ends without regard to the time.
    when_open: final,
    when_closed: destination,
    on_holiday: fc.option(destination),
  });
const outbound = (i: number) =>
  fc.record({
    name: fc.constant(`out-${i}`),
    position: fc.integer({ min: 0, max: 5 }),
    patterns: fc.array(
      fc
        .tuple(pick('0', '00', '+', '1', '5', '9', '011'), digits('012XZN9'), pick('', '.', '!'))
        .map((parts) => parts.join('')),
      { minLength: 1, maxLength: 3 },
    ),
    class: pick(...ROUTE_CLASSES),
    trunks: fc
      .shuffledSubarray([...TRUNKS], { minLength: 1 })
      .chain((names) =>
        fc.tuple(
          ...names.map((name) =>
            fc.record({ trunk: fc.constant(name), strip: pick(0, 1), prepend: pick('', '+49', '9') }),
          ),
        ),
      ),
  });
const inbound = (i: number) =>
  fc
    .record({
      name: fc.constant(`in-${i}`),
      trunk: fc.option(pick(...TRUNKS), { freq: 1 }),
      number: fc.option(pick('+49305550', '+493055501', '+4930555', '+49', '500', '5')),
      prefix: fc.boolean(),
      caller: fc.option(pick('+49', '+4930', '030999123', '1'), { freq: 1 }),
      to: destination,
    })
    .map((r) => ({ ...r, prefix: r.prefix && r.number !== null }));
const sites: fc.Arbitrary<Site> = fc
  .record({
    outbound_routes: fc.tuple(...[0, 1, 2, 3, 4, 5].map(outbound)),
    inbound_routes: fc.tuple(...[0, 1, 2, 3, 4, 5, 6].map(inbound)),
    time_conditions: fc.tuple(condition('tc-0'), condition('tc-1'), condition('tc-2')),
    permissions: fc.tuple(...PEOPLE.map(() => fc.subarray([...ROUTE_CLASSES]))),
    callerIds: fc.tuple(...PEOPLE.map(() => fc.option(pick('+4930111', '+4930222')))),
    numbers: fc.tuple(...TRUNKS.map(() => fc.option(pick('+4930333', '+4930444')))),
    shows: fc.tuple(...TRUNKS.map(() => fc.boolean())),
    ringing: fc.subarray([...PEOPLE], { minLength: 1 }),
  })
  .map(({ permissions, callerIds, numbers, shows, ringing, ...s }) => ({
    ...company(),
    queues: [queue({ name: 'support', number: '520' })],
    extensions: PEOPLE.map((e, i) =>
      extension(e, {
        voicemail: false,
        call_permission: [...permissions[i]!],
        caller_id: callerIds[i]!,
        endpoints: [{ kind: 'sip', name: e }],
      }),
    ),
    trunks: TRUNKS.map((name, i) =>
      trunk({
        name,
        ...farAt.get(name)!,
        outbound_number: numbers[i]!,
        show_extensions: shows[i]!,
      }),
    ),
    ring_groups: [
      {
        name: 'all',
        number: '550',
        title: 'All',
        strategy: 'all',
        members: [...ringing],
        ring_seconds: 20,
        recording: 'never',
        otherwise: null,
      },
    ],
    menus: [
      {
        name: 'front',
        number: '560',
        title: 'Front',
        greeting: null,
        choices: [],
        dial_extensions: false,
        timeout_seconds: 30,
        attempts: 3,
        otherwise: { kind: 'hang_up', reason: 'normal', play: null },
      },
    ],
    conferences: [
      {
        name: 'room',
        number: '570',
        title: 'Room',
        pin: null,
        leader_pin: null,
        wait_for_leader: false,
        max_members: 10,
        music_class: null,
        announce: false,
      },
    ],
    mailboxes: [{ number: '580', title: 'House', pin: '4711' }],
    holidays: [
      {
        name: 'public',
        title: 'Public',
        days: [
          { title: 'New year', year: null, month: 1, day: 1 },
          { title: 'Leap', year: 2028, month: 2, day: 29 },
          { title: 'Another year', year: 2025, month: 11, day: 23 },
        ],
      },
    ],
    time_conditions: s.time_conditions,
    outbound_routes: s.outbound_routes.map((r) => outboundRoute(r)),
    inbound_routes: s.inbound_routes.map((r) => inboundRoute(r)),
  }));
const firstSite = async (): Promise<Site> => fc.sample(sites, { seed: 1, numRuns: 1 })[0]!;

const DIGITS: Record<string, string> = { X: '0123456789', Z: '123456789', N: '23456789' };
/** A number that matches the pattern, or nearly does. */
const numberOf = (pattern: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      ...Array.from(pattern.replace(/[.!]$/, ''), (c) => charOf(DIGITS[c] ?? c)),
      fc.string({ unit: charOf('0129'), maxLength: /[.!]$/.test(pattern) ? 3 : 1 }),
    )
    .map((parts) => parts.join(''));
const questionsOf = (site: Site): fc.Arbitrary<Pick<RouteQuestion, 'number' | 'from'>> => {
  const patterns = site.outbound_routes.flatMap((r) => r.patterns);
  const numbers = site.inbound_routes.flatMap((r) =>
    r.number === null ? ['777'] : r.prefix ? [r.number, `${r.number}!`] : [r.number],
  );
  return fc.oneof(
    { weight: 1, arbitrary: fc.record({ number: pick(...HOUSE), from: ofHouse }) },
    { weight: 4, arbitrary: fc.record({ number: pick(...patterns).chain(numberOf), from: ofHouse }) },
    { weight: 5, arbitrary: fc.record({ number: pick(...numbers).chain(numberOf), from: ofTrunk }) },
  );
};
const HOUSE = ['1001', '1004', '1009', '520', '550', '560', '570', '580', '600', '599', '112', '700'];
const ofHouse = pick(...PEOPLE).map((e) => ({ extension: e }));
const ofTrunk = fc.record({ trunk: pick(...TRUNKS), caller: pick(...CALLERS) });

const NOT_PERMITTED = 21;
/** SIP status for each cause. */
const STATUS: Record<number, number> = { 1: 404, 17: 486, 20: 480, 21: 403, 25: 603, 28: 484, 34: 503 };
/** The caller's application in the engine's console. */
const APPLICATION: Partial<Record<RouteTestEnd['kind'], RegExp>> = {
  queue: /!Queue!support[,!]/,
  menu: /!menu-front!/,
  parking: /!Park!/,
  conference: /!room-room!|!ConfBridge!/,
  mailbox: /!VoiceMail!580@/,
  service: /!(internal|services)!600!/,
};
const everyone = (): [string, Phone][] => [
  ...phones,
  ...[...fars].map(([n, p]) => [`trunk ${n}`, p] as [string, Phone]),
];
const ringing = (): string[] =>
  everyone()
    .filter(([, phone]) => phone.waiting > 0)
    .map(([name]) => name)
    .sort();

async function goesWhereItSays(call: PhoneCall, end: RouteTestEnd): Promise<void> {
  const seen = () => ({ state: call.state, status: call.status, ringing: ringing() });
  switch (end.kind) {
    case 'rings': {
      const expected = [...end.endpoints].sort();
      await until(`${expected.join()} to ring`, () => ringing().length >= expected.length, {
        seen,
      });
      assert.deepEqual(ringing(), expected);
      for (const name of expected) (await phones.get(name)!.incoming()).reject(486);
      return call.ended();
    }
    case 'trunk': {
      for (const [i, { trunk: name, number, shown_as }] of end.ways.entries()) {
        await until(`trunk ${name}`, () => ringing().length > 0 || call.state === 'ended', {
          seen,
        });
        assert.deepEqual(ringing(), [`trunk ${name}`], JSON.stringify(seen()));
        const there = await fars.get(name)!.incoming();
        assert.equal(there.dialled, number);
        if (shown_as !== '') assert.equal(there.party.number, shown_as);
        there.reject(i + 1 < end.ways.length ? 503 : 486);
      }
      await call.ended();
      return assert.equal(call.status, 486);
    }
    case 'nothing':
      await call.ended();
      // A phone gets this status if more digits could complete the number.
      return assert.ok([404, 484].includes(call.status), String(call.status));
    case 'refused':
    case 'ends':
      await call.ended();
      return assert.equal(call.status, STATUS[end.cause!], `cause ${end.cause}`);
    default: {
      await call.answered();
      let channels = '';
      await until(
        `${end.kind}`,
        async () => APPLICATION[end.kind]!.test((channels = await engine.cli('core show channels concise'))),
        {
          seen: () => ({ channels }),
        },
      );
      return call.hangup();
    }
  }
}

test('route test - every call of a random site goes where the route test says', async (t) => {
  const counts: Record<string, number> = {};
  const seed = Number(process.env['ROUTE_SEED'] ?? 20261122);
  const SITES = Number(process.env['ROUTE_SITES'] ?? 8);
  for (const [i, site] of fc.sample(sites, { seed, numRuns: SITES }).entries()) {
    await engine.write(site);
    await engine.cli('dialplan reload');
    const reads: Promise<void>[] = [];
    for (const [j, at] of fc.sample(pick(...TIMES), { seed: seed + i, numRuns: 6 }).entries()) {
      const ms = Date.parse(at);
      await engine.cli(`dialplan set global OFFHOOK_AT ${ms / 1000}`);
      for (const asked of fc.sample(questionsOf(site), { seed: seed + 100 * i + j, numRuns: 7 })) {
        const question: RouteQuestion = { ...asked, at: ms, zone: ZONE, features: new Map() };
        const answer = testRoute(site, question);
        assert.ok(answer.complete);
        const main = answer.ends.filter((e) => e.when === null);
        assert.equal(main.length, 1);
        const { from } = question;
        for (const name of TRUNKS)
          fars.set(
            name,
            await openFarSide({
              server: engine.server,
              extension:
                'trunk' in from && from.trunk === name && from.caller !== '' ? from.caller : 'anonymous',
              at: farAt.get(name)!,
            }),
          );
        const fail = (error: unknown): never => {
          throw new Error(
            `site ${i} at ${at}: ${JSON.stringify(question)}\n${JSON.stringify(answer, null, 1)}\n${String(error)}`,
            { cause: error },
          );
        };
        try {
          if (main[0]!.kind === 'trunk')
            await farSidesReached(
              engine.cli,
              TRUNKS.map((name) => farAt.get(name)!),
            );
          const call =
            'trunk' in from
              ? await fars.get(from.trunk)!.invite(question.number)
              : await phones.get(from.extension)!.invite(question.number);
          const goes = goesWhereItSays(call, main[0]!).catch(fail);
          // The announcement takes some seconds, in which the next calls are placed.
          const isRead =
            main[0]!.kind === 'refused' && main[0]!.cause === NOT_PERMITTED && 'extension' in from;
          if (isRead) {
            reads.push(goes);
            goes.catch(() => undefined);
            await until('the reason, or the end', () => call.media.heard > 0 || call.state === 'ended');
          } else await goes;
          assert.deepEqual(ringing(), []);
        } catch (error) {
          fail(error);
        } finally {
          for (const far of fars.values()) await far[Symbol.asyncDispose]();
          fars.clear();
        }
        counts[main[0]!.kind] = (counts[main[0]!.kind] ?? 0) + 1;
      }
    }
    await Promise.all(reads);
  }
  t.diagnostic(JSON.stringify(counts));
  for (const kind of ['rings', 'trunk', 'refused', 'nothing', 'ends', 'queue'])
    assert.ok((counts[kind] ?? 0) > 0, `no call that was of kind ${kind}`);
});
