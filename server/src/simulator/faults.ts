/** Faults by name, each made at the part that fails at a real site. */
import { ServiceError } from '../core/errors.ts';
import { z } from 'zod';
import type { SimulatedService } from './simulator.ts';
import { CAST, STORIES } from './stories.ts';

const Next = z.int().min(1).max(1_000).default(1);
export const Fault = z.discriminatedUnion('fault', [
  z
    .strictObject({ fault: z.literal('answer'), status: z.literal([429, 500, 502, 503, 504]), next: Next })
    .describe('The next requests are answered with this status and reach nobody.'),
  z
    .strictObject({ fault: z.literal('slow'), ms: z.int().min(0).max(10_000) })
    .describe('Everything the service sends is late by so much; 0 ends it.'),
  z.strictObject({ fault: z.literal('disconnect') }).describe('Every connection is cut, without a word.'),
  z
    .strictObject({ fault: z.literal('gap') })
    .describe(
      'The link to the engine breaks and returns while every stream is cut, and the journal forgets its events: each cursor gets a gap.',
    ),
  z
    .strictObject({ fault: z.literal('epoch') })
    .describe('The service starts again without its journal; calls are gone.'),
  z
    .strictObject({ fault: z.literal('engine_away') })
    .describe('The engine is gone: commands are refused with 503, what is read is stale.'),
  z
    .strictObject({ fault: z.literal('engine_back'), restarted: z.boolean().default(false) })
    .describe('The engine is back; `restarted`: its calls are lost.'),
  z
    .strictObject({ fault: z.literal('command_refused'), next: Next })
    .describe('The engine refuses the next commands.'),
  z
    .strictObject({ fault: z.literal('command_unanswered'), next: Next })
    .describe('The engine does the next commands and does not answer: their outcome is unknown.'),
  z
    .strictObject({ fault: z.literal('duplicate'), next: Next })
    .describe('Every webhook gets its newest events a second time, with the same ids.'),
  z
    .strictObject({ fault: z.literal('recording_late'), next: Next })
    .describe('The engine closes no file of the next recordings: each is stored ten seconds after its end.'),
  z
    .strictObject({ fault: z.literal('conversation_amended') })
    .describe('More comes to light of the newest conversation: it was on hold before its end.'),
  z
    .strictObject({ fault: z.literal('conversation_merged') })
    .describe('A call that began as two, by an attended transfer: the conversation has `merged_from`.'),
  z
    .strictObject({
      fault: z.literal('conversation_erased'),
      number: z.string().min(3).max(32).default(CAST.caller),
    })
    .describe('This number outside is erased from every conversation.'),
]);
export type Fault = z.input<typeof Fault>;
const Webhooks = z.object({ webhooks: z.array(z.object({ id: z.int() })) });
const Deliveries = z.object({
  deliveries: z.array(z.object({ state: z.string(), seq: z.int().nullable() })),
});
const Erasure = z.object({ erasure: z.object({ id: z.int(), state: z.string() }) });
const ERASURE_MS = 10_000;
const ERASURE_POLL_MS = 5;

/** Sends the newest `count` events of each webhook again, as to a receiver whose answer was lost. */
async function duplicate(simulator: SimulatedService, count: number): Promise<void> {
  const { webhooks } = Webhooks.parse(await simulator.ask('GET', '/api/v1/webhooks'));
  for (const { id } of webhooks) {
    const sent = await simulator.ask('GET', `/api/v1/webhooks/${id}/deliveries?limit=200`);
    const seqs = Deliveries.parse(sent).deliveries.flatMap(({ state, seq }) =>
      state === 'delivered' && seq !== null ? [seq] : [],
    );
    const newest = [...new Set(seqs)].toSorted((a, b) => b - a).slice(0, count);
    if (newest.length === 0) continue;
    const range = { from: newest.at(-1)!, to: newest[0]! };
    await simulator.ask('POST', `/api/v1/webhooks/${id}/replay`, range);
  }
}
async function erase(simulator: SimulatedService, number: string): Promise<void> {
  const token = await simulator.signIn();
  const wanted = { number, reason: 'a fault of the simulator' };
  const begun = Erasure.parse(await simulator.ask('POST', '/api/v1/privacy/erasures', wanted, token));
  const until = performance.now() + ERASURE_MS;
  for (let { id, state } = begun.erasure; state !== 'done';) {
    if (state === 'failed' || performance.now() > until)
      throw new ServiceError('engine_refused', `the erasure is ${state}`);
    await new Promise((resolve) => setTimeout(resolve, ERASURE_POLL_MS));
    const now = await simulator.ask('GET', `/api/v1/privacy/erasures/${id}`, undefined, token);
    ({ state } = Erasure.parse(now).erasure);
  }
}
const ORDERED = 'requested by the control of the simulator';
const REFUSED = { refuse: 'a fault that the control of the simulator requested' } as const;

export async function applyFault(simulator: SimulatedService, given: Fault): Promise<void> {
  const fault = Fault.parse(given);
  const { front, site } = simulator;
  switch (fault.fault) {
    case 'answer':
      front.faults.answer = { status: fault.status, next: fault.next };
      return;
    case 'slow':
      front.faults.slow_ms = fault.ms;
      return;
    case 'disconnect':
      return front.disconnect();
    case 'gap':
      // A stream that has read every event would miss none, so it misses the events of the link.
      return front.alone(async () => {
        const away = site.link.engine.status().link === 'down';
        if (!away) site.link.cut(ORDERED);
        site.link.restore(false);
        if (away) site.link.cut(ORDERED);
        await simulator.settled();
        simulator.trimJournal();
      });
    case 'epoch':
      return simulator.loseJournal();
    case 'engine_away':
      site.link.cut(ORDERED);
      return;
    case 'engine_back':
      site.link.restore(fault.restarted);
      return;
    case 'duplicate':
      return duplicate(simulator, fault.next);
    case 'recording_late':
      site.late_recordings += fault.next;
      return;
    case 'conversation_amended':
      if (!site.callRecords.amend())
        throw new ServiceError('engine_refused', 'no call was answered: play one first');
      return simulator.settled();
    case 'conversation_merged':
      await simulator.run(STORIES['attended transfer'](CAST));
      return;
    case 'conversation_erased':
      return erase(simulator, fault.number);
    case 'command_refused':
    case 'command_unanswered':
      for (let i = 0; i < fault.next; i += 1)
        site.link.faults.push(fault.fault === 'command_refused' ? REFUSED : 'unanswered');
  }
}
