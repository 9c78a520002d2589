import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  /** Counts one answered request; `route` is a path of the route table, never what the client sent. */
  observe(route: string, method: string, status: number, seconds: number): void;
  /** A figure read when the metrics are. */
  gauge(name: string, help: string, read: () => number): void;
}
/** The metrics of one service; each has a registry of its own, so that two can live in one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'offhook_http_requests_total',
    help: 'Answered requests.',
    labelNames: ['route', 'method', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'offhook_http_request_seconds',
    help: 'Time from the request line to the end of the answer.',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return {
    registry,
    observe(route, method, status, seconds) {
      requests.inc({ route, method, status });
      duration.observe({ route }, seconds);
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
  };
}
