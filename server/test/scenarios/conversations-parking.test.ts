/** Parked, shared and parallel calls, played with real phones: one conversation each, equal to their measurements. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createClient } from '@offhook/client';
import type { Client, EventStream, StreamEvent } from '@offhook/client';
import { ask, doneBy } from '../support/call-steps.ts';
import { extensions } from '../support/company.ts';
import { assertRebuilt } from '../support/conversation-rebuild.ts';
import { connect, lasting, talk, useStage } from '../support/conversation-stage.ts';
import { pressKeys } from '../support/engine-keys.ts';
import { leg } from '../support/expected-conversation.ts';
import type { PhoneCall } from '../support/phone.ts';
import { until } from '../support/until.ts';

const answered = { direction: 'internal', disposition: 'answered', cause: 16 } as const;
const now = (): number => performance.now();

describe('conversations: parking', () => {
  const stage = useStage({
    people: extensions(2019, 2031),
    // Longer than the steps of those who take their call back.
    parking_seconds: 20,
  });
  describe('played', { concurrency: true }, () => {
    /** The slot of this extension's parked call. */
    const slotOf = (extension: string): Promise<string> =>
      until(`the slot of ${extension}`, async () => {
        const shown = await stage.site().engineCli('parking show default');
        return shown
          .split(/^\s*Space\s*:\s*/m)
          .find((space) => space.includes(`PJSIP/${extension}-`))
          ?.slice(0, 3);
      });

    /** A person who takes no part in the parked calls. */
    let bystander: Client;
    let stream: EventStream;
    const heard: StreamEvent[] = [];
    before(async () => {
      const { base } = stage.site();
      const { token } = await stage.site().person('2019');
      bystander = createClient({ base, token });
      stream = bystander.stream({ topics: ['parking'], snapshot: true });
      void (async () => {
        for await (const item of stream) if ('seq' in item) heard.push(item);
      })();
    });
    after(() => stream.close());
    /** The slot as shown to the bystander, in the stream and in the list. */
    const shownTo = (extension: string) =>
      until(`the parked call of ${extension} to be shown`, async () => {
        const published = heard
          .flatMap((e) => (e.type === 'parking.slot_occupied' ? [e.data] : []))
          .find(({ party }) => party.number === extension);
        const { parked } = await bystander.calls.parked();
        const listed = parked.find(({ leg_id }) => leg_id === published?.leg_id);
        assert.deepEqual(listed, published);
        return published;
      });
    const freed = async ({ slot, leg_id }: { slot: string; leg_id: string }, reason: string) => {
      const event = await until(`slot ${slot} to be freed`, () =>
        heard
          .flatMap((e) => (e.type === 'parking.slot_freed' ? [e.data] : []))
          .find((data) => data.leg_id === leg_id),
      );
      assert.deepEqual([event.slot, event.reason], [slot, reason]);
      const { parked } = await bystander.calls.parked();
      assert.ok(!parked.some((one) => one.leg_id === leg_id));
    };

    test('conversations - three ways: the transferer connects all, then leaves', async () => {
      await using a = await stage.phone('2029');
      await using b = await stage.phone('2030');
      await using c = await stage.phone('2031');
      const person = await stage.site().person('2030');
      const [call, at] = await connect(a, '2030', b);
      await talk(1, call, at);
      const id = await stage.open('2030');
      const { operation } = await ask(stage.site(), person, `/${id}/transfer`, {
        kind: 'attended',
        to: '2031',
      });
      const further = await c.incoming();
      const held = further.times.began;
      further.ring();
      await lasting(1000);
      await further.answer();
      await doneBy(stage.site(), operation, 'operation.completed');
      await talk(1.2, at, further);
      const together = await pressKeys(stage.site(), '2030', 'DD');
      // The held party hears the others again once connected.
      await call.hears(75);
      await talk(1.2, call, at, further);
      await at.hangup();
      await talk(1.2, call, further);
      await call.hangup();
      await further.ended();
      const left = at.times.ended;
      const { ended } = call.times;
      await stage.is({
        ...answered,
        ended_by: 'caller',
        dialled: '2030',
        answered: at.times.answered,
        legs: {
          a: leg('2029', 'caller', '2030', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', at.times.answered],
            ['connected', held, { with: ['b'] }],
            ['held', together, { held_by: 'other_side' }],
            ['connected', left, { with: ['b', 'c'] }],
            ['connected', ended, { with: ['c'] }],
          ]),
          b: leg('2030', 'called', '2030', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', at.times.answered],
            ['connected', held, { with: ['a'] }],
            ['alerting', further.times.answered],
            ['connected', together, { with: ['c'] }],
            ['connected', left, { with: ['a', 'c'] }],
          ]),
          c: leg('2031', 'consulted', '2031', ['answered', 16, 'other_side'], further.times, [
            ['alerting', further.times.answered],
            ['connected', together, { with: ['b'] }],
            ['connected', left, { with: ['a', 'b'] }],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
        transfers: [
          {
            kind: 'conference',
            at: together,
            by: 'b',
            moved: 'a',
            to: '2031',
            to_leg: 'c',
            outcome: 'completed',
          },
        ],
      });
    });

    test('conversations - a second call that is never joined to the first is its own conversation', async () => {
      await using a = await stage.phone('2019');
      await using b = await stage.phone('2020');
      await using c = await stage.phone('2021');
      const [call, at] = await connect(a, '2020', b);
      await at.hold();
      const [second, further] = await connect(b, '2021', c);
      await second.hangup();
      await further.ended();
      await at.retrieve();
      await talk(0.5, call, at);
      await call.hangup();
      await at.ended();
      const both = await until('both conversations of 2020', async () => {
        const list = await stage.of('2020');
        return list.length === 2 && list.every((one) => one.state === 'final') && list;
      });
      assert.deepEqual(both.map((one) => one.extensions.join(' ')).sort(), ['2019 2020', '2020 2021']);
      assert.deepEqual(
        both.flatMap((one) => one.merged_from),
        [],
      );
    });

    test('conversations - parked, and retrieved by a third', async () => {
      await using a = await stage.phone('2022');
      await using b = await stage.phone('2023');
      await using c = await stage.phone('2024');
      const [call, at] = await connect(a, '2023', b);
      await talk(1, call, at);
      const parked = now();
      await at.transfer('700');
      const published = at.transferred();
      const slot = await slotOf('2022');
      await call.hears(100);
      const shown = await shownTo('2022');
      assert.deepEqual([shown.slot, shown.parked_by], [slot, '2023']);
      const back = await c.invite(slot);
      await back.answered();
      const retrieved = back.times.answered;
      await freed(shown, 'picked_up');
      await talk(1.2, call, back);
      await published;
      await back.hangup();
      await call.ended();
      const { ended } = back.times;
      await stage.is({
        ...answered,
        ended_by: 'called',
        dialled: '2023',
        answered: at.times.answered,
        merged: 1,
        legs: {
          a: leg('2022', 'caller', '2023', ['answered', 16, 'other_side'], call.times, [
            ['alerting', at.times.answered],
            ['connected', parked, { with: ['b'] }],
            ['parked', retrieved],
            ['connected', ended, { with: ['c'] }],
          ]),
          b: leg('2023', 'called', '2023', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', at.times.answered],
            ['connected', parked, { with: ['a'] }],
            ['service', at.times.ended, { service: 'announcement' }],
          ]),
          c: leg('2024', 'retriever', slot, ['answered', 16, 'this_leg'], back.times, [
            ['connected', ended, { with: ['a'] }],
          ]),
        },
        transfers: [
          { kind: 'park', at: parked, by: 'b', moved: 'a', to: slot, to_leg: 'c', outcome: 'completed' },
        ],
      });
    });

    /** Parks the call of two and waits until the announcement of the slot is over. */
    async function park(at: PhoneCall, from: string): Promise<number> {
      const parked = now();
      await at.transfer('700');
      await slotOf(from);
      await at.transferred();
      return parked;
    }

    test('conversations - parked too long: it returns to the one who parked it', async () => {
      await using a = await stage.phone('2025');
      await using b = await stage.phone('2026');
      const [call, at] = await connect(a, '2026', b);
      await talk(1, call, at);
      const parked = await park(at, '2025');
      const shown = await shownTo('2025');
      const again = await b.incoming();
      await freed(shown, 'timed_out');
      again.ring();
      await lasting(1000);
      await again.answer();
      await talk(1.2, call, again);
      await call.hangup();
      await again.ended();
      const { ended } = call.times;
      await stage.is({
        ...answered,
        ended_by: 'caller',
        dialled: '2026',
        answered: at.times.answered,
        legs: {
          a: leg('2025', 'caller', '2026', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', at.times.answered],
            ['connected', parked, { with: ['b'] }],
            ['parked', again.times.began],
            ['alerting', again.times.answered],
            ['connected', ended, { with: ['again'] }],
          ]),
          b: leg('2026', 'called', '2026', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', at.times.answered],
            ['connected', parked, { with: ['a'] }],
            ['service', at.times.ended, { service: 'announcement' }],
          ]),
          again: leg('2026', 'transfer_target', '2026', ['answered', 16, 'other_side'], again.times, [
            ['alerting', again.times.answered],
            ['connected', ended, { with: ['a'] }],
          ]),
        },
        transfers: [
          { kind: 'park', at: parked, by: 'b', moved: 'a', to: '700', to_leg: 'again', outcome: 'no_answer' },
        ],
      });
    });

    test('conversations - parked, and the waiting party gives up', async () => {
      await using a = await stage.phone('2027');
      await using b = await stage.phone('2028');
      const [call, at] = await connect(a, '2028', b);
      await talk(1, call, at);
      const parked = await park(at, '2027');
      const shown = await shownTo('2027');
      await call.hangup();
      await freed(shown, 'hung_up');
      const { ended } = call.times;
      await stage.is({
        ...answered,
        ended_by: 'caller',
        dialled: '2028',
        answered: at.times.answered,
        legs: {
          a: leg('2027', 'caller', '2028', ['answered', 16, 'this_leg'], call.times, [
            ['alerting', at.times.answered],
            ['connected', parked, { with: ['b'] }],
            ['parked', ended],
          ]),
          b: leg('2028', 'called', '2028', ['answered', 16, 'this_leg'], at.times, [
            ['alerting', at.times.answered],
            ['connected', parked, { with: ['a'] }],
            ['service', at.times.ended, { service: 'announcement' }],
          ]),
        },
        transfers: [
          { kind: 'park', at: parked, by: 'b', moved: 'a', to: '700', to_leg: null, outcome: 'abandoned' },
        ],
      });
    });
  });

  test('conversations: parking - rebuilt conversations equal the live ones', () =>
    assertRebuilt(stage.site()));
});
