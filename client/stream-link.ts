/** One WebSocket of a stream: its greeting, its heartbeat and its frames. */
import type { ClientFrame, ServerFrame } from '@offhook/contract/stream.ts';
import type { Environment } from './environment.ts';
import { parsed } from './protocol.ts';

/** Limit from the opening of the socket to `hello`. */
const HELLO_MS = 10_000;
/** `WebSocket.CLOSING`; only `CLOSED` is greater. */
const CLOSING = 2;

/**
 * Pings without an answer, a third of a heartbeat apart, after which the connection is lost: usually, and while a snapshot is
 * on its way, because on a slow line the answer waits behind a snapshot of megabytes.
 */
const UNANSWERED = { usual: 1, patient: 12 };

export interface LinkListener {
  onFrame(frame: ServerFrame, link: StreamLink): void;
  /** Called once, never after `drop`. `code` is 0 if the client gave up the connection. */
  onLost(code: number, why: string, link: StreamLink): void;
}
export class StreamLink {
  readonly #socket: WebSocket;
  readonly #env: Environment;
  readonly #listener: LinkListener;
  #stopWatch: () => void;
  #interval: number | null = null;
  /** Pings since the last frame. */
  #unanswered = 0;
  #ended = false;
  #heardAt: number | null = null;
  liveSince: number | null = null;
  /** Id of the subscription whose events count; null before the first. */
  asked: string | null = null;
  subscribed = false;
  /** True while a snapshot is on its way. */
  patient = false;
  /** From a `reconnect` frame: the earliest time of the next attempt. */
  returnAt: number | null = null;

  constructor(socket: WebSocket, env: Environment, listener: LinkListener) {
    this.#socket = socket;
    this.#env = env;
    this.#listener = listener;
    this.#stopWatch = env.after(HELLO_MS, () => this.#lost('no greeting came'));
    socket.addEventListener('message', ({ data }) => this.#receive(data));
    socket.addEventListener('close', ({ code, reason }) => this.#lost(reason || `closed with ${code}`, code));
    // A close event with the reason follows every error event.
    socket.addEventListener('error', () => undefined);
  }
  /** Time of the last frame, ms since 1970; null before the first. */
  get heardAt(): number | null {
    return this.#heardAt;
  }
  send(frame: ClientFrame): void {
    // A browser warns of each frame on a socket that is closing; its close event follows.
    if (this.#socket.readyState >= CLOSING) return;
    this.#socket.send(JSON.stringify(frame));
  }
  /** Closes the connection; the listener is not called again. */
  drop(code: number): void {
    this.#ended = true;
    this.#stopWatch();
    this.#socket.close(code);
  }
  /** Sends a ping; without an answer the connection is lost. Does nothing before `hello`. */
  ask(): void {
    if (this.#interval === null) return;
    this.#unanswered += 1;
    this.send({ op: 'ping' });
    this.#wait(this.#interval / 3);
  }
  #receive(data: unknown): void {
    if (this.#ended) return;
    this.#heardAt = this.#env.now();
    this.#unanswered = 0;
    const frame = parsed(data);
    if (frame === null) return this.#lost('what came is no frame');
    if (frame.op === 'hello') {
      this.#interval = frame.heartbeat_seconds * 1000;
      this.#wait(this.#interval / 3);
    }
    this.#listener.onFrame(frame, this);
  }
  #lost(why: string, code = 0): void {
    if (this.#ended) return;
    this.#listener.onLost(code, why, this);
  }
  #wait(ms: number): void {
    this.#stopWatch();
    this.#stopWatch = this.#env.after(ms, () => this.#look());
  }
  /**
   * A cut network sends no close event, and a laptop that slept wakes to a dead socket that looks open: after a third of a
   * heartbeat without a frame the server is pinged, and after another third, or several, the connection is lost.
   */
  #look(): void {
    const interval = this.#interval ?? 0;
    const quiet = this.#env.now() - (this.#heardAt ?? 0);
    const most = this.patient ? UNANSWERED.patient : UNANSWERED.usual;
    if (this.#unanswered >= most || quiet > Math.max(2, most / 3) * interval)
      this.#lost(`nothing was heard for ${Math.round(quiet / 1000)} s`);
    // Below zero if the machine's clock was set back.
    else if (quiet >= 0 && quiet < interval / 3) this.#wait(interval / 3 - quiet);
    else this.ask();
  }
}
