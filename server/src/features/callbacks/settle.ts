/** Missed calls and contacts of one number → its callbacks. Pure. */
import { EVERY_QUEUE } from './calls.ts';
import type { CallsTable } from './tables.ts';

export type KnownCall = Pick<CallsTable, 'conversation' | 'scope' | 'contact' | 'at' | 'by'>;
export interface Settled {
  /** Number of tries since the last contact, or close by hand, that precedes the newest try. */
  readonly tries: number;
  readonly first_at: number;
  readonly last_at: number;
  /** Conversation of the newest try. */
  readonly conversation: string;
  readonly open: boolean;
  /** The first contact after the newest try. */
  readonly contact: KnownCall | null;
}

/** `closedAt`: time of the last close by hand of each scope, ms since 1970. */
export function settle(
  calls: readonly KnownCall[],
  closedAt: ReadonlyMap<string, number>,
): ReadonlyMap<string, Settled> {
  const tries = calls.filter(({ contact }) => contact === 0).toSorted((a, b) => a.at - b.at);
  const contacts = calls.filter(({ contact }) => contact === 1).toSorted((a, b) => a.at - b.at);
  const inVain = Map.groupBy(tries, ({ conversation }) => conversation);
  /** Scopes whose contacts close this callback: all that missed the same calls, so a ring group needs one contact. */
  const closersOf = (scope: string, own: readonly KnownCall[]): ReadonlySet<string> =>
    new Set([
      scope,
      ...(scope.startsWith('queue:') ? [EVERY_QUEUE] : []),
      ...own.flatMap(({ conversation }) => inVain.get(conversation)!.map((call) => call.scope)),
    ]);
  return new Map(
    [...Map.groupBy(tries, ({ scope }) => scope)].map(([scope, own]): [string, Settled] => {
      const last = own.at(-1)!;
      const closers = closersOf(scope, own);
      const ends = contacts.filter((call) => closers.has(call.scope));
      const byHand = closedAt.get(scope) ?? -Infinity;
      const contact = ends.find(({ at }) => at > last.at) ?? null;
      const before = Math.max(
        ends.findLast(({ at }) => at <= last.at)?.at ?? -Infinity,
        byHand < last.at ? byHand : -Infinity,
      );
      const since = own.filter(({ at }) => at > before);
      // A contact that ended at the same time precedes the try.
      const run = since.length === 0 ? [last] : since;
      return [
        scope,
        {
          tries: run.length,
          first_at: run[0]!.at,
          last_at: last.at,
          conversation: last.conversation,
          open: contact === null && byHand < last.at,
          contact,
        },
      ];
    }),
  );
}
