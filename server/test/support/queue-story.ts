import type { AgentSummary, Engagement } from '@offhook/contract/agents.ts';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { rfc3339 } from '../../src/core/clock.ts';

/** A Saturday at nine, UTC, the start of a slot. */
export const T0 = Date.UTC(2026, 10, 21, 9);
export const at = (hours = 0, minutes = 0, seconds = 0): number =>
  T0 + ((hours * 60 + minutes) * 60 + seconds) * 1000;

type Reason = EventData<'queue.caller_left'>['reason'];
type Observed = DomainEvent['observed'];
const caller = { number: '+4930123456', name: '' };
const visit = (call: string, queue: string) => ({ call_id: call, queue, leg_id: `leg-${call}`, caller });
const queueEvent = (queue: string, ms: number, observed: Observed = 'live') => ({
  subject: `queues/${queue}`,
  at: ms,
  observed,
});
const agentEvent = (extension: string, ms: number) => ({
  subject: `agents/${extension}`,
  at: ms,
  observed: 'live' as const,
});

/** As written by the first release: without the agent's state after the event. */
const bare = (data: object) => data as never;
const callRef = (call: string) => ({ call_id: call, direction: 'in' as const, extensions: [] });

/** Domain events of a queue's day, abbreviated; the queue defaults to `support`. */
export const emitted = {
  joined: (ms: number, call: string, queue = 'support'): DomainEvent => ({
    type: 'queue.caller_joined',
    ...queueEvent(queue, ms),
    data: { ...visit(call, queue), position: 1, joined_at: rfc3339(ms) },
  }),
  left: (
    ms: number,
    call: string,
    waited_seconds: number,
    reason: Reason = 'answered',
    observed: Observed = 'live',
    queue = 'support',
  ): DomainEvent => ({
    type: 'queue.caller_left',
    ...queueEvent(queue, ms, observed),
    data: { ...visit(call, queue), waited_seconds, reason },
  }),
  abandoned: (ms: number, call: string, waited_seconds: number, queue = 'support'): DomainEvent => ({
    type: 'queue.caller_abandoned',
    ...queueEvent(queue, ms),
    data: { ...visit(call, queue), waited_seconds, position: 1 },
  }),
  offer: (
    type: 'offer.accepted' | 'offer.timeout' | 'offer.rejected',
    ms: number,
    extension: string | null,
    queue = 'support',
  ): DomainEvent =>
    ({
      type,
      ...queueEvent(queue, ms),
      data: {
        offer_id: `${queue}:a:b`,
        queue,
        extension,
        member: extension ?? 'x',
        call_id: 'a',
        waited_seconds: 1,
        ring_seconds: 1,
      },
    }) as DomainEvent,
  loggedIn: (ms: number, extension: string, queue = 'support'): DomainEvent => ({
    type: 'agent.logged_in',
    ...agentEvent(extension, ms),
    data: bare({ extension, queue }),
  }),
  loggedOut: (ms: number, extension: string, queue = 'support'): DomainEvent => ({
    type: 'agent.logged_out',
    ...agentEvent(extension, ms),
    data: bare({ extension, queue }),
  }),
  ready: (ms: number, extension: string, queue: string | null): DomainEvent => ({
    type: 'agent.ready',
    ...agentEvent(extension, ms),
    data: bare({ extension, queue }),
  }),
  notReady: (ms: number, extension: string, queue: string | null): DomainEvent => ({
    type: 'agent.not_ready',
    ...agentEvent(extension, ms),
    data: bare({ extension, queue, reason: 'break', since: rfc3339(ms) }),
  }),
  talking: (ms: number, extension: string, call: string, queue = 'support'): DomainEvent => ({
    type: 'agent.talking',
    ...agentEvent(extension, ms),
    data: bare({ extension, queue, call_id: call }),
  }),
  held: (ms: number, extension: string): DomainEvent => ({
    type: 'agent.held',
    ...agentEvent(extension, ms),
    data: bare({ extension }),
  }),
  retrieved: (ms: number, extension: string): DomainEvent => ({
    type: 'agent.retrieved',
    ...agentEvent(extension, ms),
    data: bare({ extension }),
  }),
  wrapUp: (
    ms: number,
    extension: string,
    call: string,
    talk_seconds: number,
    deadline: number,
    queue = 'support',
  ): DomainEvent => ({
    type: 'agent.wrap_up',
    ...agentEvent(extension, ms),
    data: bare({ extension, queue, call_id: call, deadline: rfc3339(deadline), talk_seconds }),
  }),
  extended: (ms: number, extension: string, deadline: number): DomainEvent => ({
    type: 'agent.wrap_up_extended',
    ...agentEvent(extension, ms),
    data: bare({ extension, deadline: rfc3339(deadline) }),
  }),
  busyOther: (ms: number, extension: string): DomainEvent => ({
    type: 'agent.busy_other',
    ...agentEvent(extension, ms),
    data: bare({ extension, direction: 'out' }),
  }),
  unreachable: (ms: number, extension: string): DomainEvent => ({
    type: 'agent.unreachable',
    ...agentEvent(extension, ms),
    data: bare({ extension }),
  }),
  transferred: (ms: number, call: string, by: string | null): DomainEvent => ({
    type: 'call.transferred',
    subject: `calls/${call}`,
    at: ms,
    observed: 'live',
    data: { ...callRef(call), kind: 'blind', by, to: '1009', merged_call_id: null },
  }),
  callEnded: (ms: number, call: string, merged_into: string | null = null): DomainEvent => ({
    type: 'call.ended',
    subject: `calls/${call}`,
    at: ms,
    observed: 'live',
    data: {
      ...callRef(call),
      cause: 16,
      cause_text: 'Normal Clearing',
      reason: merged_into === null ? 'hangup' : 'merged',
      merged_into,
    },
  }),
  /** The end of a visit in the present format: with milliseconds. */
  exact: <E extends DomainEvent>(event: E, rest_ms: number): E => {
    const { waited_seconds } = event.data as EventData<'queue.caller_left'>;
    return { ...event, data: { ...event.data, waited_ms: waited_seconds * 1000 + rest_ms } };
  },
  /** The same event with the agent's state after it. */
  showing: (event: DomainEvent, engagement: Engagement): DomainEvent =>
    ({ ...event, data: { ...event.data, agent: { engagement } as AgentSummary } }) as DomainEvent,
};
