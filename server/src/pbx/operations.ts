import type { DomainEvent, EventType } from '@offhook/contract/events.ts';
import type { CallId } from '@offhook/contract/ids.ts';
import type { ExpectedEvent, OperationEvent } from '../ports/live.ts';
import type { OpenOperation, State } from './state.ts';

export const NO_EVENTS: ReadonlySet<EventType> = new Set();
/**
 * More operations than can be under way at once. At this limit the model drops the oldest tenth, because dropping one
 * for each new operation costs more.
 */
const MOST = 1_000;

/** Attributes the events that this operation is expected to cause to its id from now on. */
export function operationSent(s: State, event: OperationEvent): void {
  if (s.operations.size >= MOST) {
    for (const id of s.operations.keys()) {
      if (s.operations.size <= MOST * 0.9) break;
      forget(s, id);
    }
  }
  const left = event.expects.map((expected) => ({ event: expected, times: expected.times ?? 1 }));
  const open = { until: event.until, left, led: new Set<EventType>() };
  s.operations.set(event.operation_id, open);
  if (left.length > 0) s.expecting.set(event.operation_id, open);
}
function forget(s: State, id: string): void {
  s.operations.delete(id);
  s.expecting.delete(id);
}

/**
 * Sets `caused_by` on the events of one fact; agent events of the same fact get the same id. A snapshot contains many
 * facts, so an expected event in it stands only for the events of its own agent. O(operations that wait for an event).
 */
export function attribute(s: State, out: DomainEvent[]): void {
  if (s.expecting.size === 0) return;
  let by: string | null = null;
  let subject = '';
  for (const [i, event] of out.entries()) {
    const follows: boolean =
      event.type.startsWith('agent.') && (event.observed === 'live' || event.subject === subject);
    const id: string | null = takeExpected(s, event) ?? (follows ? by : null);
    if (id === null) continue;
    out[i] = { ...event, caused_by: id };
    by = id;
    ({ subject } = event);
  }
}

/** Matches the newest operation that expects the event; an older one may still wait for a similar one. */
function takeExpected(s: State, event: DomainEvent): string | null {
  let newest: { id: string; open: OpenOperation; expected: OpenOperation['left'][number] } | null = null;
  for (const [id, open] of s.expecting) {
    if (event.at > open.until) {
      forget(s, id);
      continue;
    }
    const expected = open.left.find((one) => fits(s, one.event, event));
    if (expected !== undefined) newest = { id, open, expected };
  }
  if (newest === null) return null;
  const { id, open, expected } = newest;
  expected.times -= 1;
  if (expected.times === 0) open.left.splice(open.left.indexOf(expected), 1);
  if (open.left.length === 0) s.expecting.delete(id);
  open.led.add(event.type);
  return id;
}

function fits(s: State, expected: ExpectedEvent, event: DomainEvent): boolean {
  if (expected.type !== event.type) return false;
  const data = event.data as {
    call_id?: string | null;
    extension?: string | null;
    leg?: { leg_id: string; extension: string | null };
    leg_id?: string;
    by?: string | null;
    kind?: string;
    to?: string;
    queue?: string | null;
  };
  const call = (id: string): string => s.aliases.get(id as CallId) ?? id;
  if (expected.call !== undefined && (data.call_id == null || call(data.call_id) !== call(expected.call))) {
    return false;
  }
  for (const field of ['by', 'kind', 'to', 'queue'] as const) {
    if (expected[field] !== undefined && data[field] !== expected[field]) return false;
  }
  if (expected.leg !== undefined && (data.leg?.leg_id ?? data.leg_id) !== expected.leg) return false;
  return expected.extension === undefined || (data.leg?.extension ?? data.extension) === expected.extension;
}
