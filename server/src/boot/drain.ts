/** The drain of an engine node: it passes the site on at a moment without a call, and does not lead again until the drain is ended. */
import { isDrained } from '../features/nodes/state.ts';
import type { Check } from '../http/health.ts';
import type { Exchange } from '../ports/engine-site.ts';
import type { SeenNode } from '../ports/site-nodes.ts';

type Drained = Pick<SeenNode, 'role' | 'drain' | 'calls'>;

const callsText = (calls: number | null): string =>
  calls === null ? 'an unknown number of calls' : calls === 1 ? '1 call' : `${calls} calls`;
/** Progress of a drain, for people; null if the node is not being drained. */
export function drainText(node: Drained): string | null {
  const { role, drain, calls } = node;
  if (drain === null) return null;
  if (isDrained(node)) return 'drained';
  // An engine that refuses new calls does not report their number; it stops after its last call.
  if (role === 'standby')
    return `draining, ${calls === null ? 'calls' : callsText(calls)} left at its engine`;
  const left = drain > 60 ? `${Math.ceil(drain / 60)} min` : drain > 0 ? `${Math.ceil(drain)} s` : 'a moment';
  return `draining, passes the site on at its first moment without a call, in ${left} at the latest; ${callsText(calls)}`;
}
/** The check `drain` of a node's own health. */
export const drainCheck = (own: () => Drained | undefined): Check => ({
  name: 'drain',
  needed: false,
  run: async () => {
    const node = own();
    const text = node === undefined ? null : drainText(node);
    return { ok: text === null, detail: text ?? 'not asked for' };
  },
});

/** Calls at the engine of a standby: counted until a former leader's last one has ended, and while the node is being drained. */
export class StandbyCalls {
  readonly #exchange: Pick<Exchange, 'calls'>;
  #counts = true;
  /** Null where they were not counted. */
  now: number | null = null;
  constructor(exchange: Pick<Exchange, 'calls'>) {
    this.#exchange = exchange;
  }
  async count(drains: boolean): Promise<void> {
    if (!this.#counts && !drains) {
      this.now = null;
      return;
    }
    // An engine that stopped after its last call does not answer; the engine of a standby gets no new calls.
    this.now = await this.#exchange.calls().catch(() => (this.now === 0 ? 0 : null));
    this.#counts = this.now !== 0;
  }
}
