/** Steps of a call for which the other calls are put on hold. */
import type { PhoneCall } from './phone-state.ts';

export interface HeldCall {
  readonly shown: Pick<PhoneCall, 'state'>;
  /** Rejects where the exchange refuses. */
  hold(on: boolean): Promise<void>;
}
const ACTIVE: ReadonlySet<PhoneCall['state']> = new Set(['dialing', 'ringing', 'connecting', 'talking']);

/**
 * Holds all calls but one for a step of it, or all for a new call (null). If no call is active after the step, because it failed
 * or the other side hung up meanwhile, the held calls are resumed. `calls` is read again after the step.
 */
export async function holdingOthers(
  calls: readonly HeldCall[],
  call: HeldCall | null,
  step: () => Promise<void>,
): Promise<void> {
  const others = calls.filter((other) => other !== call && other.shown.state === 'talking');
  await Promise.all(others.map((other) => other.hold(true)));
  try {
    await step();
  } finally {
    const isActive = calls.some(({ shown }) => ACTIVE.has(shown.state));
    // A refused resume must not hide the failure of the step; the card still shows the held call.
    if (!isActive) await Promise.allSettled(others.map((other) => other.hold(false)));
  }
}
