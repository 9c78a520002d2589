import type { DomainEvent } from '@offhook/contract/events.ts';
import type { Log } from '../core/log.ts';
import type { Audit } from './audit.ts';
import type { Clock } from './clock.ts';
import type { Directory } from './directory.ts';
import type { LiveView } from './live.ts';
import type { Store } from './store.ts';

interface All {
  readonly audit: Audit;
  readonly clock: Clock;
  readonly directory: Directory;
  readonly live: LiveView;
  readonly log: Log;
  readonly publish: (events: readonly DomainEvent[]) => void;
  readonly store: Store;
}
/** Parts of the service that most of its other parts need, by name. */
export type Common<Name extends keyof All> = Pick<All, Name>;
