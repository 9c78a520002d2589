import { hash } from 'node:crypto';
import type { TopicNoun } from '@offhook/contract/stream.ts';
import { cutOf } from './display.ts';
import { EVERYONE } from './topics.ts';
import { heardAs, historySince, parkingSince } from './rights.ts';
import type { Objects, Principal } from './rights.ts';

/** A topic with the access of one principal. */
export interface Heard {
  readonly topic: string;
  /** Names in a row's `topics` that match it. */
  readonly names: readonly string[];
  readonly noun: TopicNoun;
  /** Objects its snapshot may show. */
  readonly objects: Objects;
  /** Time before which events are not sent, ms since 1970; 0 for no bound. */
  readonly since_ms: number;
}

/** Time from which each name is received, ms since 1970; a name without a bound is absent. */
export type Bounds = ReadonlyMap<string, number>;
export const NO_BOUNDS: Bounds = new Map();
export function boundsOf(heard: readonly Heard[]): Bounds {
  const bounded = heard.filter((one) => one.since_ms > 0);
  if (bounded.length === 0) return NO_BOUNDS;
  return new Map(bounded.flatMap((one) => one.names.map((name) => [name, one.since_ms] as const)));
}

/** Personal topics: earlier events belong to the previous holder of the extension. */
const PERSONAL = /^(?:calls\/mine|alerts\/mine|history\/mine|phonebook\/mine|agents)\//;
function sinceOf(who: Principal, [name = '']: readonly string[]): number {
  if (name === 'parking') return parkingSince(who);
  return PERSONAL.test(name) ? historySince(who) : 0;
}
/** Null without access to the topic. `own`: the queues the person works in. */
export function hear(who: Principal, topic: string, own: readonly string[]): Heard | null {
  const names = heardAs(who, topic, own);
  if (names === null) return null;
  const noun = topic.split('/', 1)[0] as TopicNoun;
  const objects = names[0] === noun ? null : names.map((name) => name.slice(name.lastIndexOf('/') + 1));
  return { topic, names, noun, objects, since_ms: sinceOf(who, names) };
}

/** Text that differs if the access of `who` to one of the topics differs. */
export function accessOf(who: Principal, heard: readonly Heard[]): string {
  const each = heard.map(({ topic, names, since_ms }) => [topic, names.toSorted(), since_ms]);
  const cut = cutOf(who);
  return hash('sha256', JSON.stringify(cut === null ? each : [cut, each]), 'base64url').slice(0, 16);
}

/** Names of several topics, in order, without those that a wider one covers; always includes `*`. */
export function namesOf(heard: readonly Heard[]): readonly string[] {
  const all = new Set(heard.flatMap((one) => one.names));
  const needed = [...all].filter((name) => {
    const at = name.indexOf('/');
    return at < 0 || !all.has(name.slice(0, at));
  });
  return [...needed.toSorted(), EVERYONE];
}

const wider = (name: string): string => name.split('/', 1)[0]!;
/**
 * Seq since which each name of `heard` is received without a gap: names in `fresh` from `from`, names in
 * `before` as before, all others from `at`. A name covered by a wider one counts as received.
 */
export function heardSince(
  before: ReadonlyMap<string, number>,
  heard: readonly Heard[],
  at: number,
  fresh: readonly Heard[] = [],
  from: number = at,
): ReadonlyMap<string, number> {
  const known = new Map(before);
  if (fresh.length > 0) {
    for (const name of namesOf(fresh)) known.set(name, Math.min(known.get(name) ?? from, from));
  }
  const names = heard.length === 0 ? [] : [...heard.flatMap((one) => one.names), EVERYONE];
  return new Map(names.map((name) => [name, Math.min(known.get(name) ?? at, known.get(wider(name)) ?? at)]));
}
