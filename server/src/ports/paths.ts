/** The ways of phones and browsers to the engine, as the doctor tries them. */
import type { PathFinding } from '@offhook/contract/path-check.ts';

export interface PathProbe {
  /** Account of browsers' tries at the engine. */
  readonly account: string;
  /** Number that it may call: it hears itself. */
  readonly number: string;
  /**
   * Tries every way that the site has against its own addresses. `web`: origins of the service here. `found` receives each
   * finding at once. Throws `engine_unavailable`.
   */
  try(options: {
    readonly web: readonly string[];
    readonly found: (finding: PathFinding) => void;
    readonly signal: AbortSignal;
  }): Promise<void>;
  /**
   * Data with which another machine tries them. `host`: name or address of the site there; null for the external address of the
   * network. Throws `invalid_request` where no other machine reaches the site.
   */
  pass(options: {
    readonly host: string | null;
    /** Origin of the service at a host over IPv4 or IPv6; null where it does not listen there. */
    readonly web: (host: string, six: boolean) => string | null;
  }): Promise<{
    readonly pass: Readonly<Record<string, unknown>>;
    /** Names and addresses of the site in the pass. */
    readonly hosts: readonly string[];
    readonly expires_at: number;
  }>;
}
