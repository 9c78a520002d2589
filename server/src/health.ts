/** What shows whether the service does its work: the checks of readiness, and its gauges. */
import type { CallControlFeature } from './features/calls/feature.ts';
import type { Config } from './config.ts';
import type { Exchange } from './exchange.ts';
import type { Webhooks } from './delivery/webhooks/service.ts';
import type { Check } from './http/health.ts';
import type { Metrics } from './http/metrics.ts';
import type { EngineLoop } from './journal/engine-loop.ts';
import type { Journal } from './journal/journal.ts';
import type { Engine } from './ports/engine.ts';
import type { LiveView } from './ports/live.ts';
import type { Store } from './ports/store.ts';

/** Below this the disk counts as full. */
export const DISK_FLOOR_BYTES = 64 * 1024 * 1024;

export interface Watched {
  readonly config: Config;
  readonly engine: Engine;
  readonly live: LiveView;
  readonly exchange: Exchange;
  readonly loop: EngineLoop;
  readonly journal: Journal;
  readonly store: Store;
  readonly records: Store;
  readonly calls: CallControlFeature;
  readonly webhooks: Webhooks;
}
export function checksOf({
  config,
  engine,
  live,
  exchange,
  loop,
  store,
  records,
}: Watched): readonly Check[] {
  return [
    {
      name: 'engine',
      run: async () => {
        const { link, reason, version } = engine.status();
        const ok = live.live && link === 'up';
        return {
          ok,
          detail: ok ? `up, ${version ?? 'version unknown'}` : `${link}: ${reason || exchange.state()}`,
        };
      },
    },
    {
      name: 'journal',
      run: async () => {
        const lag = loop.lag();
        return { ok: lag.error === null && lag.oldest_ms < 5_000, detail: JSON.stringify(lag) };
      },
    },
    {
      name: 'records',
      needed: false,
      run: async () => {
        await records
          .db()
          .selectNoFrom((e) => e.lit(1).as('one'))
          .execute();
        return { ok: true, detail: config.databaseUrl === null ? 'SQLite' : 'PostgreSQL' };
      },
    },
    {
      name: 'disk',
      run: async () => {
        const free = await store.freeBytes();
        return { ok: free > DISK_FLOOR_BYTES, detail: `${Math.floor(free / 1_048_576)} MiB free` };
      },
    },
  ];
}
export function addGauges(metrics: Metrics, { engine, live, loop, journal, calls, webhooks }: Watched): void {
  metrics.gauge('offhook_engine_up', 'Whether the engine link is up.', () => Number(live.live));
  metrics.gauge('offhook_calls_refused', 'Calls from the API that the guard refused.', () =>
    Object.values(calls.guard.refusals()).reduce((sum, n) => sum + n, 0),
  );
  metrics.gauge('offhook_journal_head', 'Newest committed seq.', () => journal.head);
  metrics.gauge('offhook_journal_held', 'Events that are not committed yet.', () => loop.lag().held);
  metrics.gauge('offhook_calls', 'Calls in progress.', () => live.calls().length);
  for (const name of [
    'frames',
    'unknown',
    'malformed',
    'oversize',
    'drift',
    'reconnects',
    'pending_actions',
  ] as const) {
    metrics.gauge(`offhook_engine_${name}`, `Engine link: ${name}.`, () => engine.status().counters[name]);
  }

  for (const name of [
    'webhooks',
    'retrying',
    'under_way',
    'lag',
    'delivered',
    'failed',
    'parked',
    'disabled',
  ] as const) {
    const metric = name === 'webhooks' ? 'offhook_webhooks' : `offhook_webhooks_${name}`;
    metrics.gauge(metric, `Webhooks: ${name}.`, () => webhooks.figures()[name]);
  }
}
