/** A site with its own company on which calls are played and their records compared with the measurements of the phones. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Conversation, ConversationEvent, ConversationSummary } from '@offhook/contract/conversations.ts';
import type { HistoryCall } from '@offhook/contract/history.ts';
import { Problem } from '@offhook/contract/errors.ts';
import { z } from 'zod';
import { phoneOf, prepareCompany } from './company.ts';
import type { Company } from './company.ts';
import { eventsOf } from './call-steps.ts';
import { checkInvariants } from './conversation-invariants.ts';
import { assertConversation, spanOf } from './expected-conversation.ts';
import type { ExpectedConversation } from './expected-conversation.ts';
import { worstLateness } from './lateness.ts';
import type { IncomingCall, Phone, PhoneCall } from './phone.ts';
import type { Site, SiteOptions } from './site.ts';
import { openSse } from './sse-client.ts';
import type { SseClient } from './sse-client.ts';
import { PATIENCE_MS, until } from './until.ts';
import { useSite } from './use-site.ts';

type Segment = Conversation['legs'][number]['segments'][number];
interface Phones extends AsyncDisposable {
  of(extension: string): Phone;
}
export interface Stage {
  site(): Site;
  phone(extension: string): Promise<Phone>;
  /** A phone for each extension. */
  phones(...extensions: readonly string[]): Promise<Phones>;
  /** Every conversation of an extension. */
  of(extension: string): Promise<readonly ConversationSummary[]>;
  detail(id: string): Promise<Conversation>;
  /** Id of the open conversation of an extension. */
  open(extension: string): Promise<string>;
  /**
   * Checks that all parties share one final conversation that matches the phones' measurements in every field, and so do
   * their rows.
   */
  is(expected: ExpectedConversation): Promise<Conversation>;
}

async function read<T extends z.ZodType>(site: Site, path: string, schema: T): Promise<z.infer<T>> {
  const { token } = await site.person('1001');
  const response = await fetch(site.base + path, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const body: unknown = await response.json();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${Problem.parse(body).detail}`);
  return schema.parse(body);
}
const List = z.object({ conversations: z.array(ConversationSummary) });
const One = z.object({ conversation: Conversation });
type Listed = Promise<readonly ConversationSummary[]>;
/** Every conversation with this extension or outside number. */
export const conversationsOf = async (site: Site, who: string): Listed => {
  const filter = who.startsWith('+') ? 'number' : 'person';
  const path = `/api/v1/conversations?${filter}=${encodeURIComponent(who)}`;
  return (await read(site, path, List)).conversations;
};
export const conversation = async (site: Site, id: string): Promise<Conversation> =>
  (await read(site, `/api/v1/conversations/${encodeURIComponent(id)}`, One)).conversation;

const StreamEvent = z.object({ type: z.string(), data: ConversationEvent });
type StreamEvent = z.infer<typeof StreamEvent>;
/** Events of conversations from the stream, or from the journal if the stream ended with the service. */
const eventsIn = (site: Site, stream: SseClient): readonly StreamEvent[] =>
  stream.ended
    ? eventsOf(site, 'conversation.opened', 'conversation.updated', 'conversation.finalised').map((e) =>
        StreamEvent.parse(e),
      )
    : stream.messages
        .filter((m) => m.data.includes('"conversation.'))
        .map((m) => StreamEvent.parse(JSON.parse(m.data)));
/** Opened once if it lasted long enough, finalised once, and the last event equals the REST reply. */
async function checkEvents(
  events: () => readonly StreamEvent[],
  summary: ConversationSummary,
): Promise<void> {
  const recorded = () =>
    events().filter((e) => [summary.id, ...summary.merged_from].includes(e.data.conversation.id));
  await until(
    `conversation.finalised of ${summary.id}`,
    () => recorded().some((e) => e.type === 'conversation.finalised'),
    { seen: () => recorded().map((e) => [e.type, e.data.conversation.id]) },
  );
  const own = recorded().filter((e) => e.data.conversation.id === summary.id);
  const types = own.map((e) => e.type.slice('conversation.'.length));
  assert.match(types.join(' '), /^(opened (updated )*)?finalised$/, `events of ${summary.id}`);
  const last = own.at(-1)!.data;
  assert.deepEqual(last.conversation, summary, 'the last event tells what a reader is given');
  assert.deepEqual(last.extensions, summary.extensions);
}

/** Seconds in any of these segments; overlaps count once. */
function secondsIn(stretches: readonly Segment[]): number {
  let [total, until] = [0, 0];
  const spans = stretches.map((s) => [Date.parse(s.started_at), Date.parse(s.ended_at)] as const);
  for (const [from, to] of spans.sort((a, b) => a[0] - b[0])) {
    total += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return total / 1000;
}
/**
 * Checks that a person's own list has one row. Talk is the time in which any of its legs talked to a party or a dialled
 * service; other time with a held leg is hold.
 */
function checkRow(c: Conversation, extension: string, rows: readonly HistoryCall[]): void {
  const own = c.legs.filter((l) => l.participant.extension === extension);
  const became = new Set(own.map((l) => l.disposition));
  const ofOthers = became.has('answered_elsewhere') && !became.has('answered');
  assert.equal(rows.length, ofOthers ? 0 : 1, `rows of ${extension}`);
  const [row] = rows;
  if (row === undefined) return;
  assert.equal(row.call_key, c.id, `the row of ${extension} belongs to the conversation`);
  const stretches = own.flatMap((l) => l.segments);
  const servedOnly = stretches.every((s) => s.state === 'service' || s.state === 'initiated');
  const talked = stretches.filter(
    (s) =>
      s.state === 'connected' ||
      (s.state === 'service' && (servedOnly || (s.service !== 'announcement' && s.service !== 'menu'))),
  );
  const held = stretches.filter((s) => s.state === 'held');
  const talk = secondsIn(talked);
  for (const [shown, seconds, what] of [
    [row.talk_seconds, talk, 'talk'],
    [row.hold_seconds, secondsIn([...talked, ...held]) - talk, 'hold'],
  ] as const)
    assert.ok(
      Math.abs(shown - seconds) <= 1.01,
      `${what} of ${extension}: ${shown} in its row, ${seconds} in the record`,
    );
}

export function useStage(company: Company, options: SiteOptions = {}): Stage {
  const site = useSite({
    ...options,
    async prepare(dataDir, sip) {
      await prepareCompany(company)(dataDir);
      await options.prepare?.(dataDir, sip);
    },
  });
  let stream: SseClient;
  before(async () => {
    stream = await openSse(
      `${site().base}/api/v1/events?topics=history`,
      (await site().person('1001')).token,
    );
  });
  after(() => stream?.stop());
  return {
    site,
    phone: (extension) => phoneOf(site(), extension),
    async phones(...own) {
      await using opening = new AsyncDisposableStack();
      const phones = new Map<string, Phone>();
      for (const extension of own) phones.set(extension, opening.use(await phoneOf(site(), extension)));
      const opened = opening.move();
      return {
        of(extension) {
          const phone = phones.get(extension);
          assert.ok(phone, `no phone of ${extension}`);
          return phone;
        },
        [Symbol.asyncDispose]: () => opened.disposeAsync(),
      };
    },
    of: (extension) => conversationsOf(site(), extension),
    detail: (id) => conversation(site(), id),
    open: (extension) =>
      until(`the open conversation of ${extension}`, async () => {
        const [found] = await conversationsOf(site(), extension);
        return found?.id;
      }),
    async is(expected) {
      const own = Object.values(expected.legs).flatMap(({ who }) => (typeof who === 'string' ? [who] : []));
      const everybody = [...new Set([...own, ...(expected.unreached ?? [])])];
      const known = everybody.length > 0 ? everybody : [expected.dialled];
      let seen: readonly ConversationSummary[] = [];
      const found = await Promise.all(
        known.map((who) =>
          until(
            `one final conversation of ${who}`,
            async () => {
              seen = await conversationsOf(site(), who);
              return seen.length > 0 && seen.every((c) => c.state !== 'open') && seen;
            },
            { every: 50, seen: () => seen.map((c) => [c.id, c.state, c.disposition]) },
          ),
        ),
      );
      for (const [i, list] of found.entries())
        assert.equal(list.length, 1, `conversations of ${known[i]}: ${list.map((c) => c.id).join(' ')}`);
      const [summary] = found[0]!;
      const recorded = await conversation(site(), summary!.id);
      // The engine writes a time before the phone hears of it, or the other way, and each may be late.
      assertConversation(expected, recorded, (2 * worstLateness(...spanOf(expected))) / 1000);
      checkInvariants(recorded);
      await checkEvents(() => eventsIn(site(), stream), summary!);
      const admin = await site().person('1001');
      for (const extension of everybody)
        checkRow(recorded, extension, (await admin.history(`?extension=${extension}`)).calls);
      return recorded;
    },
  };
}

/** Real time, where the duration is measured. */
export const lasting = (ms: number): Promise<void> => wait(ms);

/** Dials and lets the other phone ring for a while. */
export async function ring(
  from: Phone,
  number: string,
  to: Phone,
  ms = 600,
): Promise<[PhoneCall, IncomingCall]> {
  const call = await from.invite(number);
  const incoming = await to.incoming();
  incoming.ring();
  await lasting(ms);
  return [call, incoming];
}
/** Dials and is answered. */
export async function connect(
  from: Phone,
  number: string,
  to: Phone,
  ms?: number,
): Promise<[PhoneCall, IncomingCall]> {
  const [call, incoming] = await ring(from, number, to, ms);
  await incoming.answer();
  await call.answered();
  return [call, incoming];
}
/** All calls play a tone and hear sound for a while. */
export async function talk(seconds: number, ...calls: readonly PhoneCall[]): Promise<void> {
  for (const call of calls) call.play('tone');
  await Promise.all(calls.map((call) => call.hears(Math.round(seconds * 50))));
}
