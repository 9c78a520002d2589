import type { Caller } from '../ports/http.ts';
import type { Framing } from './batch.ts';
import { cutEnvelope, cutOf, cutState } from '../rights/display.ts';
import { boundsOf, namesOf } from '../rights/hearing.ts';
import type { Bounds, Heard } from '../rights/hearing.ts';
import type { Principal } from '../rights/rights.ts';
import { Reader } from './reader.ts';

/**
 * Framing for this reader. Displays and limited keys receive less than an envelope holds, so their framing has its own
 * name: the hub and the snapshots then keep them apart and build each frame once for all readers with equal filters.
 */
function framingFor(framing: Framing, who: Principal): Framing {
  const cut = cutOf(who);
  if (cut === null) return framing;
  return {
    name: `${framing.name} ${JSON.stringify(cut)}`,
    chained: framing.chained,
    event(json, seq, prev) {
      return framing.event(Buffer.from(cutEnvelope(cut, json.toString())), seq, prev);
    },
    snapshot: (topic, cursor, json) =>
      framing.snapshot(topic, cursor, JSON.stringify(cutState(cut, JSON.parse(json)))),
  };
}

/** A reader with a client connection behind it. */
export abstract class Client extends Reader {
  framing: Framing;
  caller: Caller;
  readonly ip: string | null;
  /** Fields that its rights were computed from. */
  basis = '';
  heard: readonly Heard[] = [];
  /** Tick of the last bytes from the client, and tick in which its unsent bytes last decreased. */
  heardAt = 0;
  movedAt = 0;
  /** True after a write that was not sent at once; only then does each tick check `unsent`. */
  waits = false;
  waiting = 0;
  /** Its part of the heartbeat interval, so that heartbeats are spread evenly. */
  slot = 0;

  constructor(framing: Framing, caller: Caller, ip: string | null) {
    super();
    this.framing = framingFor(framing, caller);
    this.caller = caller;
    this.ip = ip;
  }
  /** Bytes buffered in this process for the client. */
  abstract get unsent(): number;
  /** False if the client sends nothing or is not read now, so that its silence means nothing. */
  abstract get talks(): boolean;
  abstract heartbeat(scanned: number, time: string): void;
  /** The rights of its caller changed; `changed` holds the topics to which the access differs from before. */
  abstract rightsChanged(changed: readonly Heard[]): void;
  /** Reports the reason and closes; `code` is one of CLOSE_CODES. */
  abstract end(code: number, reason: string): void;
  /** Planned end: the client shall reconnect after `afterMs` milliseconds. */
  abstract restart(afterMs: number): void;
  /** Ends a client whose connection is closed or silent. */
  abstract vanish(): void;

  /** Frames later events by `framing`, once the client is attached to the hub again. */
  protected frameBy(framing: Framing): void {
    this.framing = framingFor(framing, this.caller);
  }

  get names(): readonly string[] {
    return namesOf(this.heard);
  }
  override get bounds(): Bounds {
    return boundsOf(this.heard);
  }
}
