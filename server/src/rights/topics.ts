/** Topics of each event, stored beside it in the journal, so that a filtered read opens no envelope. */
import type { DomainEvent, EventType } from '@offhook/contract/events.ts';

/** Topic that is part of every subscription: events of the engine and the store, which show a stale or fresh state. */
export const EVERYONE = '*';
/** Types of which only a subject's newest event counts: a slow reader skips older ones. */
const STATE_TYPES: ReadonlySet<string> = new Set<EventType>(['presence.changed', 'queue.stats']);
export const isStateType = (type: string): boolean => STATE_TYPES.has(type);

export const mineOf = (extension: string): string => `calls/mine/${extension}`;
/** First word of an event type. */
export type Noun = EventType extends `${infer Word}.${string}` ? Word : never;
const nouns = new Map<EventType, Noun>();
export function nounOf(type: EventType): Noun {
  let noun = nouns.get(type);
  if (noun === undefined) nouns.set(type, (noun = type.slice(0, type.indexOf('.')) as Noun));
  return noun;
}
/** Topics of calls that need attention at once: emergency calls, and calls that a call limit rejected. */
function alertsOf({ type, data }: DomainEvent): readonly string[] {
  const { notified = [], reason } = data as { notified?: readonly string[]; reason?: string };
  if (type === 'call.emergency') return ['alerts', ...notified.map((one) => `alerts/mine/${one}`)];
  return type === 'call.refused' && reason !== 'class' ? ['alerts'] : [];
}
/**
 * Topics of an event (wire.md section 6), widest first. An event of an unknown noun is on no topic, so no
 * client receives it. `calls/mine/<ext>` and the like belong to one person.
 */
export function topicsOf(event: DomainEvent): readonly string[] {
  const noun = nounOf(event.type);
  switch (noun) {
    case 'presence': {
      const { extension } = event.data as { extension: string };
      return ['presence', `presence/${extension}`];
    }
    case 'call': {
      const { extensions } = event.data as { extensions: readonly string[] };
      return ['calls', ...extensions.map(mineOf), ...alertsOf(event)];
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
    case 'phonebook': {
      const { extension } = event.data as { extension: string | null };
      return [extension === null ? 'phonebook/shared' : `phonebook/mine/${extension}`];
    }
    case 'callback': {
      const { extension, queue } = event.data as { extension: string | null; queue: string | null };
      return [
        ...(extension === null ? [] : ['history', `history/mine/${extension}`]),
        ...(queue === null ? [] : ['queues', `queues/${queue}`]),
      ];
    }
    case 'config':
      return ['config'];
    case 'trunk':
      return ['trunks'];
    case 'network':
    case 'phone':
    case 'night_switch':
    case 'certificate':
    case 'path_check':
      return ['system'];
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
/** Names in a journal row's `topics`. Rows with equal topics share one list, because every reader checks every row. */
export function namesIn(topics: string): readonly string[] {
  let names = split.get(topics);
  if (names === undefined) {
    names = topics.split(' ');
    if (split.size >= MAX_SPLIT) split.clear();
    split.set(topics, names);
  }
  return names;
}
/** Topics of an event type, with `{extension}` and `{name}` as placeholders. */
export function topicsOfType(type: EventType): readonly string[] {
  if (nounOf(type) === 'phonebook') return ['phonebook/shared', 'phonebook/mine'];
  const data = { extension: '{extension}', extensions: ['{extension}'], queue: '{name}' };
  const topics = topicsOf({ type, data } as unknown as DomainEvent);
  const named = topics.map((topic) => topic.replace(/\/mine\/.*/s, '/mine'));
  return named.includes(EVERYONE) ? [...named.filter((topic) => topic !== EVERYONE), 'every topic'] : named;
}
/** Whether an event of this type can be on one of the topics. */
export function isPublishedOn(type: EventType, topics: readonly string[]): boolean {
  const own = topicsOfType(type).map(firstWord);
  return own.includes('every topic') || topics.some((topic) => own.includes(firstWord(topic)));
}
const firstWord = (topic: string): string => topic.split('/', 1)[0]!;
