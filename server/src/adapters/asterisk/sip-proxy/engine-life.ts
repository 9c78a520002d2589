/** Learns at the SIP proxy whether the engine of a node still runs; a new engine at the same address has none of the former calls. */
import { once } from 'node:events';
import net from 'node:net';
import type { Common } from '../../../ports/common.ts';
import { askSip } from '../sip-probe.ts';
import type { SipAddress } from './config.ts';

const PAUSE_MS = 1_000;
const SHORT_MS = 50;
const ANSWER_MS = 2_000;
/** Unanswered probes of a hanging engine, 15 s: an engine that continues later finds its rings refused. */
const MOST_SILENT = 5;

/** A connection to the engine, null where none is accepted in time. */
async function connection(to: SipAddress, stop: AbortSignal): Promise<net.Socket | null> {
  const socket = net.connect(to.port, to.host);
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([stop, AbortSignal.timeout(ANSWER_MS)]) });
    return socket;
  } catch {
    socket.on('error', () => {});
    socket.destroy();
    return null;
  }
}
export class EngineLife {
  readonly #at: SipAddress;
  readonly #clock: Common<'clock'>['clock'];
  #died = 0;
  #silent = 0;
  constructor(at: SipAddress, { clock }: Common<'clock'>) {
    this.#at = at;
    this.#clock = clock;
  }
  /** Calls that began until this time, in ms since 1970, have lost their engine; 0 where none has. */
  get lostUntil(): number {
    return this.#silent >= MOST_SILENT ? this.#clock.now() : this.#died;
  }
  /** Follows the engine until `stop` is aborted. */
  async follow(stop: AbortSignal): Promise<void> {
    await Promise.all([this.#hold(stop), this.#ask(stop)]);
  }
  /** The system closes the connections of a process that ends, however soon the next one begins. */
  async #hold(stop: AbortSignal): Promise<void> {
    let closed = 0;
    while (!stop.aborted) {
      const socket = await connection(this.#at, stop);
      if (socket === null) {
        // An engine that only closed an idle connection accepts the next one.
        if (closed > 0 && !stop.aborted) this.#died = closed;
        closed = 0;
        await this.#pause(stop);
        continue;
      }
      const opened = performance.now();
      const end = (): unknown => socket.destroy();
      stop.addEventListener('abort', end);
      socket.on('error', () => {}).resume();
      await new Promise((resolve) => socket.once('close', resolve));
      stop.removeEventListener('abort', end);
      closed = this.#clock.now();
      // Less than an engine takes to start, which would hide the end of the former one.
      if (performance.now() - opened < PAUSE_MS) await this.#pause(stop, SHORT_MS);
    }
  }
  async #ask(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const answers = await askSip(this.#at, null, ANSWER_MS).then(
        () => true,
        () => false,
      );
      this.#silent = answers ? 0 : this.#silent + 1;
      await this.#pause(stop);
    }
  }
  async #pause(stop: AbortSignal, ms = PAUSE_MS): Promise<void> {
    await this.#clock.sleep(ms, stop).catch(() => undefined);
  }
}
