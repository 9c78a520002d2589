/** Handles writes lost by the store: an event, a failing check and a new epoch of the feed of changes. */
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { SqliteStore } from '../adapters/sqlite/store.ts';
import { rfc3339 } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Check } from '../http/health.ts';
import type { Clock } from '../ports/clock.ts';
import type { StoreGap } from '../ports/store.ts';

const SHOWN_MS = 86_400_000;

export interface StoreGaps {
  /** Fails for a day after a gap was found; the service stays ready. */
  readonly check: Check;
  /** Events of gaps that are not in the journal yet. */
  events(): readonly DomainEvent[];
  /** Call with every committed event: a gap whose event is in the journal is not published again. */
  onDomainEvent(event: DomainEvent): void;
  /** Epoch of a feed kept in the store: a gap voids its positions, because they are assigned again. */
  feedEpoch(epoch: string): string;
}
export function createStoreGaps(
  store: Pick<SqliteStore, 'gaps' | 'gapReported'>,
  clock: Pick<Clock, 'now'>,
  log: Log,
): StoreGaps {
  const newest = store.gaps.at(-1);
  return {
    check: {
      name: 'store',
      needed: false,
      run: () =>
        Promise.resolve(
          newest === undefined || clock.now() - newest.found >= SHOWN_MS
            ? { ok: true, detail: 'no write was lost in the last day' }
            : {
                ok: false,
                detail: `${newest.writes} writes are lost, ${rfc3339(newest.from)} to ${rfc3339(newest.to)}`,
              },
        ),
    },
    events: () => store.gaps.filter((gap) => !gap.reported).map(eventOf),
    onDomainEvent(event) {
      if (event.type !== 'store.gap') return;
      store.gapReported(event.data.gap_id).catch((error: unknown) => {
        log.warn(
          { error: messageOf(error) },
          'the gap of the store will be published again at the next start',
        );
      });
    },
    feedEpoch: (epoch) => (newest === undefined ? epoch : `${epoch}.${newest.id}`),
  };
}
/** A database server keeps confirmed writes, or reports a loss in its own log. */
export const noStoreGaps: StoreGaps = {
  check: {
    name: 'store',
    needed: false,
    run: () => Promise.resolve({ ok: true, detail: 'PostgreSQL answers for its writes' }),
  },
  events: () => [],
  onDomainEvent() {},
  feedEpoch: (epoch) => epoch,
};
const eventOf = ({ id, from, to, writes, found }: StoreGap): DomainEvent => ({
  type: 'store.gap',
  subject: 'store',
  at: found,
  observed: 'live',
  data: { gap_id: id, from: rfc3339(from), to: rfc3339(to), writes },
});
