import { stream as operations } from '@offhook/contract/operations/stream.ts';
import { rfc3339 } from '../core/clock.ts';
import type { Journal } from '../journal/journal.ts';
import type { App, Caller } from '../ports/http.ts';
import type { Gauges } from '../ports/metrics.ts';
import type { Commands, Served } from '../ports/operations.ts';
import type { Common } from '../ports/common.ts';
import type { Credentials, TopicSources } from '../ports/stream.ts';
import type { Heard } from '../rights/hearing.ts';
import { Clients, reconnect } from './clients.ts';
import type { Parts } from './parts.ts';
import { Hub } from './hub.ts';
import { viewOf } from './view.ts';
import type { View } from './view.ts';
import { pollHandler } from './poll.ts';
import { createSnapshots } from './snapshots.ts';
import type { Positions, Snapshots } from './snapshots.ts';
import { sseHandler } from './sse.ts';
import type { RemoteTickets } from './tickets.ts';
import { createTickets } from './tickets.ts';
import { webSocketHandler } from './websocket.ts';

interface CommonOptions extends Common<'clock' | 'directory' | 'log'> {
  readonly journal: Journal;
  /** Redeems tickets; by default those that this stream issued. */
  readonly tickets?: RemoteTickets;
  /** As `Parts.reach`; without it no stream waits. */
  readonly reach?: Parts['reach'];
  readonly credentials: Credentials;
  readonly metrics?: Gauges;
  readonly heartbeatSeconds: number;
  /** Limit of open streams per person or API key. */
  readonly perPerson: number;
  /** False while another node may lead the site: no stream is opened then. */
  readonly leads?: () => boolean;
  /** Limit of essential events that wait for one reader, in bytes. */
  readonly maxBehind?: number;
}
/** The stream builds its snapshots from the state of `sources`, or takes them from `snapshots`. */
type StreamOptions = LocalOptions | RemoteOptions;
export interface LocalOptions extends CommonOptions {
  readonly positions: Positions;
  readonly sources: TopicSources;
}
interface RemoteOptions extends CommonOptions {
  readonly snapshots: Snapshots;
}
export interface Stream {
  /** Asks the clients of the callers that `of` selects, by default all, to reconnect, here or at another node. */
  interrupt(of?: (caller: Caller) => boolean): void;
  /** The caller of each open stream. */
  callers(): Iterable<Caller>;
  /** The caller with its current rights; null if the person no longer exists. */
  fresh(caller: Caller): Caller | null;
  /** Redeems a ticket of this stream, once: the caller that it was issued to; null for any other ticket. */
  redeem(ticket: string): Caller | null;
  /** The state of each topic for another node, all exactly as of `cursor`. Rejects with `store_unavailable`. */
  view(wanted: readonly Heard[]): Promise<View>;
  /** The journal has new rows. */
  committed(): void;
  /** `commands` runs the commands of its clients. */
  operations(app: App, commands: Commands): Served<typeof operations>;
  close(): void;
}
/** Range in ms over which clients are asked to reconnect after a restart, growing with their number. */
const COME_BACK = { least: 200, most: 30_000, perClient: 0.5, spread: 1_000 };

/** The event stream: one hub over the journal, served as WebSocket, SSE and long poll. */
export function createStream(options: StreamOptions): Stream {
  const { journal, directory, credentials, clock, heartbeatSeconds, perPerson } = options;
  const log = options.log.child({ part: 'stream' });
  const { maxBehind } = options;
  const hub = new Hub({ journal, log, maxBehind });
  const heartbeatMs = heartbeatSeconds * 1000;
  const clients = new Clients({ hub, directory, credentials, clock, heartbeatMs, perPerson });
  const snapshots =
    'snapshots' in options
      ? options.snapshots
      : createSnapshots({
          sources: options.sources,
          positions: options.positions,
          head: () => journal.head,
        });
  const tickets = createTickets({ clock, credentials });
  let closing = false;

  const { metrics } = options;
  metrics?.gauge('offhook_stream_clients', 'Open streams.', () => clients.size);
  metrics?.gauge('offhook_stream_feeds', 'Different subscriptions.', () => hub.counters().audiences);
  metrics?.gauge('offhook_stream_events', 'Events sent, to every client.', () => hub.counters().events);
  metrics?.gauge('offhook_stream_bytes', 'Bytes of events sent.', () => hub.counters().bytes);
  metrics?.gauge('offhook_stream_lag', 'Committed events not yet sent to all.', () => hub.counters().lag);
  metrics?.gauge('offhook_stream_too_slow', 'Streams closed with 4408.', () => hub.counters().tooSlow);

  const interrupt = (of: (caller: Caller) => boolean = () => true): void => {
    const spread = Math.min(COME_BACK.most, COME_BACK.spread + clients.size * COME_BACK.perClient);
    clients.refuse(of, reconnect());
    for (const client of clients.all()) {
      if (!of(client.caller)) continue;
      client.restart(Math.round(COME_BACK.least + Math.random() * spread));
    }
    clients.hurry();
  };
  const restart = (): void => {
    closing = true;
    interrupt();
  };
  const closed = (): boolean => closing || options.leads?.() === false;
  return {
    interrupt(of) {
      // These callers have to pass the checks of a request again, and a ticket opens a stream without them.
      if (of !== undefined) tickets.drop(of);
      interrupt(of);
    },
    *callers() {
      for (const { caller } of clients.all()) yield caller;
    },
    fresh: (caller) => clients.fresh(caller),
    redeem: (ticket) => tickets.redeem(ticket),
    view: (wanted) => viewOf(snapshots, wanted),
    committed() {
      hub.committed();
      snapshots.committed();
    },
    operations(app, commands) {
      const { reach = () => null } = options;
      const parts: Parts = { hub, clients, snapshots, journal, commands, heartbeatSeconds, log, reach };
      app.addHook('preClose', (done) => {
        restart();
        done();
      });
      return {
        operations,
        handlers: {
          ticket({ caller }) {
            const { ticket, expires_at } = tickets.issue(caller);
            return { success: true, ticket, expires_at: rfc3339(expires_at) };
          },
          socket: webSocketHandler(parts, options.tickets ?? tickets, closed),
          events: sseHandler(parts, closed),
          poll: pollHandler(parts, closed),
        },
      };
    },
    close() {
      restart();
      clients.close();
      snapshots.close();
      tickets.close();
      hub.close();
    },
  };
}
