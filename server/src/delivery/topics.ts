import { EVERYONE } from '../core/topics.ts';
import { heardAs, historySince } from '../core/rights.ts';
import type { Objects, Principal } from '../core/rights.ts';
import type { TopicSources } from '../ports/stream.ts';

/** A topic as one principal hears it. */
export interface Heard {
  readonly topic: string;
  /** The names in a row's `topics` by which it is heard. */
  readonly names: readonly string[];
  readonly noun: keyof TopicSources;
  /** What a snapshot of it may show. */
  readonly objects: Objects;
  /** Events of the extension from before, ms since 1970, are of somebody else and not sent; 0 for no bound. */
  readonly since_ms: number;
}

/** Null where nothing of the topic may be heard. `own`: the queues the person works in. */
export function hear(who: Principal, topic: string, own: readonly string[]): Heard | null {
  const names = heardAs(who, topic, own);
  if (names === null) return null;
  const noun = topic.split('/', 1)[0] as keyof TopicSources;
  const objects = names[0] === noun ? null : names.map((name) => name.slice(name.lastIndexOf('/') + 1));
  return { topic, names, noun, objects, since_ms: historySince(who) };
}

/** The names that several topics are heard by, in order, none that a wider one holds already; always `*` too. */
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
 * Since which seq each name of `heard` was heard without a break: `fresh` from `from` on, what was heard `before` as before,
 * everything else from `at` on. A name counts as heard where a wider one was.
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
