/** Dependencies of the transports of the event stream. */
import type { Log } from '../core/log.ts';
import type { Journal } from '../journal/journal.ts';
import type { Commands } from '../ports/operations.ts';
import type { Clients } from './clients.ts';
import type { Hub } from './hub.ts';
import type { Snapshots } from './snapshots.ts';

/** Dependencies shared by every connection. */
export interface Parts {
  readonly hub: Hub;
  readonly clients: Clients;
  readonly snapshots: Snapshots;
  readonly journal: Journal;
  readonly commands: Commands;
  readonly heartbeatSeconds: number;
  readonly log: Log;
  /**
   * For a journal that is a copy: resolves once it holds `seq`, or once the site's log is known to end before `seq`;
   * rejects with `store_unavailable` if neither is known in time. Null if no wait is needed.
   */
  readonly reach: (seq: number) => Promise<void> | null;
}
