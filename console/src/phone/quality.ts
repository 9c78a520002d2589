/**
 * Quality of a call, estimated from the browser's counters by the E-model of ITU-T G.107. Parameters that cannot be measured
 * here have their defaults:
 *
 *   R   = 93.2 − Id − Ie,eff
 *   Id  = 0.024·d + 0.11·(d − 177.3)·[d > 177.3]         d: ms from mouth to ear
 *   Ie,eff = 95 · Ppl / (Ppl + Bpl)                      Ppl: percent lost; Ie = 0, Bpl = 25.1 (G.113, G.711 with concealment)
 *   MOS = 1 + 0.035·R + 7·10⁻⁶·R·(R − 60)·(100 − R)      R from 0 to 100
 *
 * The ITU publishes no Bpl of Opus, so it counts as G.711 with concealment: with its own redundancy it sounds no worse.
 */
export interface CallQuality {
  readonly mos: number;
  /** 0 to 1, of the packets received in the last interval. */
  readonly loss: number;
  readonly jitter_ms: number | null;
  readonly round_trip_ms: number | null;
}
const BPL = 25.1;
/** A packet of 20 ms and the codec's look-ahead. */
const CODEC_MS = 25;

export function mosOf(loss: number, delay_ms: number): number {
  const percent = loss * 100;
  const late = Math.max(0, delay_ms - 177.3);
  const r = 93.2 - 0.024 * delay_ms - 0.11 * late - (95 * percent) / (percent + BPL);
  if (r <= 0) return 1;
  const mos = 1 + 0.035 * r + 7e-6 * r * (r - 60) * (100 - r);
  return Math.min(4.5, Math.max(1, mos));
}
export type Grade = 'good' | 'fair' | 'bad';
/** G.107 table B.1: below 3.6 many users are dissatisfied, below 3.1 nearly all. */
export const gradeOf = (mos: number): Grade => (mos >= 3.6 ? 'good' : mos >= 3.1 ? 'fair' : 'bad');

/** Counters of the browser since the call began. */
export interface Counted {
  readonly received: number;
  readonly lost: number;
  readonly jitter_ms: number | null;
  /** Total time that samples spent in the jitter buffer in seconds, and `played`, their number. */
  readonly waited_seconds: number;
  readonly played: number;
  readonly round_trip_ms: number | null;
  readonly codec: string;
}
/** Report at the end of a call; the body of `POST /api/v1/calls/{id}/quality`. */
export interface QualityReport {
  readonly codec: string;
  readonly mos: number;
  readonly worst_mos: number;
  readonly loss: number;
  readonly jitter_ms: number | null;
  readonly round_trip_ms: number | null;
  readonly packets_received: number;
  readonly packets_lost: number;
  readonly duration_seconds: number;
}
const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
const rounded = (value: number, digits: number): number => Math.round(value * 10 ** digits) / 10 ** digits;

export interface QualityMeter {
  /** The last interval; null where no packet was received or lost. */
  readonly now: CallQuality | null;
  add(counted: Counted, seconds: number): void;
  /**
   * Ends the interval without a quality at the next received packet: after a hold, the numbers of the exchange's packets jump,
   * which the browser counts as loss.
   */
  skip(): void;
  /** Null where no interval could be measured. */
  report(): QualityReport | null;
}
/** Measures intervals of a few seconds, and the whole call. */
export function createQualityMeter(): QualityMeter {
  let before: Counted = {
    received: 0,
    lost: 0,
    jitter_ms: null,
    waited_seconds: 0,
    played: 0,
    round_trip_ms: null,
    codec: '',
  };
  let now: CallQuality | null = null;
  let seconds = 0;
  let skips = false;
  let lostInHolds = 0;
  const scores: number[] = [];
  const jitters: number[] = [];
  const trips: number[] = [];
  return {
    get now() {
      return now;
    },
    add(counted, span) {
      const received = counted.received - before.received;
      // Late packets lower the count of lost ones.
      const lost = Math.max(0, counted.lost - before.lost);
      const played = counted.played - before.played;
      const buffered = played > 0 ? ((counted.waited_seconds - before.waited_seconds) / played) * 1000 : 0;
      before = counted;
      if (skips && received > 0) {
        skips = false;
        lostInHolds += lost;
        return;
      }
      // Without any packet, as on hold, the interval has no quality.
      if (received + lost === 0) {
        now = null;
        return;
      }
      seconds += span;
      const loss = lost / (received + lost);
      const delay = (counted.round_trip_ms ?? 0) / 2 + buffered + CODEC_MS;
      now = {
        mos: mosOf(loss, delay),
        loss,
        jitter_ms: counted.jitter_ms,
        round_trip_ms: counted.round_trip_ms,
      };
      scores.push(now.mos);
      if (counted.jitter_ms !== null) jitters.push(counted.jitter_ms);
      if (counted.round_trip_ms !== null) trips.push(counted.round_trip_ms);
    },
    skip() {
      skips = true;
      now = null;
    },
    report() {
      const mos = mean(scores);
      if (mos === null) return null;
      const { received, lost, codec } = before;
      const jitter = mean(jitters);
      const trip = mean(trips);
      const gone = Math.max(0, lost - lostInHolds);
      return {
        codec: codec === '' ? 'unknown' : codec,
        mos: rounded(mos, 2),
        worst_mos: rounded(Math.min(...scores), 2),
        loss: rounded(gone / Math.max(1, received + gone), 4),
        jitter_ms: jitter === null ? null : rounded(jitter, 1),
        round_trip_ms: trip === null ? null : rounded(trip, 1),
        packets_received: received,
        packets_lost: gone,
        duration_seconds: Math.round(seconds),
      };
    },
  };
}

/** Reads the counters of a connection; null before the first packet. */
export async function countOf(connection: RTCPeerConnection): Promise<Counted | null> {
  const stats = await connection.getStats();
  const all = [...(stats as unknown as Map<string, Record<string, unknown>>).values()];
  const one = (type: string) => all.find((s) => s['type'] === type && (s['kind'] ?? 'audio') === 'audio');
  const inbound = one('inbound-rtp');
  if (inbound === undefined) return null;
  const number = (from: Record<string, unknown> | undefined, name: string): number | null => {
    const value = from?.[name];
    return typeof value === 'number' && Number.isFinite(value) ? value : null;
  };
  const ms = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1000);
  const pair = all.find((s) => s['type'] === 'candidate-pair' && s['nominated'] === true);
  const codec = all.find((s) => s['id'] === inbound['codecId']);
  const type = codec?.['mimeType'];
  return {
    received: number(inbound, 'packetsReceived') ?? 0,
    lost: number(inbound, 'packetsLost') ?? 0,
    jitter_ms: ms(number(inbound, 'jitter')),
    waited_seconds: number(inbound, 'jitterBufferDelay') ?? 0,
    played: number(inbound, 'jitterBufferEmittedCount') ?? 0,
    round_trip_ms: ms(
      number(one('remote-inbound-rtp'), 'roundTripTime') ?? number(pair, 'currentRoundTripTime'),
    ),
    codec: typeof type === 'string' ? type.replace(/^audio\//, '') : '',
  };
}
