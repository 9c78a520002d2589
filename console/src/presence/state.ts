/** Summary of the three layers of a person's presence. */
import type { Presence } from '@offhook/contract/extensions.ts';

const WORDS = ['available', 'in_call', 'ringing', 'dnd', 'away', 'xa', 'unavailable', 'offline'] as const;
export type Word = (typeof WORDS)[number] | 'chat' | 'on_hold' | 'not_ready' | 'unknown';
/** Groups by which a list is filtered. */
export const GROUPS = ['available', 'busy', 'away', 'offline'] as const;
export type Group = (typeof GROUPS)[number];
export type Tone = 'ok' | 'warn' | 'alert' | 'info' | 'idle';

const OF: Readonly<Record<Word, readonly [Group, Tone]>> = {
  available: ['available', 'ok'],
  chat: ['available', 'ok'],
  in_call: ['busy', 'alert'],
  on_hold: ['busy', 'alert'],
  ringing: ['busy', 'warn'],
  dnd: ['busy', 'alert'],
  away: ['away', 'warn'],
  xa: ['away', 'warn'],
  unavailable: ['away', 'warn'],
  not_ready: ['away', 'info'],
  offline: ['offline', 'idle'],
  unknown: ['offline', 'idle'],
};
export interface Shown {
  readonly word: Word;
  readonly group: Group;
  readonly tone: Tone;
  /** Pause reason of an agent, if it is shown instead of the word. */
  readonly reason: string | null;
}
function wordOf({ summary, activity, personal, reachability }: Presence): Word {
  if (summary === 'in_call') return activity === 'on_hold' ? 'on_hold' : 'in_call';
  if (summary === 'available') return personal === 'chat' ? 'chat' : 'available';
  if (summary === 'offline') return reachability === 'unknown' ? 'unknown' : 'offline';
  return WORDS.find((word) => word === summary) ?? 'not_ready';
}
export function shownOf(presence: Presence | undefined): Shown {
  const word = presence === undefined ? 'unknown' : wordOf(presence);
  const [group, tone] = OF[word];
  const reason =
    word === 'not_ready' && presence?.summary !== 'not_ready' ? (presence?.summary ?? null) : null;
  return { word, group, tone, reason };
}
