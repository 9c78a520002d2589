/** Which topics an event belongs to; written beside it in the journal, so that a filtered read opens no envelope. */
import type { DomainEvent, EventType } from '@offhook/contract/events.ts';

/** Every subscription hears these: what is shown is stale, or fresh again. */
export const EVERYONE = '*';
/** Only the newest event of a subject counts: a slow reader is spared the ones before it. */
const STATE_TYPES: ReadonlySet<string> = new Set<EventType>(['presence.changed', 'queue.stats']);
export const isStateType = (type: string): boolean => STATE_TYPES.has(type);

export const mineOf = (extension: string): string => `calls/mine/${extension}`;
/** First word of an event type. */
export type Noun = EventType extends `${infer Word}.${string}` ? Word : never;
const nouns = new Map<EventType, Noun>();
/** What an event is about. */
export function nounOf(type: EventType): Noun {
  let noun = nouns.get(type);
  if (noun === undefined) nouns.set(type, (noun = type.slice(0, type.indexOf('.')) as Noun));
  return noun;
}
/** Widest first; an event of an unknown noun is on no topic, so that no client receives it. `calls/mine/<ext>` is one person's own; the others are the topics of wire.md section 6. */
export function topicsOf(event: DomainEvent): readonly string[] {
  const noun = nounOf(event.type);
  switch (noun) {
    case 'presence': {
      const { extension } = event.data as { extension: string };
      return ['presence', `presence/${extension}`];
    }
    case 'call': {
      const { extensions } = event.data as { extensions: readonly string[] };
      return ['calls', ...extensions.map(mineOf)];
    }
    case 'parking':
      return ['parking'];
    case 'conversation': {
      const { extensions } = event.data as { extensions: readonly string[] };
      return ['history', ...extensions.map((extension) => `history/mine/${extension}`)];
    }
    case 'history':
      return ['history'];
    case 'operation': {
      const { extension } = event.data as { extension: string | null };
      return extension === null ? ['calls'] : ['calls', mineOf(extension)];
    }
    case 'queue':
    case 'offer': {
      const { queue } = event.data as { queue: string };
      return ['queues', `queues/${queue}`];
    }
    case 'agent': {
      const { extension } = event.data as { extension: string };
      return ['agents', `agents/${extension}`];
    }
    case 'config':
      return ['config'];
    case 'engine':
    case 'store':
      return ['system', EVERYONE];
    default:
      noun satisfies never;
      return [];
  }
}
const MAX_SPLIT = 20_000;
const split = new Map<string, readonly string[]>();
/** The names in a journal row's `topics`. Rows of the same topics share one list, because every reader looks at every row. */
export function namesIn(topics: string): readonly string[] {
  let names = split.get(topics);
  if (names === undefined) {
    names = topics.split(' ');
    if (split.size >= MAX_SPLIT) split.clear();
    split.set(topics, names);
  }
  return names;
}
/** Topics that an event of this type is on, with `{extension}` and `{name}` where they name one. */
export function topicsOfType(type: EventType): readonly string[] {
  const data = { extension: '{extension}', extensions: ['{extension}'], queue: '{name}' };
  const topics = topicsOf({ type, data } as unknown as DomainEvent);
  const named = topics.map((topic) => topic.replace(/\/mine\/.*/s, '/mine'));
  return named.includes(EVERYONE) ? [...named.filter((topic) => topic !== EVERYONE), 'every topic'] : named;
}
