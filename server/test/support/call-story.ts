/** Random calls: actions of people as the engine's call records, with the expected result. */
import fc from 'fast-check';
import { channelId, nodeId } from '@offhook/contract/ids.ts';
import type { ConversationRecord } from '../../src/features/history/record/record.ts';
import type { KnownRecord } from '../../src/features/history/record/records.ts';
import { createCallStream } from './call-stream.ts';
import type { CallStream, StreamChannel } from './call-stream.ts';

type Ring = 'answer' | 'busy' | 'rejected' | 'no_answer' | 'cancel' | 'congestion' | 'pickup';
type Wait = 'answer' | 'abandon' | 'timeout';
export type Step =
  | { readonly do: 'talk'; readonly ms: number }
  | { readonly do: 'hold'; readonly by: 'caller' | 'other'; readonly ms: number }
  | { readonly do: 'park'; readonly ms: number; readonly taken: boolean }
  | { readonly do: 'blind'; readonly ms: number; readonly ring: Ring }
  | { readonly do: 'blind_queue'; readonly ms: number; readonly rounds: number; readonly wait: Wait }
  | { readonly do: 'attended'; readonly ms: number };
export interface Story {
  readonly outside: boolean;
  readonly begin:
    | { readonly to: 'people'; readonly devices: number; readonly ms: number; readonly ring: Ring }
    | { readonly to: 'queue'; readonly rounds: number; readonly ms: number; readonly wait: Wait };
  readonly steps: readonly Step[];
  readonly ends: 'caller' | 'other';
}
/** Expected result. */
export interface StoryFacts {
  readonly records: readonly KnownRecord[];
  readonly outcomes: ConversationRecord['visits'][number]['outcome'][];
  readonly transfers: string[];
  hold_ms: number;
  park_ms: number;
  talked: boolean;
}

const ms = fc.integer({ min: 200, max: 90_000 });
const ring = fc.constantFrom<Ring>(
  'answer',
  'answer',
  'busy',
  'rejected',
  'no_answer',
  'cancel',
  'congestion',
  'pickup',
);
const wait = fc.constantFrom<Wait>('answer', 'answer', 'abandon', 'timeout');
const rounds = fc.integer({ min: 0, max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('talk' as const), ms }),
  fc.record({
    do: fc.constant('hold' as const),
    by: fc.constantFrom('caller' as const, 'other' as const),
    ms,
  }),
  fc.record({ do: fc.constant('park' as const), ms, taken: fc.boolean() }),
  fc.record({ do: fc.constant('blind' as const), ms, ring }),
  fc.record({ do: fc.constant('blind_queue' as const), ms, rounds, wait }),
  fc.record({ do: fc.constant('attended' as const), ms }),
);
export const stories: fc.Arbitrary<Story> = fc.record({
  outside: fc.boolean(),
  begin: fc.oneof(
    fc.record({ to: fc.constant('people' as const), devices: fc.integer({ min: 1, max: 3 }), ms, ring }),
    fc.record({ to: fc.constant('queue' as const), rounds, ms, wait }),
  ),
  steps: fc.array(step, { maxLength: 6 }),
  ends: fc.constantFrom('caller' as const, 'other' as const),
});

interface Scene {
  readonly s: CallStream;
  readonly facts: StoryFacts;
  readonly caller: StreamChannel;
  /** The peer of the caller, and their bridge. */
  other: StreamChannel | null;
  bridge: string;
  people: number;
}
const CAUSE: Readonly<Record<Ring, number>> = {
  answer: 16,
  pickup: 26,
  busy: 17,
  rejected: 21,
  congestion: 34,
  no_answer: 0,
  cancel: 127,
};
const id = (c: StreamChannel) => channelId(nodeId('ast1'), c.id);

/** `jump` sets the clock during the call. */
export function played(story: Story, jump: Parameters<typeof createCallStream>[0] = null): StoryFacts {
  const s = createCallStream(jump);
  const who = story.outside ? { trunk: 'north', number: '+4930123' } : { extension: '1001' };
  const facts: StoryFacts = {
    records: s.records,
    outcomes: [],
    transfers: [],
    hold_ms: 0,
    park_ms: 0,
    talked: false,
  };
  const caller = s.channel({ ...who, dialled: story.begin.to === 'queue' ? '500' : '1002' });
  const scene: Scene = { s, facts, caller, other: null, bridge: '', people: 1001 };
  const { begin } = story;
  if (begin.to === 'queue') {
    s.answer(caller);
    waits(scene, begin);
  } else rings(scene, begin);
  for (const one of story.steps) if (scene.other !== null) act(scene, one);
  if (scene.other !== null) parts(scene, story.ends === 'caller' ? caller : scene.other);
  if (!caller.ended) s.hangUp(caller, 16, caller);
  s.close(caller);
  return facts;
}
const somebody = (scene: Scene): string => String((scene.people += 1));

function joins(scene: Scene, other: StreamChannel): void {
  const { s, caller } = scene;
  scene.other = other;
  scene.bridge = s.bridge();
  s.enter(other, scene.bridge);
  s.enter(caller, scene.bridge);
  s.wait(300);
  scene.facts.talked = true;
}
function parts({ s, caller, other, bridge }: Scene, by: StreamChannel): void {
  s.exit(caller, bridge);
  s.exit(other!, bridge);
  s.hangUp(other!, 16, by);
  s.stop(caller);
  s.hangUp(caller, 16, by);
}

/** The caller dials an extension; false if no device answered. */
function rings(
  scene: Scene,
  { devices, ms: after, ring: how }: { devices: number; ms: number; ring: Ring },
): void {
  const { s, caller } = scene;
  const extension = somebody(scene);
  s.start(caller, 'dial', `Phone/${extension}/sip:x`);
  const rung = Array.from({ length: devices }, () => s.channel({ of: caller, extension }));
  s.wait(after);
  const [first, ...rest] = rung as [StreamChannel, ...StreamChannel[]];
  if (how === 'answer') {
    s.answer(first);
    s.answer(caller);
    joins(scene, first);
    for (const c of rest) s.hangUp(c, 26);
    return;
  }
  if (how === 'pickup') {
    const taker = s.channel({ extension: somebody(scene), dialled: '*8' });
    s.answer(taker);
    s.say(first, 'pickup', { other: id(taker) });
    s.answer(caller);
    for (const c of rung) s.hangUp(c, 26);
    scene.facts.transfers.push('pickup completed');
    taker.call = caller.call;
    joins(scene, taker);
    return;
  }
  const itself = how === 'busy' || how === 'rejected' || how === 'congestion';
  for (const c of rung) s.hangUp(c, CAUSE[how], itself ? c : undefined);
  s.stop(caller);
  if (how === 'cancel') s.hangUp(caller, 127, caller);
  else s.hangUp(caller, how === 'no_answer' ? 19 : CAUSE[how]);
}

/** The caller waits in a queue; agents do not answer for some rounds first. */
function waits(
  scene: Scene,
  { rounds: vain, ms: after, wait: how }: { rounds: number; ms: number; wait: Wait },
): void {
  const { s, caller, facts } = scene;
  s.start(caller, 'queue', 'support,C', 'support');
  const offer = () => {
    const extension = somebody(scene);
    const pair = `Local/${extension}@queue-agent-0000${extension}`;
    const near = s.channel({ of: caller, pair, half: 1, dialled: extension });
    const far = s.channel({ of: caller, pair, half: 2, dialled: extension });
    s.start(far, 'dial', `Phone/${extension}/sip:x`);
    return { near, far, phone: s.channel({ of: caller, extension }) };
  };
  const takeBack = ({ near, far, phone }: ReturnType<typeof offer>) => {
    s.hangUp(near, 26);
    s.stop(far);
    s.hangUp(far, 26);
    s.hangUp(phone, 26);
  };
  for (let i = 0; i < vain; i += 1) {
    const given = offer();
    s.wait(4000);
    takeBack(given);
    s.wait(1000);
  }
  const last = offer();
  s.wait(after);
  if (how === 'answer') {
    const between = s.bridge();
    s.answer(last.phone);
    s.enter(last.phone, between);
    s.enter(last.far, between);
    scene.bridge = s.bridge();
    s.enter(last.near, scene.bridge);
    s.enter(caller, scene.bridge);
    // The internal pair leaves, as with media on both sides.
    s.exit(last.phone, between);
    s.exit(last.near, scene.bridge);
    s.enter(last.phone, scene.bridge);
    s.exit(last.far, between);
    s.stop(last.far);
    s.hangUp(last.far, 16);
    s.hangUp(last.near, 16);
    s.wait(300);
    scene.other = last.phone;
    facts.talked = true;
    facts.outcomes.push('answered');
    return;
  }
  takeBack(last);
  s.stop(caller);
  if (how === 'timeout') {
    s.say(caller, 'user_defined', { queue_status: 'timeout' });
    s.wait(2500);
    s.hangUp(caller, 16);
  } else s.hangUp(caller, 0, caller);
  facts.outcomes.push(how === 'timeout' ? 'timeout' : 'abandoned');
}

function act(scene: Scene, one: Step): void {
  const { s, facts, caller } = scene;
  const other = scene.other!;
  switch (one.do) {
    case 'talk':
      return s.wait(one.ms);
    case 'hold': {
      const held = one.by === 'caller' ? other : caller;
      s.wait(500);
      s.say(held, 'music_start');
      s.wait(one.ms);
      s.say(held, 'music_end');
      facts.hold_ms += 2 * one.ms;
      return s.wait(500);
    }
    case 'park':
      return parks(scene, one);
    case 'attended':
      return consults(scene, one.ms);
    default: {
      s.wait(500);
      const target = one.do === 'blind' ? '1099' : '500';
      s.say(other, 'blind_transfer', { other: id(caller), target });
      leaves(scene);
      facts.transfers.push(`blind ${one.do === 'blind' ? BLIND[one.ring] : BLIND_QUEUE[one.wait]}`);
      if (one.do === 'blind') rings(scene, { devices: 1, ms: one.ms, ring: one.ring });
      else waits(scene, one);
    }
  }
}
const BLIND_QUEUE: Readonly<Record<Wait, string>> = {
  answer: 'completed',
  abandon: 'abandoned',
  timeout: 'no_answer',
};
const BLIND: Readonly<Record<Ring, string>> = {
  answer: 'completed',
  pickup: 'completed',
  busy: 'no_answer',
  rejected: 'no_answer',
  no_answer: 'no_answer',
  cancel: 'abandoned',
  congestion: 'failed',
};
/** The engine releases the other leg after it transferred the caller. */
function leaves(scene: Scene): void {
  const { s, caller, other, bridge } = scene;
  s.exit(caller, bridge);
  s.stop(caller);
  s.exit(other!, bridge);
  s.hangUp(other!, 16);
  scene.other = null;
}
function parks(scene: Scene, { ms: after, taken }: { ms: number; taken: boolean }): void {
  const { s, caller, facts } = scene;
  s.wait(500);
  s.say(scene.other!, 'blind_transfer', { other: id(caller), target: '700' });
  leaves(scene);
  s.say(caller, 'park_start');
  const lot = s.bridge();
  s.enter(caller, lot, true);
  s.wait(after);
  facts.park_ms += after;
  if (!taken) {
    s.say(caller, 'park_end');
    s.exit(caller, lot);
    s.hangUp(caller, 16, caller);
    facts.transfers.push('park abandoned');
    return;
  }
  const taker = s.channel({ extension: somebody(scene), dialled: '701' });
  s.start(taker, 'parkedcall', 'default,701');
  s.answer(taker);
  s.say(caller, 'park_end', { other_name: taker.name });
  s.exit(caller, lot);
  taker.call = caller.call;
  facts.transfers.push('park completed');
  joins(scene, taker);
}
/** The other leg holds the caller, talks to a third on a second channel and connects the two. */
function consults(scene: Scene, after: number): void {
  const { s, caller, facts, bridge } = scene;
  const other = scene.other!;
  if (other.extension === null) return;
  s.wait(500);
  s.say(caller, 'music_start');
  const extension = somebody(scene);
  const second = s.channel({ extension: other.extension, dialled: extension });
  s.start(second, 'dial', `Phone/${extension}/sip:x`);
  const third = s.channel({ of: second, extension });
  s.wait(700);
  s.answer(third);
  s.answer(second);
  const between = s.bridge();
  s.enter(third, between);
  s.enter(second, between);
  s.wait(after);
  facts.hold_ms += 2 * (after + 700);
  s.say(caller, 'music_end');
  s.exit(caller, bridge);
  s.exit(second, between);
  s.enter(caller, between);
  s.say(other, 'attended_transfer', { other: id(caller) });
  s.exit(other, bridge);
  s.stop(second);
  s.hangUp(second, 16);
  s.close(second);
  s.hangUp(other, 16);
  third.call = caller.call;
  scene.other = third;
  scene.bridge = between;
  facts.transfers.push('attended completed');
}
