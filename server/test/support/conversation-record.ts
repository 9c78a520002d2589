import type { ConversationRecord, RecordedParticipant } from '../../src/features/history/record/record.ts';

/** Given fields of a conversation; the others are derived. */
export interface Story {
  readonly id: string;
  readonly started?: number;
  readonly merged_from?: readonly string[];
  readonly caller?: Partial<RecordedParticipant>;
  readonly called?: Partial<RecordedParticipant>;
  readonly queue?: string;
  readonly direction?: ConversationRecord['direction'];
  readonly disposition?: ConversationRecord['disposition'];
  readonly complete?: boolean;
  readonly ring_ms?: number;
  readonly talk_ms?: number;
  readonly hold_ms?: number;
}
export const STARTED = Date.UTC(2026, 10, 21, 9);
const somebody = (over: Partial<RecordedParticipant> = {}): RecordedParticipant => ({
  extension: null,
  number: over.extension ?? '',
  number_e164: null,
  name: '',
  trunk: null,
  ...over,
});

/** A call between two parties, optionally through a queue, with the given times of ring, talk and hold. */
export function recordOf(story: Story): ConversationRecord {
  const { id, queue, started = STARTED, ring_ms = 1_234, talk_ms = 2_345, hold_ms = 0 } = story;
  const caller = somebody(story.caller ?? { extension: '1001', name: 'Ada' });
  const called = somebody(story.called ?? { extension: '1002', name: 'Sam' });
  const [answered, held] = [started + ring_ms, started + ring_ms + talk_ms];
  const ended = held + hold_ms;
  const [from_leg, to_leg] = [`${id}-a`, `${id}-b`];
  const segment = { with: [], held_by: null, queue: null, service: null } as const;
  const talk = [
    { ...segment, state: 'connected', from: answered, to: held },
    ...(hold_ms > 0
      ? [{ ...segment, state: 'held' as const, from: held, to: ended, held_by: 'this_leg' as const }]
      : []),
  ] as const;
  const leg = {
    endpoint: null,
    device: 'sip',
    dialled: called.number,
    from: started,
    answered,
    to: ended,
    ended_by: 'other_side',
    disposition: 'answered',
    cause: 16,
  } as const;
  const own = [caller, called].flatMap((p) => p.extension ?? []);
  const agents = queue === undefined || called.extension === null ? [] : [called.extension];
  return {
    id,
    merged_from: story.merged_from ?? [],
    built_by: 1,
    complete: story.complete ?? true,
    direction: story.direction ?? 'internal',
    disposition: story.disposition ?? 'answered',
    cause: 16,
    ended_by: 'called',
    started,
    answered,
    ended,
    ring_ms,
    wait_ms: queue === undefined ? 0 : ring_ms,
    talk_ms: 2 * talk_ms,
    hold_ms: 2 * hold_ms,
    park_ms: 0,
    billable_ms: 0,
    dialled: called.number,
    dialled_e164: called.number_e164,
    caller,
    parties: [caller, called],
    extensions: [...new Set(own)].toSorted(),
    queues: queue === undefined ? [] : [queue],
    agents,
    legs: [
      {
        ...leg,
        leg_id: from_leg,
        role: 'caller',
        participant: caller,
        segments: [
          {
            ...segment,
            state: queue === undefined ? 'initiated' : 'queued',
            from: started,
            to: answered,
            queue: queue ?? null,
          },
          ...talk,
        ],
      },
      {
        ...leg,
        leg_id: to_leg,
        role: queue === undefined ? 'called' : 'offered',
        participant: called,
        segments: [{ ...segment, state: 'alerting', from: started, to: answered }, ...talk],
      },
    ],
    transfers: [],
    visits:
      queue === undefined
        ? []
        : [
            {
              queue,
              leg_id: from_leg,
              from: started,
              to: answered,
              outcome: 'answered',
              agent: called.extension,
              agent_leg: to_leg,
              offers: [
                {
                  extension: called.extension,
                  leg_id: to_leg,
                  from: started,
                  ring_ms,
                  disposition: 'answered',
                },
              ],
            },
          ],
  };
}
