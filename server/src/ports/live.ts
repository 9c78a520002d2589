import type { CallId, ChannelId } from '@offhook/contract/ids.ts';
import type { Activity, Personal, Reachability } from '@offhook/contract/extensions.ts';
import type { DeviceState, EngineQueue, Party, QueueMember } from './engine.ts';
import type { EndpointKind } from './directory.ts';

/** What is known now of one extension. Frozen, replaced as a whole when anything in it changes. */
export interface LiveExtension {
  readonly extension: string;
  readonly devices: Readonly<Record<EndpointKind, DeviceState>>;
  readonly reachability: Reachability;
  readonly activity: Activity;
  readonly personal: Personal;
  readonly note: string | null;
  readonly summary: string;
  /** Milliseconds since 1970 of the last change of reachability, activity or personal. */
  readonly since: number;
}
export interface LiveLeg {
  readonly id: ChannelId;
  readonly call: CallId;
  readonly extension: string | null;
  readonly endpoint: string | null;
  readonly party: Party;
  readonly state: 'initiated' | 'alerting' | 'queued' | 'connected' | 'held' | 'parked';
  readonly since: number;
}
export interface LiveCall {
  readonly id: CallId;
  readonly started_at: number;
  readonly answered_at: number | null;
  readonly legs: readonly LiveLeg[];
}
/** One agent over all its queues, as the engine last confirmed. */
export interface LiveAgent {
  readonly extension: string;
  readonly members: readonly QueueMember[];
  readonly engagement: 'idle' | 'offered' | 'talking' | 'held' | 'busy_other' | 'unreachable';
  /** Milliseconds since 1970 when readiness (paused anywhere, and why) last changed. */
  readonly readiness_since: number;
  /** Milliseconds since 1970 when the engagement last changed. */
  readonly since: number;
}

/** Read view of the live model; every read is from memory and O(1) or O(result). */
export interface LiveView {
  /** False from the moment the link is down until the snapshot after it. */
  readonly live: boolean;
  /** Milliseconds since 1970 of the newest fact. */
  readonly as_of: number;
  /** Grows with every change of any extension. */
  readonly presence_version: number;
  extension(extension: string): LiveExtension | undefined;
  /** Extensions changed since `version` (exclusive); null when that is too long ago: take all. */
  changedSince(version: number): readonly string[] | null;
  agent(extension: string): LiveAgent | undefined;
  queue(name: string): EngineQueue | undefined;
  queues(): readonly EngineQueue[];
  calls(): readonly LiveCall[];
  /**
   * Resolves once `holds` is true, looked at now and after every committed batch.
   * Rejects `engine_timeout` after `ms`, with `waitingFor` in its detail, and `engine_unavailable` when the link goes down.
   */
  until(
    holds: () => boolean,
    options: { ms: number; waitingFor: string; signal?: AbortSignal },
  ): Promise<void>;
}
