/** Calls by name: each is a list of steps with its people as parameters. */
import type { z } from 'zod';
import type { Step } from './steps.ts';

/** Parties and durations; each has a default of the demo company. */
export interface Cast {
  /** A number outside. */
  readonly caller: string;
  readonly agent: string;
  /** Extension that gets a transfer, or rings beside the agent. */
  readonly other: string;
  readonly queue: string;
  readonly ring_seconds: number;
  readonly talk_seconds: number;
}
export const CAST: Cast = {
  caller: '+4930901820',
  agent: '1003',
  other: '1002',
  queue: '500',
  ring_seconds: 3,
  talk_seconds: 60,
};
type Steps = readonly z.input<typeof Step>[];
const wait = (seconds: number) => ({ do: 'wait', seconds }) as const;
const answered = ({ caller, agent, ring_seconds, talk_seconds }: Cast): Steps => [
  { do: 'call', from: caller, to: agent },
  wait(ring_seconds),
  { do: 'answer', by: agent },
  wait(talk_seconds),
];
const queued = ({ caller, queue, ring_seconds }: Cast): Steps => [
  { do: 'call', from: caller, to: queue },
  wait(ring_seconds),
];

export const STORIES = {
  'inbound answered': (cast) => [...answered(cast), { do: 'hangup', by: cast.caller }],
  'outbound answered': ({ caller, agent, ring_seconds, talk_seconds }) => [
    { do: 'call', from: agent, to: caller },
    wait(ring_seconds),
    { do: 'answer', by: caller },
    wait(talk_seconds),
    { do: 'hangup', by: agent },
  ],
  'internal answered': ({ agent, other, ring_seconds, talk_seconds }) => [
    { do: 'call', from: agent, to: other },
    wait(ring_seconds),
    { do: 'answer', by: other },
    wait(talk_seconds),
    { do: 'hangup', by: agent },
  ],
  'queue answered': (cast) => [
    ...queued(cast),
    { do: 'answer', by: cast.agent },
    wait(cast.talk_seconds),
    { do: 'hangup', by: cast.caller },
  ],
  'queue abandoned': (cast) => [...queued(cast), { do: 'hangup', by: cast.caller }],
  'blind transfer': (cast) => [
    ...answered(cast),
    { do: 'transfer', by: cast.agent, to: cast.other },
    wait(cast.ring_seconds),
    { do: 'answer', by: cast.other },
    wait(cast.talk_seconds),
    { do: 'hangup', by: cast.caller },
  ],
  'attended transfer': (cast) => [
    ...answered(cast),
    { do: 'consult', by: cast.agent, to: cast.other },
    wait(cast.ring_seconds),
    { do: 'answer', by: cast.other },
    wait(cast.ring_seconds),
    { do: 'complete', by: cast.agent },
    wait(cast.talk_seconds),
    { do: 'hangup', by: cast.caller },
  ],
  'answered elsewhere': (cast) => [
    { do: 'register', by: cast.agent, device: 'mobile' },
    { do: 'call', from: cast.caller, to: cast.agent },
    wait(cast.ring_seconds),
    { do: 'answer', by: cast.agent },
    wait(cast.talk_seconds),
    { do: 'hangup', by: cast.caller },
    { do: 'unregister', by: cast.agent, device: 'mobile' },
  ],
  held: (cast) => [
    ...answered(cast),
    { do: 'hold', by: cast.agent },
    wait(cast.ring_seconds),
    { do: 'retrieve', by: cast.agent },
    wait(cast.talk_seconds),
    { do: 'hangup', by: cast.caller },
  ],
  voicemail: ({ caller, agent, talk_seconds }) => [
    { do: 'call', from: caller, to: agent },
    wait(20),
    wait(talk_seconds),
    { do: 'hangup', by: caller },
  ],
  busy: ({ caller, agent, ring_seconds }) => [
    { do: 'call', from: caller, to: agent },
    wait(ring_seconds),
    { do: 'decline', by: agent, busy: true },
    wait(1),
    { do: 'hangup', by: caller },
  ],
  missed: ({ caller, agent, ring_seconds }) => [
    { do: 'call', from: caller, to: agent },
    wait(ring_seconds),
    { do: 'hangup', by: caller },
  ],
} as const satisfies Readonly<Record<string, (cast: Cast) => Steps>>;
export type StoryName = keyof typeof STORIES;
export const STORY_NAMES = Object.keys(STORIES) as [StoryName, ...StoryName[]];
