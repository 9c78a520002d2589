/** Gauges, read when the metrics are. */
export interface Gauges {
  gauge(name: string, help: string, read: () => number): void;
  /** A gauge with one value for each value of a label, of which there must be few. */
  gaugeBy(name: string, help: string, label: string, read: () => Iterable<readonly [string, number]>): void;
}
