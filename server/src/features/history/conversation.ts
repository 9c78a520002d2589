/**
 * Call records → one row for each extension that took part.
 *
 *   first channel of its call ─────────────────────────────> out
 *   rung, and answered (or took a ringing or parked call) ─> in
 *   rung in vain ── somebody else took that very ringing ──> no row
 *        └───────── else ──────────────────────────────────> missed
 *   aimed at, with no device that could be rung ───────────> missed
 */
import type { EndpointKind } from '../../ports/directory.ts';
import { dispositionOfCause, dispositionOfDialler, dispositionOfOffers } from './record/row-disposition.ts';
import type { Disposition } from './record/row-disposition.ts';
import type { KnownRecord } from './records.ts';
import { isComplete } from './records.ts';
import { lengthOf, seconds, subtract } from './record/spans.ts';
import type { Span } from './record/spans.ts';
import { diallerOf, peersOf, talkOf, visitsOf } from './record/peers.ts';
import type { QueueVisit } from './record/peers.ts';
import { timelineOf } from './record/timeline.ts';
import type { ChannelLine, Timeline } from './record/timeline.ts';

/** Version of the rules below; a row says which one built it. */
export const BUILT_BY = 1;

/** What one extension saw of a conversation. Times in microseconds since 1970, durations in whole seconds. */
export interface ConversationParty {
  readonly extension: string;
  readonly direction: 'in' | 'out' | 'missed';
  readonly party: string;
  /** As the engine showed it; the directory may know better. */
  readonly party_name: string;
  readonly started_us: number;
  readonly answered_us: number | null;
  readonly ended_us: number;
  readonly ring_sec: number;
  readonly wait_seconds: number;
  readonly talk_seconds: number;
  readonly hold_seconds: number;
  readonly duration: number;
  readonly disposition: Disposition;
  readonly channel: string;
  readonly dstchannel: string;
  readonly device: EndpointKind | null;
  readonly queue: string | null;
}
export interface Conversation {
  /** Id of its first call. */
  readonly call_key: string;
  readonly started_us: number;
  readonly ended_us: number;
  readonly complete: boolean;
  /** In order of extension. */
  readonly parties: readonly ConversationParty[];
}

const ANSWERED_ELSEWHERE = 26;
/** Applications that answer a call themselves and are the other side of it. */
const SERVICES = new Set(['voicemail', 'voicemailmain', 'echo', 'musiconhold', 'confbridge']);

/** Pure: the same records, in any order and however often, give the same conversation. `line` is theirs, where it is known. */
export function buildConversation(
  records: readonly KnownRecord[],
  line: Timeline = timelineOf(records),
): Conversation {
  const scene: Scene = { line, visits: visitsOf(line.channels), originator: originatorOf(line) };
  const own = Map.groupBy(
    line.channels.filter((c) => c.extension !== null),
    (c) => c.extension!,
  );
  // Listening to a call is no conversation; it stands in the audit trail.
  const listens = records.some((r) => r.facts.listens);
  const parties = listens
    ? []
    : [
        ...[...own].flatMap(([extension, channels]) => rowOf(scene, extension, channels) ?? []),
        ...unreachable(scene, own),
      ];
  return {
    call_key: line.root,
    started_us: line.from,
    ended_us: line.to,
    complete: isComplete(records),
    parties: parties.sort((a, b) => (a.extension < b.extension ? -1 : 1)),
  };
}

interface Scene {
  readonly line: Timeline;
  readonly visits: readonly QueueVisit[];
  /** The extension a call was placed for, and the number it was placed to, where the engine was told to place it. */
  readonly originator: { readonly extension: string; readonly dialled: string } | null;
}

/** A call that the engine places through an internal pair rings its own originator first. */
function originatorOf(line: Timeline): Scene['originator'] {
  const root = line.channels.find((c) => c.id === line.root);
  if (root?.pair == null) return null;
  const own = line.channels.find((c) => c.pair === null && diallerOf(line, c)?.pair === root.pair);
  const extension = own?.extension ?? null;
  return extension === null ? null : { extension, dialled: root.last_dialled };
}

function rowOf(scene: Scene, extension: string, channels: readonly ChannelLine[]): ConversationParty | null {
  const { line } = scene;
  const first = channels[0]!;
  if ((first.first && !line.takers.has(first.id)) || scene.originator?.extension === extension) {
    return outRow(scene, extension, channels);
  }
  const answered = channels
    .filter((c) => answerOf(line, c) !== null)
    .sort((a, b) => answerOf(line, a)! - answerOf(line, b)!);
  if (answered[0]) return inRow(scene, extension, answered[0], channels);
  const missed = channels.filter((c) => !takenElsewhere(scene, c));
  return missed.length > 0 ? missedRow(scene, extension, missed) : null;
}

const firstOf = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.min(a, b);
/** When a channel that was rung was answered. Who takes a call is answered by the dialplan before there is one. */
const answerOf = (line: Timeline, c: ChannelLine): number | null => {
  const bridged = c.bridged[0]?.from ?? null;
  return line.takers.has(c.id) ? bridged : firstOf(c.answered, bridged);
};
const visitAt = (scene: Scene, at: number): QueueVisit | null =>
  scene.visits.findLast((v) => v.from <= at && at <= v.to) ?? null;
/**
 * True when this ringing ended because somebody else answered, so that nothing was missed. In a queue only the caller
 * tells: the engine marks every ring it takes back there as answered elsewhere, also when nobody answered.
 */
const takenElsewhere = (scene: Scene, c: ChannelLine): boolean =>
  scene.line.taken.has(c.id) || (visitAt(scene, c.from)?.answered ?? c.cause === ANSWERED_ELSEWHERE);

/** Talk and hold of all channels of one side; two at once count once. */
function talk(scene: Scene, channels: readonly ChannelLine[], served: readonly Span[] = []) {
  const parts = channels.map((c) => talkOf(scene.line, c));
  const connected = [...parts.flatMap((p) => p.bridged), ...served];
  const talking = [...parts.flatMap((p) => subtract(p.bridged, p.held)), ...served];
  const talked = lengthOf(talking);
  return { talk_seconds: seconds(talked), hold_seconds: seconds(lengthOf(connected) - talked) };
}
const endOf = (channels: readonly ChannelLine[]): number => Math.max(...channels.map((c) => c.to));

/** The other side as a row shows it: an extension of ours by its number, anybody else by the number they call from. */
const partyOf = (c: ChannelLine | null): { party: string; party_name: string } => ({
  party: c?.extension ?? c?.number ?? '',
  party_name: c?.caller_name ?? '',
});

/** Time in which an application was the other side, e.g. a mailbox or the echo test. */
function servedOf(c: ChannelLine): readonly Span[] {
  if (c.answered === null) return [];
  const dialled = c.apps.some((a) => a.app === 'dial' || a.app === 'queue');
  if (!dialled) return c.to > c.answered ? [{ from: c.answered, to: c.to }] : [];
  return c.apps.filter((a) => SERVICES.has(a.app) && a.to > a.from);
}

function outRow(scene: Scene, extension: string, channels: readonly ChannelLine[]): ConversationParty {
  const { line } = scene;
  const main = channels[0]!;
  const visits = scene.visits.filter((v) => channels.some((c) => c.id === v.caller.id));
  const served = channels.filter((c) => c.first).flatMap(servedOf);
  const peers = channels.flatMap((c) => peersOf(line, c)).sort((a, b) => a.from - b.from);
  const placed = scene.originator?.extension === extension ? scene.originator.dialled : main.dialled;
  // A call that the engine places for somebody has that one's own number in it until it is answered.
  const party = placed === extension && peers[0] ? (peers[0].peer.extension ?? peers[0].peer.number) : placed;
  const known = peers.find((p) => p.peer.number === party);
  const starts = [...channels.flatMap((c) => c.bridged), ...served].map((s) => s.from);
  const answered = starts.length > 0 ? Math.min(...starts) : null;
  const offers = line.channels.filter(
    (c) => c.pair === null && !c.first && c.extension !== extension && c.from >= main.from,
  );
  const ended = endOf(channels);
  const rang = offers[0] && visits.length === 0 ? (answered ?? ended) - offers[0].from : 0;
  const answering = channels.find((c) => c.bridged[0]?.from === answered) ?? main;
  return {
    extension,
    direction: 'out',
    party,
    party_name: known?.peer.caller_name ?? '',
    started_us: main.from,
    answered_us: answered,
    ended_us: ended,
    ring_sec: seconds(rang),
    wait_seconds: seconds(lengthOf(visits)),
    ...talk(scene, channels, served),
    duration: seconds(ended - main.from),
    disposition: answered === null ? dispositionOfDialler(main, offers, visits.length > 0) : 'ANSWERED',
    channel: main.name,
    dstchannel: peers[0]?.peer.name ?? offers[0]?.name ?? '',
    device: answering.device,
    queue: visits[0]?.queue ?? null,
  };
}

function inRow(
  scene: Scene,
  extension: string,
  main: ChannelLine,
  channels: readonly ChannelLine[],
): ConversationParty {
  const answered = answerOf(scene.line, main)!;
  const peer = peersOf(scene.line, main)[0]?.peer ?? callerOf(scene, main);
  const visit = scene.line.takers.has(main.id) ? null : visitAt(scene, main.from);
  const ended = endOf(channels.filter((c) => c.to >= main.from));
  return {
    extension,
    direction: 'in',
    ...partyOf(peer),
    started_us: main.from,
    answered_us: answered,
    ended_us: ended,
    ring_sec: seconds(answered - main.from),
    wait_seconds: visit ? seconds(answered - visit.from) : 0,
    ...talk(scene, channels),
    duration: seconds(ended - main.from),
    disposition: 'ANSWERED',
    channel: peer?.name ?? '',
    dstchannel: main.name,
    device: main.device,
    queue: visit?.queue ?? null,
  };
}

/** Who rang this channel: the queue's caller, else the channel that dialled it, else who began the call. */
const callerOf = (scene: Scene, rung: ChannelLine): ChannelLine | null => {
  const dialler = visitAt(scene, rung.from)?.caller ?? diallerOf(scene.line, rung);
  const known = dialler?.extension != null || (dialler?.number ?? '') !== '';
  return known ? dialler : (scene.line.channels.find((c) => c.first && c.pair === null) ?? dialler);
};

function missedRow(scene: Scene, extension: string, offers: readonly ChannelLine[]): ConversationParty {
  const first = offers[0]!;
  const caller = callerOf(scene, first);
  const visit = visitAt(scene, first.from);
  const ended = endOf(offers);
  const kinds = new Set(offers.map((c) => c.device));
  return {
    extension,
    direction: 'missed',
    ...partyOf(caller),
    started_us: first.from,
    answered_us: null,
    ended_us: ended,
    ring_sec: seconds(lengthOf(offers)),
    wait_seconds: 0,
    talk_seconds: 0,
    hold_seconds: 0,
    duration: seconds(ended - first.from),
    disposition: dispositionOfOffers(offers),
    channel: caller?.name ?? '',
    dstchannel: first.name,
    // Which device was not taken is only known when there was one kind.
    device: kinds.size === 1 ? first.device : null,
    queue: visit?.queue ?? null,
  };
}

/** Extensions that somebody wanted to reach and that had no device to ring. */
function unreachable(
  scene: Scene,
  own: ReadonlyMap<string, readonly ChannelLine[]>,
): readonly ConversationParty[] {
  const found = new Map<string, ConversationParty>();
  for (const caller of scene.line.channels) {
    if (caller.pair !== null) continue;
    // Whose own device did not take a call placed for it has called nobody.
    if (caller.extension === scene.originator?.extension && caller.apps.length === 0) continue;
    for (const [extension, at] of caller.reaches) {
      if (own.has(extension) || found.has(extension)) continue;
      found.set(extension, {
        extension,
        direction: 'missed',
        ...partyOf(caller),
        started_us: at,
        answered_us: null,
        ended_us: at,
        ring_sec: 0,
        wait_seconds: 0,
        talk_seconds: 0,
        hold_seconds: 0,
        duration: 0,
        disposition: dispositionOfCause(caller.cause, 'FAILED'),
        channel: caller.name,
        dstchannel: '',
        device: null,
        queue: null,
      });
    }
  }
  return [...found.values()];
}
