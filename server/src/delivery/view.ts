import { ServiceError } from '../core/errors.ts';
import type { Heard } from '../rights/hearing.ts';
import type { Framing } from './batch.ts';
import type { Snapshot, Snapshots } from './snapshots.ts';

/** The state of topics as of `cursor`, as JSON texts in the order asked for. */
export interface View {
  readonly cursor: number;
  readonly topics: readonly string[];
}
const TAKE_MS = 4_000;
/** Each frame is the state alone; the requesting node frames it for each of its clients. */
const VIEW: Framing = {
  name: 'view',
  chained: false,
  event: (json) => json,
  snapshot: (_topic, _cursor, json) => Buffer.from(json),
};

/** Takes snapshots for another node. Rejects with `store_unavailable` where none can be given in time. */
export function viewOf(snapshots: Snapshots, wanted: readonly Heard[]): Promise<View> {
  const { promise, resolve, reject } = Promise.withResolvers<View>();
  const by = performance.now() + TAKE_MS;
  let over = false;
  const done = (found: Snapshot): void => {
    over = true;
    resolve({ cursor: found.cursor, topics: found.frames.map((frame) => frame.toString()) });
  };
  const attempt = (): void => {
    if (over) return;
    const found = snapshots.take(wanted, VIEW, attempt);
    if (found !== null) return done(found);
    if (performance.now() < by) return;
    over = true;
    reject(new ServiceError('store_unavailable', 'the snapshot cannot be built now; try again later'));
  };
  attempt();
  return promise;
}
