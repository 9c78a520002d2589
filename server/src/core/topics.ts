/** Which topics an event belongs to; written beside it in the journal, so that a filtered read opens no envelope. */
import type { DomainEvent, EventType } from '@offhook/contract/events.ts';

/** Every subscription hears these: what is shown is stale, or fresh again. */
export const EVERYONE = '*';
/** Only the newest event of a subject counts: a slow reader is spared the ones before it. */
const STATE_TYPES: ReadonlySet<string> = new Set<EventType>(['presence.changed', 'queue.stats']);
export const isStateType = (type: string): boolean => STATE_TYPES.has(type);

export const mineOf = (extension: string): string => `calls/mine/${extension}`;
const nouns = new Map<string, string>();
/** What an event is about: the first word of its type. */
export function nounOf(type: EventType): string {
  let noun = nouns.get(type);
  if (noun === undefined) nouns.set(type, (noun = type.slice(0, type.indexOf('.'))));
  return noun;
}
/** Widest first. `calls/mine/<ext>` is one person's own; the others are the topics of wire.md section 6. */
export function topicsOf(event: DomainEvent): readonly string[] {
  switch (nounOf(event.type)) {
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
    default:
      return ['system', EVERYONE];
  }
}
/** Topics that an event of this type is on, with `{extension}` and `{name}` where they name one. */
export function topicsOfType(type: EventType): readonly string[] {
  const data = { extension: '{extension}', extensions: ['{extension}'], queue: '{name}' };
  const topics = topicsOf({ type, data } as unknown as DomainEvent);
  const named = topics.map((topic) => topic.replace(/\/mine\/.*/s, '/mine'));
  return named.includes(EVERYONE) ? [...named.filter((topic) => topic !== EVERYONE), 'every topic'] : named;
}
