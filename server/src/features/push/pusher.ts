import type { PushOutcome } from '@offhook/contract/push.ts';
import type { DeviceRow } from './tables.ts';

/** One push. It has neither number nor name of the caller; the app gets them with the call itself. */
export interface PushMessage {
  readonly device: Pick<DeviceRow, 'token' | 'app_id' | 'environment'>;
  readonly data: Readonly<Record<string, string>>;
  /** Seconds after which the push service drops a push that it could not deliver. */
  readonly life_seconds: number;
}
export interface PushResult {
  readonly outcome: PushOutcome;
  /** Empty where it was accepted as the app registered. */
  readonly detail: string;
  readonly latency_ms: number;
}
/** A push service. */
export interface Pusher {
  /** Never throws. */
  push(message: PushMessage, signal: AbortSignal): Promise<PushResult>;
  close(): void;
}
export const failed = (
  outcome: Exclude<PushOutcome, 'accepted'>,
  detail: string,
  latency_ms = 0,
): PushResult => ({ outcome, detail: detail.slice(0, 200), latency_ms: Math.round(latency_ms) });
