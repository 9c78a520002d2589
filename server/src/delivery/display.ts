import { cutEvent, cutOf, cutState } from '../rights/display.ts';
import type { Principal } from '../rights/rights.ts';
import type { Framing } from './batch.ts';

/**
 * How a transport writes for this reader. A display is told less than an envelope holds: its framing has a name of its own, so that
 * the hub and the snapshots keep it apart, and make once for all displays with the same cut what is made once for everybody else.
 */
export function framingFor(framing: Framing, who: Principal): Framing {
  const cut = cutOf(who);
  if (cut === null) return framing;
  return {
    name: `${framing.name} ${JSON.stringify(cut)}`,
    chained: framing.chained,
    event(json, seq, prev) {
      const envelope = JSON.parse(json.toString());
      const told = { ...envelope, data: cutEvent(cut, envelope.data) };
      return framing.event(Buffer.from(JSON.stringify(told)), seq, prev);
    },
    snapshot: (topic, cursor, json) =>
      framing.snapshot(topic, cursor, JSON.stringify(cutState(cut, JSON.parse(json)))),
  };
}
