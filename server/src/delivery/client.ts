import type { Caller } from '../ports/http.ts';
import type { Framing } from './batch.ts';
import { framingFor } from './display.ts';
import { boundsOf, namesOf } from '../rights/hearing.ts';
import type { Bounds, Heard } from '../rights/hearing.ts';
import { Reader } from './reader.ts';

/** A reader with somebody at its other end. */
export abstract class Client extends Reader {
  readonly framing: Framing;
  caller: Caller;
  readonly ip: string | null;
  /** What its rights were made of. */
  basis = '';
  heard: readonly Heard[] = [];
  /** Tick in which anything last came from the other side, and in which what waits for it last grew less. */
  heardAt = 0;
  movedAt = 0;
  waiting = 0;
  /** Its share of the ticks: heartbeats of all are spread over them. */
  slot = 0;

  constructor(framing: Framing, caller: Caller, ip: string | null) {
    super();
    this.framing = framingFor(framing, caller);
    this.caller = caller;
    this.ip = ip;
  }
  /** Bytes that wait for the other side in this process. */
  abstract get unsent(): number;
  /** False where the other side says nothing, or is not read now: then its silence says nothing. */
  abstract get talks(): boolean;
  abstract heartbeat(scanned: number, time: string): void;
  /** Its rights are others now; `changed` are the topics that are heard differently. */
  abstract rightsChanged(changed: readonly Heard[]): void;
  /** Says why and closes; `code` is one of CLOSE_CODES. */
  abstract end(code: number, reason: string): void;
  /** A planned end: it is told to come back after so many milliseconds. */
  abstract restart(afterMs: number): void;
  /** The other side is gone. */
  abstract vanish(): void;

  get names(): readonly string[] {
    return namesOf(this.heard);
  }
  override get bounds(): Bounds {
    return boundsOf(this.heard);
  }
}
