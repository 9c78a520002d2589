/** The journal of a real site as a file without personal data, and its replay. */
import fs from 'node:fs';
import readline from 'node:readline';
import { Envelope } from '@offhook/contract/events.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { z } from 'zod';
import { ServiceError, messageOf } from '../core/errors.ts';
import { rfc3339 } from '../core/clock.ts';
import type { Objects } from '../features/pbx-config/put.ts';
import { Anonymiser } from './anonymise.ts';
import { companyOf } from './company.ts';

const TOPICS = ['presence', 'calls', 'parking', 'queues', 'agents', 'history'].join();
/** Figures of queues follow from the other events; a replay computes them anew. */
const DERIVED = 'queue.stats';
const MOST_EVENTS = 1_000_000;
const MOST_LINE = 1_048_576;

const Poll = z.object({
  events: z.array(Envelope),
  cursor: z.int(),
  gap: z.object({ to: z.int() }).nullable(),
});
const Person = z.object({ extension: z.string(), level: z.string() });
const Queue = z.object({
  name: z.string(),
  number: z.string(),
  members: z.array(z.object({ extension: z.string() })),
});
const Exported = z.object({ extensions: z.array(Person), queues: z.array(Queue).default([]) });
const Head = z.object({ offhook_recording: z.literal(1), company: z.record(z.string(), z.unknown()) });
const Line = z.object({
  time: z.iso.datetime(),
  type: z.string(),
  subject: z.string(),
  observed: z.enum(['live', 'resync']),
  data: z.record(z.string(), z.unknown()),
});
type Line = z.infer<typeof Line>;

/** Sends a GET to the recorded site; `path` includes the query. Throws if the site rejects it. */
export type Ask = (path: string) => Promise<unknown>;

/** Extensions and queues under made-up names, as a document that a simulator takes. */
async function companyFor(ask: Ask, made: Anonymiser): Promise<object> {
  const { extensions, queues } = Exported.parse(await ask('/api/v1/config/export'));
  const people = extensions.map(({ extension, level }, i) => ({
    extension: made.of(extension),
    username: `person${i + 1}`,
    name: `Person ${i + 1}`,
    level,
  }));
  return {
    offhook: 1,
    extensions: people,
    queues: queues.map(({ name, number, members }) => ({
      name: made.of(name),
      number: made.of(number),
      title: made.of(name),
      members: members.map(({ extension }) => ({ extension: made.of(extension) })),
    })),
  };
}
const poll = async (ask: Ask, cursor: number) =>
  Poll.parse(await ask(`/api/v1/events/poll?topics=${TOPICS}&wait=0&cursor=${cursor}`));

/** Cursor before the oldest event that the journal still has, by halving. */
async function oldest(ask: Ask): Promise<number> {
  let [lost, kept] = [-1, (await poll(ask, 0)).gap?.to ?? 0];
  if (kept === 0) return 0;
  while (kept - lost > 1) {
    const middle = Math.floor((lost + kept) / 2);
    if ((await poll(ask, middle)).gap === null) kept = middle;
    else lost = middle;
  }
  return kept;
}

/** Lines of a recording: the company, then the events that the site's journal holds now. */
export async function* recordSite(ask: Ask): AsyncGenerator<string> {
  const made = new Anonymiser();
  yield JSON.stringify({ offhook_recording: 1, company: await companyFor(ask, made) });
  let count = 0;
  for (let cursor = await oldest(ask); count < MOST_EVENTS;) {
    const page = await poll(ask, cursor);
    if (page.gap !== null) throw new Error('the journal was trimmed while it was recorded: record again');
    for (const { time, type, subject, observed, data } of page.events) {
      if (type === DERIVED) continue;
      count += 1;
      const line = { time, type, subject: made.of(subject), observed, data: made.of(data) };
      yield JSON.stringify(line);
    }
    if (page.cursor === cursor) return;
    ({ cursor } = page);
  }
}

export interface Recording {
  readonly company: Objects;
  readonly events: readonly Line[];
}
/** Throws `invalid_request` with the number of the line. */
export async function readRecording(file: string): Promise<Recording> {
  const lines = readline.createInterface({ input: fs.createReadStream(file), crlfDelay: Infinity });
  const events: Line[] = [];
  let company: Objects | undefined;
  let number = 0;
  for await (const text of lines) {
    number += 1;
    try {
      if (text.length > MOST_LINE) throw new Error(`longer than ${MOST_LINE} characters`);
      if (number > MOST_EVENTS + 1) throw new Error(`more than ${MOST_EVENTS} events`);
      const value: unknown = JSON.parse(text);
      if (company === undefined) company = companyOf(Head.parse(value).company, 'company');
      else events.push(Line.parse(value));
    } catch (error) {
      const why = error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error);
      throw new ServiceError('invalid_request', `${file}: line ${number}: ${why}`);
    }
  }
  if (company === undefined) throw new ServiceError('invalid_request', `${file}: not a recording`);
  return { company, events };
}

const TIMES = /"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"/g;
/** The events as if the first one happened at `start`; every time in them is moved by as much. */
export function* eventsFrom({ events }: Recording, start: number): Generator<DomainEvent> {
  const first = Date.parse(events[0]?.time ?? '');
  const moved = (time: string): number => Date.parse(time) - first + start;
  for (const { time, type, subject, observed, data } of events) {
    const text = JSON.stringify(data).replace(TIMES, (quoted) => `"${rfc3339(moved(quoted.slice(1, -1)))}"`);
    yield { type, subject, at: moved(time), observed, data: JSON.parse(text) } as DomainEvent;
  }
}
