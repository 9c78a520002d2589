import type { ChannelId } from '@offhook/contract/ids.ts';
import type { Log } from '../../core/log.ts';
import { TOMBSTONE_MS, Tombstones } from '../../core/tombstones.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EngineEvent, EngineEventOf } from '../../ports/engine-events.ts';
import type { EngineSnapshot } from '../../ports/engine-state.ts';
import type { Common } from '../../ports/common.ts';
import type { Known } from './events/decoding.ts';
import { EventBuffer } from './event-buffer.ts';
import { Mirror } from './mirror.ts';
import { STALE_ROW_MS, stillNews, withLeaving, withoutDead } from './snapshot.ts';

export interface FactFlowOptions extends Common<'clock' | 'log'> {
  /** Limit of events that wait for the consumer or for a snapshot. */
  readonly most: number;
  /** Events were dropped: nothing goes out until a fresh snapshot is settled. */
  readonly overflowed: () => void;
}
export interface Settled {
  readonly snapshot: EngineSnapshot;
  /** The engine's own time just before its lists were read. */
  readonly began_at: number;
  readonly why: 'connect' | 'resync';
  /** Emitted just before the snapshot. */
  readonly link: EngineEventOf<'engine.link'> | null;
}

/**
 * The way of the facts from the wire to the consumer. Facts that no snapshot covers are held back; while a later
 * snapshot is read they go on, and it is brought up to date with them, so that only what had really drifted shows.
 */
export class FactFlow {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #most: number;
  readonly #buffer: EventBuffer;
  readonly #mirror = new Mirror();
  /** Channels that ended, by the service's own clock. */
  readonly #tombstones = new Tombstones<ChannelId>();
  /** Events that no snapshot covers; null while they go straight through. */
  #held: EngineEvent[] | null = [];
  /** Events since the reading of a snapshot began, while they go straight through. */
  #window: EngineEvent[] | null = null;
  /** More came during a reading than can be kept: its snapshot would lack something. */
  #tooMuch = false;
  #begun = 0;
  #drift = 0;

  constructor(options: FactFlowOptions) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#most = options.most;
    this.#buffer = new EventBuffer(options.most, () => {
      this.#log.warn(
        { dropped: this.dropped },
        'the consumer is too slow: events were dropped, a resync follows',
      );
      this.hold();
      options.overflowed();
    });
  }

  /** State after the facts so far. */
  get known(): Known {
    return this.#mirror;
  }
  get unreached(): readonly string[] {
    return this.#mirror.unreached;
  }
  /** Number of differences between the state from facts and fresh snapshots, over all snapshots. */
  get drift(): number {
    return this.#drift;
  }
  get dropped(): number {
    return this.#buffer.dropped;
  }
  /** True when the consumer has received every fact that was sent. */
  get drained(): boolean {
    return this.#buffer.size === 0;
  }
  take(signal: AbortSignal): Promise<readonly EngineEvent[]> {
    return this.#buffer.take(signal);
  }

  /** Holds all facts back until a snapshot is settled; facts that were held back before are dropped. */
  hold(): void {
    this.#held = [];
    this.#window = null;
    this.#tooMuch = false;
  }

  /** A fact of the adapter itself, which is never held back. */
  publish(event: EngineEvent): void {
    this.#mirror.apply(event);
    this.#buffer.push(event);
  }

  /** A fact from the wire. */
  receive(event: EngineEvent): void {
    if (event.type === 'channel.hungup') this.#tombstones.add(event.id, this.#clock.now());
    if (this.#held !== null) return this.#keep(this.#held, event);
    // An event that was under way while the snapshot was read may report a new channel that the snapshot already has.
    if (event.type === 'channel.created') {
      const { id } = event.channel;
      const now = this.#clock.now();
      if (this.#mirror.channel(id) !== undefined) return;
      if (this.#tombstones.diedWithin(id, now - TOMBSTONE_MS, now + 1)) return;
    }
    if (this.#window !== null) this.#keep(this.#window, event);
    this.publish(event);
  }

  #keep(list: EngineEvent[], event: EngineEvent): void {
    if (list.length < this.#most) list.push(event);
    else this.#tooMuch = true;
  }

  /** The lists of a snapshot are about to be read. */
  begin(): void {
    this.#begun = this.#clock.now();
    // Whatever is held incompletely is older than the lists that are read now.
    if (this.#held !== null && this.#tooMuch) this.#held = [];
    this.#tooMuch = false;
    this.#window = this.#held === null ? [] : null;
  }

  /** The snapshot could not be read; facts are passed on as before. */
  abandon(): void {
    this.#window = null;
  }

  /** The lists were read as a whole. Throws when too much happened meanwhile for their snapshot to be true. */
  settle({ snapshot, began_at, why, link }: Settled): void {
    if (this.#tooMuch) throw new Error('too many events arrived while the state was read');
    if (link !== null) this.publish(link);
    const at = this.#clock.now();
    // In another life of the engine the same ids may come again.
    if (snapshot.restarted === true) this.#tombstones.clear();
    const since = this.#begun - STALE_ROW_MS;
    const held = this.#held;
    if (held !== null) {
      // A channel that ended while the lists were read ends by its own event, which is played again below.
      const listed = withoutDead(snapshot, (id) => this.#tombstones.diedWithin(id, since, this.#begun));
      const alive = withLeaving(listed, held, began_at);
      this.#held = null;
      this.publish({ at, type: 'engine.snapshot', why, snapshot: alive });
      for (const event of stillNews(held, alive, began_at)) this.publish(event);
      return;
    }
    const alive = withoutDead(snapshot, (id) => this.#tombstones.diedWithin(id, since, at + 1));
    const fresh = new Mirror();
    fresh.load(alive);
    const meanwhile = (this.#window ?? []).filter((event) => event.at >= began_at);
    this.#window = null;
    for (const event of meanwhile) fresh.apply(event);
    const differences = this.#mirror.drift(fresh);
    this.#drift += differences;
    if (differences > 0)
      this.#log.warn({ differences }, 'the state differed from the engine and was corrected');
    this.#mirror.adopt(fresh);
    const current = meanwhile.length === 0 ? alive : { ...alive, ...this.#mirror.parts() };
    this.#buffer.push({ at, type: 'engine.snapshot', why, snapshot: current });
  }
}
