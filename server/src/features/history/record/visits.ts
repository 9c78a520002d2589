/** Visits of queues, each with its one outcome and its offers. */
import { weightiest } from '@offhook/contract/ring-ends.ts';
import type { KnownRecord } from './records.ts';
import type { RecordedOffer, RecordedVisit } from './record.ts';
import { msOf } from './replay.ts';
import type { Segment, Segments } from './replay.ts';
import { isSoon, legOf } from './scene.ts';
import type { LegDisposition, Scene } from './scene.ts';
import type { AppSpan, ChannelLine, Timeline } from './timeline.ts';

type Outcome = RecordedVisit['outcome'];
const OUTCOMES: Readonly<Record<NonNullable<KnownRecord['facts']['queue_status']>, Outcome>> = {
  timeout: 'timeout',
  full: 'full',
  empty_join: 'empty_join',
  empty_leave: 'empty_leave',
  exit_key: 'exit_key',
  withdrawn: 'transferred_out',
  continued: 'timeout',
};
/** One visit: a new position in the same queue interrupts it only for a moment. */
interface Join {
  readonly channel: ChannelLine;
  readonly apps: AppSpan[];
  /** The transferee that went on waiting instead. */
  next: ChannelLine | null;
  /** Time in ms at which the channel joined another queue, or this one again; Infinity for none. */
  until: number;
}

export function visitsIn(
  scene: Scene,
  segments: Segments,
  rung: ReadonlyMap<string, LegDisposition>,
): readonly RecordedVisit[] {
  return joinsOf(scene)
    .flatMap((join) => visitOf(scene, segments, rung, join) ?? [])
    .sort((a, b) => a.from - b.from);
}

function joinsOf({ line }: Scene): readonly Join[] {
  const left = new Set(line.marks.filter(hasStatus).map((r) => r.channel as string));
  const all = line.channels.flatMap((channel) => {
    const joins: Join[] = [];
    for (const app of channel.apps) {
      if (app.queue === null || app.replaces !== undefined) continue;
      const before = joins.at(-1)?.apps.at(-1);
      const same =
        before?.queue === app.queue &&
        isSoon(before.to, app.from) &&
        !channel.bridged.some((b) => b.from >= before.from && b.from <= app.from) &&
        !(left.has(channel.id) && statusOf(line, channel, before, app.from) !== null);
      if (same) {
        joins.at(-1)!.apps.push(app);
        continue;
      }
      const left_before = joins.at(-1);
      if (left_before) left_before.until = msOf(app.from);
      joins.push({ channel, apps: [app], next: null, until: Infinity });
    }
    return joins;
  });
  for (const channel of line.channels)
    for (const app of channel.apps) {
      if (app.replaces === undefined) continue;
      const join = all.findLast((j) => j.channel.id === app.replaces && j.apps[0]!.queue === app.queue);
      if (join === undefined) continue;
      join.apps.push(app);
      join.next = channel;
    }
  return all;
}
const hasStatus = (r: KnownRecord): boolean => r.facts.queue_status !== undefined;
/** The queue status that the dialplan wrote after the caller left, before `until`. */
function statusOf({ marks }: Timeline, c: ChannelLine, app: AppSpan, until: number): Outcome | null {
  const said = marks.find((r) => r.channel === c.id && hasStatus(r) && r.at_us >= app.to && r.at_us <= until);
  return said ? OUTCOMES[said.facts.queue_status!] : null;
}

function visitOf(
  scene: Scene,
  segments: Segments,
  rung: ReadonlyMap<string, LegDisposition>,
  { channel, apps, next, until }: Join,
): RecordedVisit | null {
  const [first, last] = [apps[0]!, apps.at(-1)!];
  const [from, to] = [msOf(first.from), msOf(last.to)];
  const waits = channel.pair !== null ? scene.legs : next === null ? [channel] : [channel, next];
  const waited = waits.flatMap((c) =>
    (segments.get(c.id) ?? [])
      .filter((s) => s.state === 'queued' && s.queue === first.queue && s.to > from && s.from < to)
      .map((s) => ({ leg: c.id, from: Math.max(s.from, from), to: Math.min(s.to, until) })),
  );
  waited.sort((a, b) => a.to - b.to);
  const end = waited.at(-1);
  const leg = end?.leg ?? legOf(scene, channel.id, first.from) ?? scene.legs[0]?.id;
  if (leg === undefined) return null;
  const met = metIn(segments.get(leg) ?? [], end?.to ?? from, to);
  const offered = apps.flatMap((app) => scene.rungBy.get(app) ?? []);
  const agent = met
    ? (offered.find((c) => met.with.includes(c.id)) ?? scene.line.byId.get(met.with[0]!))
    : offered.find((c) => scene.met.has(c.id));
  const [started, ended] = [
    waited.length > 0 ? Math.min(...waited.map((w) => w.from)) : (met?.from ?? from),
    end?.to ?? met?.from ?? from,
  ];
  return {
    queue: first.queue!,
    leg_id: leg,
    from: started,
    to: ended,
    outcome: agent ? 'answered' : outcomeOf(scene, next ?? channel, last),
    agent: agent?.extension ?? null,
    agent_leg: agent?.id ?? null,
    offers: offersOf(scene, offered, rung),
  };
}
/** The segment in which the wait ended in a connection. */
const metIn = (own: readonly Segment[], from: number, to: number): Segment | undefined =>
  own.find((s) => s.from >= from && s.from <= to && s.with.length > 0);

/** Without a queue status of the dialplan, the next step of the channel decides. */
function outcomeOf(scene: Scene, channel: ChannelLine, app: AppSpan): Outcome {
  const next = channel.apps.find((a) => a !== app && a.from >= app.to);
  const said = statusOf(scene.line, channel, app, next?.from ?? Infinity);
  if (said !== null) return said;
  if (!channel.ended && app.to >= channel.to) return scene.lost ? 'abandoned' : 'waiting';
  if (isSoon(app.to, channel.to)) return 'abandoned';
  return next && isSoon(app.to, next.from) ? 'transferred_out' : 'timeout';
}

/** One offer for each ring of an agent, regardless of the number of devices. */
function offersOf(
  scene: Scene,
  offered: readonly ChannelLine[],
  rung: ReadonlyMap<string, LegDisposition>,
): readonly RecordedOffer[] {
  const rings = Map.groupBy(offered, (c) => {
    const { chain } = scene.origins.of(c);
    return chain.length > 1 ? chain[0]!.app : c;
  });
  return [...rings.values()].map((legs) => {
    const leg = legs.find((c) => rung.get(c.id) === 'answered') ?? legs[0]!;
    const from = msOf(Math.min(...legs.map((c) => c.from)));
    const to = Math.max(...legs.map((c) => msOf(Math.min(c.answered ?? c.bridged[0]?.from ?? c.to, c.to))));
    return {
      extension: leg.extension,
      leg_id: leg.id,
      from,
      ring_ms: Math.max(0, to - from),
      disposition: weightiest(legs.map((c) => rung.get(c.id)!)) ?? 'no_answer',
    };
  });
}
