import type { DomainEvent } from '@offhook/contract/events.ts';
import type { App } from './http.ts';
import type { Gauges } from './metrics.ts';
import type { AnyServed } from './operations.ts';

/**
 * What a capability gives the service, the same shape for all of them: a capability more is a row of boot/manifest.ts. It
 * leaves out what it does not have.
 */
export interface Feature {
  readonly name: string;
  /** What it serves, by REST and as commands of the stream. `app` is for replies that are files. */
  readonly operations?: (app: App) => readonly AnyServed[];
  /** Paths that are no operations, as files of the console. */
  readonly routes?: (app: App) => void;
  /** Accepts every committed event, in order. */
  readonly onEvent?: (event: DomainEvent) => void;
  /** Called after every batch of facts, committed or held. */
  readonly onStepped?: () => void;
  readonly gauges?: (to: Gauges) => void;
  /** Ends what it has begun, while the engine loop still runs. */
  readonly close?: () => Promise<void> | void;
}
