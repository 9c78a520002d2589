/** Disposition of each leg, and which side hung up. */
import { ringEndOf, ringEndOfCause, weightiest } from '@offhook/contract/ring-ends.ts';
import type { RecordedLeg } from './record.ts';
import { isDialling } from './timeline.ts';
import type { ChannelLine } from './timeline.ts';
import { ANNOUNCEMENT, MENU } from './replay.ts';
import type { Segment } from './replay.ts';
import type { Dialling } from './origins.ts';
import { isSoon } from './scene.ts';
import type { LegDisposition, Scene } from './scene.ts';

const NEVER_RANG = new Set<LegDisposition>(['congestion', 'unreachable', 'failed', 'blocked']);
export const didRing = (disposition: LegDisposition): boolean => !NEVER_RANG.has(disposition);

const wasAnswered = (c: ChannelLine): boolean => c.answered !== null || c.bridged.length > 0;
const answeredAt = (c: ChannelLine): number =>
  Math.min(c.answered ?? Infinity, c.bridged[0]?.from ?? Infinity);

/** Disposition of each rung leg. Built before its segments, because a leg that never rang has no alerting segment. */
export function rungDispositions(scene: Scene): ReadonlyMap<string, LegDisposition> {
  const firstAnswer = new Map<unknown, number>();
  for (const [app, rung] of scene.rungBy) {
    firstAnswer.set(
      app,
      rung.reduce((at, c) => (scene.line.taken.has(c.id) ? at : Math.min(at, answeredAt(c))), Infinity),
    );
  }
  const found = new Map<string, LegDisposition>();
  for (const c of scene.legs) {
    if (c.rung) found.set(c.id, rungDisposition(scene, c, firstAnswer));
  }
  return found;
}

/** True if the ringing ended because the caller left the queue by a key or was taken out: no agent failed to answer. */
function wasTakenBack({ line }: Scene, { channel, app }: Dialling, c: ChannelLine): boolean {
  if (!isSoon(app.to, c.to)) return false;
  const left = line.marks.find(
    (r) => r.channel === channel.id && r.at_us >= app.to && r.facts.queue_status !== undefined,
  );
  const how = left?.facts.queue_status;
  return how === 'exit_key' || how === 'withdrawn';
}

function rungDisposition(
  scene: Scene,
  c: ChannelLine,
  firstAnswer: ReadonlyMap<unknown, number>,
): LegDisposition {
  const picked_up = scene.line.taken.has(c.id);
  if (!picked_up && wasAnswered(c)) return 'answered';
  const diverted = scene.diverted.has(c.id);
  if (!picked_up && !diverted && !c.ended) return scene.lost ? 'failed' : 'no_answer';
  const { top, by, chain } = scene.origins.of(c);
  const answer = top === null ? undefined : firstAnswer.get(top.app);
  const met = answer !== undefined && (answer <= c.to || isSoon(answer, c.to));
  const queued = top?.app.queue != null;
  const gave_up =
    (by?.hung_up_itself === true && isSoon(by.to, c.to)) ||
    (queued ? wasTakenBack(scene, top, c) : wasCancelled(chain[0]));
  return ringEndOf({
    picked_up,
    diverted,
    itself: c.hung_up_itself,
    cause: c.cause,
    // A queue sets this cause on every ring that it takes back, also where no agent answered.
    answered: met || (!queued && !gave_up && c.cause === ANSWERED_ELSEWHERE),
    gave_up,
  });
}
const ANSWERED_ELSEWHERE = 26;
/** True if the caller hung up before an answer. */
function wasCancelled(dialler: Dialling | undefined): boolean {
  const newest = dialler?.channel.apps.findLast((a) => a.app === 'dial');
  return dialler !== undefined && newest === dialler.app && dialler.channel.dial_status === 'CANCEL';
}

/**
 * True if an application was the other side of the leg. Mailboxes count; announcements and menus on the way to a
 * dialling do not.
 */
export const isService = (c: ChannelLine, s: Segment): boolean =>
  s.state === 'service' &&
  ((s.service !== ANNOUNCEMENT && s.service !== MENU) || !c.apps.some((a) => isDialling(a.app)));

/** Dispositions of a rung leg that do not describe how the dialling leg ended. */
const SAYS_NOTHING = new Set<LegDisposition>(['answered', 'answered_elsewhere', 'diverted']);
/** Disposition of a leg that dialled and was never connected. */
export function callerDisposition(
  scene: Scene,
  c: ChannelLine,
  rung: ReadonlyMap<string, LegDisposition>,
): LegDisposition {
  if (!c.ended) return scene.lost ? 'failed' : 'no_answer';
  const queued = c.apps.some((a) => a.queue !== null);
  if (c.hung_up_itself && queued) return 'cancelled_by_caller';
  const offers = (scene.rungVia.get(c.id) ?? []).map((leg) => rung.get(leg.id)!);
  const best = weightiest(offers.filter((word) => !SAYS_NOTHING.has(word)));
  if (best !== null && !(c.hung_up_itself && best === 'no_answer')) return best;
  if (c.hung_up_itself) return 'cancelled_by_caller';
  if (queued) return 'no_answer';
  if (c.dial_status === 'BUSY') return 'busy';
  if (c.dial_status === 'CONGESTION') return 'congestion';
  // Without any ringing, the dialplan itself rejected the call.
  if (c.cause === 21) return 'blocked';
  return c.cause === 16 || c.cause === null ? 'failed' : ringEndOfCause(c.cause);
}

/** `left`: legs that transferred their call. */
export function endedBy(
  scene: Scene,
  c: ChannelLine,
  disposition: LegDisposition,
  last: Segment | undefined,
  left: ReadonlySet<string>,
): RecordedLeg['ended_by'] {
  if (!c.ended) return scene.lost ? 'engine_lost' : null;
  if (c.hung_up_itself || left.has(c.id) || disposition === 'diverted') return 'this_leg';
  if (scene.byName.has(c.hung_up_by)) return 'other_side';
  if (disposition === 'cancelled_by_caller' && c.rung) return 'other_side';
  const { line } = scene;
  const gone = last?.with.some((id) => {
    const other = line.byId.get(id);
    return other !== undefined && other.hung_up_itself && isSoon(other.to, c.to);
  });
  // The consulted leg is released by the leg that consulted it.
  return gone || scene.origins.of(c).consult !== null ? 'other_side' : 'exchange';
}
