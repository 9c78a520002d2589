/** Each second a web node reports its state to the database of the site and reads the nodes, rights and ended sessions there. */
import { StartError, messageOf } from '../core/errors.ts';
import type { Caller } from '../ports/http.ts';
import type { Common } from '../ports/common.ts';
import type { NodeReport, SiteNodes } from '../ports/site-nodes.ts';
import type { Leader } from './leader.ts';
import { nameTaken } from './standby.ts';
import type { WebCredentials } from './web-credentials.ts';

const LOOK_MS = 1_000;
/** Times without a read of the database, in ms: then a node is not ready, and later it closes its streams. */
export const UNREADY_MS = 5_000;
export const CUT_OFF_MS = 15_000;

export interface WebWatchDeps extends Common<'clock' | 'log'> {
  readonly nodes: SiteNodes;
  readonly report: () => NodeReport;
  readonly leader: Leader;
  /** Reads the people and queues of a newer configuration. */
  readonly reload: () => Promise<void>;
  readonly credentials: WebCredentials;
  readonly stream: { interrupt(): void; callers(): Iterable<Caller> };
  /** Milliseconds since the copy of the log was last read. */
  readonly copyAge: () => number;
  /** Called when another living node has this one's name. */
  readonly end: (why: string) => void;
}
export class WebWatch {
  readonly #deps: WebWatchDeps;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #lookedAt = performance.now();
  constructor(deps: WebWatchDeps) {
    this.#deps = deps;
  }
  /** Milliseconds since everything was last read. */
  silentMs(): number {
    return Math.max(this.#deps.copyAge(), performance.now() - this.#lookedAt);
  }
  /** Throws where another living node has this one's name. */
  async begin(): Promise<void> {
    await this.#report();
    this.#running = this.#run().catch((error: unknown) => {
      if (error instanceof StartError) this.#deps.end(error.message);
    });
  }
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    const { log, nodes, report } = this.#deps;
    await nodes.forget(report()).catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'this node could not report its shutdown');
    });
  }
  async #report(): Promise<void> {
    const { nodes, report, leader } = this.#deps;
    const own = report();
    if (!(await nodes.report(own))) throw nameTaken(own.name);
    leader.seen(await nodes.list());
  }
  async #run(): Promise<void> {
    const { clock, log, stream } = this.#deps;
    let away = false;
    let cut = false;
    for (;;) {
      try {
        await this.#look();
        away = false;
      } catch (error) {
        if (error instanceof StartError) throw error;
        if (!away)
          log.warn(
            { error: messageOf(error) },
            'this node could not read the database of the site; retrying',
          );
        away = true;
      }
      const isCut = this.silentMs() > CUT_OFF_MS;
      if (isCut && !cut) {
        // Sessions may have ended meanwhile, and the states that clients show are old.
        log.error({}, 'this node is cut off from the database: its streams are closed');
        stream.interrupt();
      }
      cut = isCut;
      await clock.sleep(LOOK_MS, this.#stop.signal);
    }
  }
  async #look(): Promise<void> {
    const { reload, credentials, stream } = this.#deps;
    await this.#report();
    await reload();
    await credentials.look(stream.callers());
    this.#lookedAt = performance.now();
  }
}
