/** The bus between the nodes of a site. Its library is read only where the setting names a server. */
import type { Log } from '../core/log.ts';
import type { Check } from '../http/health.ts';
import type { EventFeed } from '../journal/event-feed.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Bus, LogNews, OutsideStream } from '../ports/bus.ts';
import type { Clock } from '../ports/clock.ts';
import type { Config } from './config.ts';

/** Interval at which the leading node sends its head without a commit, in ms. */
const BEACON_MS = 1_000;
/** Shortest interval between two reads of the log for news. */
const FOLLOW_MS = 50;

/** Null where none is used. `site`: its name in the store. */
export async function openBus(
  { config, log, site }: { readonly config: Config; readonly log: Log; readonly site: string },
  stack: AsyncDisposableStack,
) {
  if (config.nats === null) return null;
  const [{ NatsLink }, { NatsBus }] = await Promise.all([
    import('../adapters/nats/link.ts'),
    import('../adapters/nats/bus.ts'),
  ]);
  const link = new NatsLink({ urls: config.nats, name: `offhook ${config.node ?? ''}`.trim(), log });
  const bus = new NatsBus(link, site);
  stack.defer(() => bus.close());
  return {
    bus,
    async stream(name: string): Promise<OutsideStream> {
      const { NatsEventStream } = await import('../adapters/nats/event-stream.ts');
      return new NatsEventStream(link, { name, site });
    },
  };
}
/** Sends `head` each second, so that the other nodes know that the bus works. */
export function beginBeacon(bus: Bus, head: () => LogNews, stack: AsyncDisposableStack): void {
  const timer = setInterval(() => bus.send(head()), BEACON_MS).unref();
  stack.defer(() => clearInterval(timer));
}
/** The events of the site for other programs; null where none is wanted. */
export const feedCheck = (feed: EventFeed | null): Check => ({
  name: 'event_stream',
  needed: false,
  run: () => Promise.resolve(feed === null ? { ok: true, detail: 'none is used' } : feed.finding()),
});
/** `lacks`: a missing part other than the connection; null for none. */
export const busCheck = (bus: Bus | null, lacks: () => string | null = () => null): Check => ({
  name: 'bus',
  // Nodes read the log without it, so they stay ready.
  needed: false,
  run() {
    if (bus === null) return Promise.resolve({ ok: true, detail: 'none is used' });
    const { up, detail } = bus.state();
    const missing = up ? lacks() : 'the nodes read the log every 50 ms';
    return Promise.resolve({
      ok: missing === null,
      detail: missing === null ? detail : `${detail}; ${missing}`,
    });
  },
});
export function feedGauge(metrics: Pick<Metrics, 'gauge'>, feed: EventFeed | null): void {
  if (feed === null) return;
  metrics.gauge('offhook_event_stream_behind', 'Events that the stream for other programs lacks.', () =>
    feed.behind(),
  );
}
export function busGauges(metrics: Pick<Metrics, 'gauge'>, bus: Bus | null): void {
  if (bus === null) return;
  metrics.gauge('offhook_bus_up', 'Whether NATS is connected.', () => Number(bus.state().up));
  metrics.gauge('offhook_bus_sent', 'News of the log sent to other nodes.', () => bus.counts.sent);
  metrics.gauge('offhook_bus_heard', 'News of the log heard from other nodes.', () => bus.counts.heard);
}
/** Sleeps for `ms`, and runs `work` meanwhile at each message of the leading node. */
export async function sleepWoken(options: {
  readonly bus: Bus | null;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly ms: number;
  readonly work: () => Promise<void>;
}): Promise<void> {
  const { bus, clock, signal, ms, work } = options;
  let woken = new AbortController();
  const end = bus?.onNews(() => woken.abort());
  try {
    for (const until = clock.now() + ms; clock.now() < until;) {
      await clock
        .sleep(until - clock.now(), AbortSignal.any([woken.signal, signal]))
        .catch(() => signal.throwIfAborted());
      if (!woken.signal.aborted) continue;
      woken = new AbortController();
      // The next regular read names what fails.
      await work().catch(() => undefined);
      await clock.sleep(FOLLOW_MS, signal);
    }
  } finally {
    end?.();
  }
}
