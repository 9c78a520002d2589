/** The machine's firewall as the service uses it: blocked networks, for the time of their block. */

export interface TimedBlock {
  readonly network: string;
  /** Milliseconds since 1970. */
  readonly until_ms: number;
}
export type FirewallState =
  | { readonly state: 'active'; readonly networks: number }
  /** `detail`: one line. */
  | { readonly state: 'unavailable'; readonly detail: string };
export interface Firewall {
  /** Drops packets of these networks to these ports; replaces earlier blocks. Never rejects; `state` has the result. */
  replace(blocks: readonly TimedBlock[], ports: readonly number[]): Promise<void>;
  state(): FirewallState;
  /** Removes all that it wrote. */
  close(): Promise<void>;
}
