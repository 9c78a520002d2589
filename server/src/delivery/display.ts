import { cutEvent, cutOf, cutState } from '../rights/display.ts';
import type { Principal } from '../rights/rights.ts';
import type { Framing } from './batch.ts';

/**
 * Framing for this reader. A display receives less than an envelope holds, so its framing has its own name: the hub and the
 * snapshots then keep displays apart and build each frame once for all displays with equal filters.
 */
export function framingFor(framing: Framing, who: Principal): Framing {
  const cut = cutOf(who);
  if (cut === null) return framing;
  return {
    name: `${framing.name} ${JSON.stringify(cut)}`,
    chained: framing.chained,
    event(json, seq, prev) {
      const envelope = JSON.parse(json.toString());
      const kept = { ...envelope, data: cutEvent(cut, envelope.data) };
      return framing.event(Buffer.from(JSON.stringify(kept)), seq, prev);
    },
    snapshot: (topic, cursor, json) =>
      framing.snapshot(topic, cursor, JSON.stringify(cutState(cut, JSON.parse(json)))),
  };
}
