import type { DomainEvent } from '@offhook/contract/events.ts';
import type { App } from './http.ts';
import type { Gauges } from './metrics.ts';
import type { AnyServed } from './operations.ts';

/**
 * Interface of a capability to the service, the same shape for all: a new capability is a new row of boot/manifest.ts. Members it
 * does not need are absent.
 */
export interface Feature {
  readonly name: string;
  /** Operations it serves, by REST and as commands of the stream. `app` is for replies that are files. */
  readonly operations?: (app: App) => readonly AnyServed[];
  /** Routes that are not operations, such as files of the console. */
  readonly routes?: (app: App) => void;
  /** Receives every committed event, in order. */
  readonly onEvent?: (event: DomainEvent) => void;
  /** Called after every batch of facts, committed or held. */
  readonly onStepped?: () => void;
  readonly gauges?: (to: Gauges) => void;
  /** Ends its work, while the engine loop still runs. */
  readonly close?: () => Promise<void> | void;
}
