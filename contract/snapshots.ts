/** `data` of a `snapshot` frame by the noun of its topic: the state that later events continue from. */
import { z } from 'zod';
import { AgentsSnapshot } from './agents.ts';
import { AlertsSnapshot } from './alerts.ts';
import { Call } from './calls.ts';
import { ConfigSnapshot } from './config-applies.ts';
import { Presence } from './extensions.ts';
import { ParkingSnapshot } from './parking.ts';
import { Queue } from './queues.ts';
import { TrunksSnapshot } from './trunks.ts';
import { QueueStats } from './wallboard.ts';

/** True while the link to the engine is down: the state is the last known one. */
const stale = z.boolean();
export const SNAPSHOTS = {
  presence: z.object({ stale, extensions: z.array(Presence.extend({ extension: z.string() })) }),
  calls: z.object({ as_of: z.string(), stale, calls: z.array(Call) }),
  parking: ParkingSnapshot,
  queues: z.object({
    as_of: z.string(),
    stale,
    queues: z.array(Queue.extend({ stats: QueueStats.nullable() })),
  }),
  agents: AgentsSnapshot,
  trunks: TrunksSnapshot,
  config: ConfigSnapshot,
  alerts: AlertsSnapshot,
} as const;
export type SnapshotNoun = keyof typeof SNAPSHOTS;
export type SnapshotData<T extends SnapshotNoun> = z.infer<(typeof SNAPSHOTS)[T]>;
