import type { NodeId } from '@offhook/contract/ids.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import type { EngineStatus } from '../../ports/engine.ts';
import type { Frame } from './ami/frame.ts';
import type { DropReason } from './ami/framing.ts';
import type { Known } from './events/decoding.ts';
import { Malformed } from './events/decoding.ts';
import { H } from './events/headers.ts';
import { EVENT_DECODERS } from './events/index.ts';
import { SYSTEM_EVENTS, systemEvent } from './events/system.ts';
import { healthCallOf } from './health-call.ts';
import type { SystemEvent } from './events/system.ts';

const RING = 20;

export interface FactReaderOptions {
  readonly node: NodeId;
  readonly known: Known;
  readonly now: () => number;
  readonly emit: (event: EngineEvent) => void;
  readonly system: (event: SystemEvent) => void;
  /** Called for a frame that a healthy engine does not send, after which the state may be wrong. */
  readonly suspicious: () => void;
  /** Called with the events of test calls (health-call.ts). */
  readonly health?: (event: string, id: string, frame: Frame) => void;
}

/** Decodes frames to facts: unknown events are counted, malformed ones counted and kept, and neither stops the stream. */
export class FactReader {
  readonly #options: FactReaderOptions;
  readonly #decoding;
  readonly #ring: string[] = [];
  #frames = 0;
  #unknown = 0;
  #malformed = 0;
  #oversize = 0;

  constructor(options: FactReaderOptions) {
    this.#options = options;
    this.#decoding = { node: options.node, known: options.known, emit: options.emit };
  }

  readonly wants = (name: string): boolean => EVENT_DECODERS.has(name) || SYSTEM_EVENTS.has(name);

  readonly ignored = (): void => {
    this.#frames++;
    this.#unknown++;
  };

  readonly event = (name: string, frame: Frame): void => {
    this.#frames++;
    // The engine adds its privilege to every event; a frame without it was not created by the engine.
    if (!frame.has(H.privilege)) return this.#spoilt('no Privilege', frame.raw());
    const health = healthCallOf(frame);
    if (health !== null) return this.#options.health?.(name, health, frame);
    const decode = EVENT_DECODERS.get(name);
    if (decode === undefined) {
      const system = systemEvent(name, frame);
      if (system !== null) this.#options.system(system);
      return;
    }
    try {
      decode(frame, frame.millis(H.timestamp) ?? this.#options.now(), this.#decoding);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      this.#spoilt(error.message, frame.raw());
    }
  };

  readonly dropped = (reason: DropReason, raw: string): void => {
    this.#frames++;
    if (reason === 'not_a_frame') return this.#spoilt(reason, raw);
    this.#oversize++;
    this.#keep(reason, raw);
    this.#options.suspicious();
  };

  #spoilt(why: string, raw: string): void {
    this.#malformed++;
    this.#keep(why, raw);
    this.#options.suspicious();
  }

  #keep(why: string, raw: string): void {
    this.#ring.push(`${why}\r\n${raw}`);
    if (this.#ring.length > RING) this.#ring.shift();
  }

  malformed(): readonly string[] {
    return [...this.#ring];
  }

  counters(): Pick<EngineStatus['counters'], 'frames' | 'unknown' | 'malformed' | 'oversize'> {
    return {
      frames: this.#frames,
      unknown: this.#unknown,
      malformed: this.#malformed,
      oversize: this.#oversize,
    };
  }
}
