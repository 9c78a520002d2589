import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import type { Histogram } from 'prom-client';
import type { Gauges } from '../ports/metrics.ts';

export interface Metrics extends Gauges {
  readonly registry: Registry;
  /** Counts one reply; `route` is a path of the route table, never a client's text. */
  observe(route: string, method: string, status: number, seconds: number): void;
}
/** Upper bounds in seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Requests of one path; counted by hand because it runs for every request. */
interface Answered {
  readonly counts: Map<string, Map<number, number>>;
  /** Count per bucket, not cumulative; the last one counts all that are longer than the largest bound. */
  readonly buckets: number[];
  seconds: number;
}
/** Metrics of one service. Each service has its own registry, so that two can run in one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const routes = new Map<string, Answered>();
  new Counter({
    name: 'offhook_http_requests_total',
    help: 'Answered requests.',
    labelNames: ['route', 'method', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [route, { counts }] of routes) {
        for (const [method, statuses] of counts) {
          for (const [status, count] of statuses) this.inc({ route, method, status }, count);
        }
      }
    },
  });
  const name = 'offhook_http_request_seconds';
  const help = 'Time from the request line to the end of the answer.';
  const duration = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: durations(name, routes) }),
  };
  // The library's own histogram observes one value at a time and rebuilds its labels each time.
  registry.registerMetric(duration as unknown as Histogram);
  return {
    registry,
    observe(route, method, status, seconds) {
      let answered = routes.get(route);
      if (answered === undefined) {
        answered = { counts: new Map(), buckets: [...BUCKETS, 0].map(() => 0), seconds: 0 };
        routes.set(route, answered);
      }
      let statuses = answered.counts.get(method);
      if (statuses === undefined) answered.counts.set(method, (statuses = new Map()));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      let bucket = 0;
      while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket += 1;
      answered.buckets[bucket]! += 1;
      answered.seconds += seconds;
    },
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(read());
        },
      });
    },
    gaugeBy(name, help, label, read) {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [registry],
        collect() {
          this.reset();
          for (const [value, n] of read()) this.set({ [label]: value }, n);
        },
      });
    },
  };
}

/** Lines of a histogram: cumulative counts, sum and total count. */
function durations(name: string, routes: ReadonlyMap<string, Answered>): object[] {
  return [...routes].flatMap(([route, { buckets, seconds }]) => {
    let count = 0;
    const bounds = buckets.map((n, i) => {
      count += n;
      const le = BUCKETS[i] ?? '+Inf';
      return { metricName: `${name}_bucket`, labels: { le, route }, value: count };
    });
    return [
      ...bounds,
      { metricName: `${name}_sum`, labels: { route }, value: seconds },
      { metricName: `${name}_count`, labels: { route }, value: count },
    ];
  });
}
