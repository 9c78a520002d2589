/** Gauges, read when the metrics are. */
export interface Gauges {
  gauge(name: string, help: string, read: () => number): void;
}
