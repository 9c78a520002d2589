/** Differences as people read them: of objects by field, of files by line, without secrets. */
import { createTwoFilesPatch } from 'diff';
import type { ObjectChange, ObjectSummary } from '@offhook/contract/config-applies.ts';
import { CONFIG_SECRETS } from '@offhook/contract/config-objects.ts';
import { difference } from '../model.ts';
import type { Model } from '../model.ts';
import { secretDiffers } from '../secrets.ts';

/** Limit of listed objects; the reported number of objects is exact. */
const MOST_OBJECTS = 200;
const MOST_VALUE = 4_000;
const MOST_DIFF = 16_000;
/** Limit of changed lines: finding a larger difference takes too long. */
const MOST_EDITS = 2_000;
/** Limit of time for one comparison, which blocks the event loop. */
const MOST_MS = 150;
const linesOf = (text: string): number => text.split('\n').length;

const shown = (value: unknown): unknown => {
  if (value === undefined) return null;
  return JSON.stringify(value).length > MOST_VALUE ? null : value;
};
type Changed = ReturnType<typeof difference>;
const changeOf = ({ object, before }: Changed[number]): ObjectSummary['change'] =>
  object === null ? 'removed' : before === null ? 'added' : 'changed';

export const summariesOf = (changes: Changed): { count: number; list: ObjectSummary[] } => ({
  count: changes.length,
  list: changes.slice(0, MOST_OBJECTS).map((c) => ({ kind: c.kind, key: c.key, change: changeOf(c) })),
});
/** Changes from one model to the other, by field. */
export function objectChanges(from: Model, to: Model): { count: number; list: ObjectChange[] } {
  const changes = difference(from, to);
  const list = changes.slice(0, MOST_OBJECTS).map((change) => {
    const { kind, key, object, before } = change;
    const old = (before?.body ?? {}) as Record<string, unknown>;
    const now = (object?.body ?? {}) as Record<string, unknown>;
    const secrets = new Set(CONFIG_SECRETS[kind]);
    const fields = [...new Set([...Object.keys(old), ...Object.keys(now)])]
      .filter((field) =>
        secrets.has(field)
          ? secretDiffers(old[field], now[field])
          : JSON.stringify(old[field]) !== JSON.stringify(now[field]),
      )
      .map((field) => {
        const secret = secrets.has(field);
        return {
          field,
          secret,
          before: secret ? null : shown(old[field]),
          after: secret ? null : shown(now[field]),
        };
      });
    return { kind, key, change: changeOf(change), fields };
  });
  return { count: changes.length, list };
}
/** A unified diff; null if the limits are exceeded. */
export function fileDiff(
  name: string,
  before: string,
  after: string,
): { readonly diff: string | null; readonly truncated: boolean } {
  // The difference in lines alone exceeds the limit.
  if (Math.abs(linesOf(after) - linesOf(before)) > MOST_EDITS) return { diff: null, truncated: true };
  const patch = createTwoFilesPatch(name, name, before, after, '', '', {
    context: 3,
    maxEditLength: MOST_EDITS,
    timeout: MOST_MS,
  });
  if (patch === undefined) return { diff: null, truncated: true };
  const text = patch.replace(/^Index: .*\n=+\n/, '');
  return text.length <= MOST_DIFF
    ? { diff: text, truncated: false }
    : { diff: text.slice(0, text.lastIndexOf('\n', MOST_DIFF) + 1), truncated: true };
}
