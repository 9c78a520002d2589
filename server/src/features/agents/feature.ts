import type { DomainEvent } from '@offhook/contract/events.ts';
import type { Log } from '../../core/log.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Engine } from '../../ports/engine.ts';
import type { AgentInput, LiveView } from '../../ports/live.ts';
import type { Store } from '../../ports/store.ts';
import { createIntents } from './intents.ts';
import { createLanes } from './lanes.ts';
import type { Rate } from './lanes.ts';
import { createReactions } from './reactions.ts';
import { createReconciler } from './reconcile.ts';
import { createAgentService } from './service.ts';
import type { AgentService } from './service.ts';
import { createIntentStore, migrations } from './store.ts';

export interface AgentsDeps {
  readonly engine: Engine;
  readonly live: LiveView;
  /** Puts a decision into the live model, in order with the engine's facts. */
  readonly tell: (input: AgentInput) => void;
  readonly directory: Directory;
  readonly audit: Audit;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Changes per agent that reach the engine; the default is far above what a person or a script needs. */
  readonly rate?: Rate;
  /** Requests of one agent that may wait behind the one that runs. */
  readonly waiting?: number;
}
/** The agents feature: actions, intents and what restores them. */
export interface Agents extends AgentService, AsyncDisposable {
  /** Give every committed event, in order, from the first one of this process on. */
  onDomainEvent(event: DomainEvent): void;
  /** Logs the given agents in, once in the life of a site; resolves when that is written down, the engine follows. */
  ensureSeedMembers(members: readonly { extension: string; queue: string }[]): Promise<void>;
  /** Resolves when nothing is being changed, restored or written. */
  idle(): Promise<void>;
  /** Lets what runs finish, then stops everything else. */
  close(): Promise<void>;
}

/** Runs the migrations and reads the intents; `onDomainEvent` may be called as soon as it resolves. */
export async function createAgents(deps: AgentsDeps): Promise<Agents> {
  const { engine, live, tell, directory, audit, store, clock, log } = deps;
  await store.migrate('agents', migrations);
  const intents = createIntents({ store: createIntentStore(store, audit), clock, log });
  await intents.load();
  const lanes = createLanes(deps.waiting ?? 8);
  const reconciler = createReconciler({ engine, live, tell, clock, directory, intents, lanes, log });
  const rate = deps.rate ?? { burst: 2_000, per_second: 50 };
  const service = createAgentService({
    engine,
    live,
    tell,
    clock,
    directory,
    audit,
    lanes,
    reconciler,
    rate,
    log,
  });
  const close = async (): Promise<void> => {
    reconciler.close();
    await lanes.idle();
    await intents.flushed();
    intents.close();
  };
  return {
    act: (actor, request) => service.act(actor, request),
    onDomainEvent: createReactions(reconciler),
    ensureSeedMembers: (members) => reconciler.seed(members),
    async idle() {
      await lanes.idle();
      await reconciler.idle();
      await intents.flushed();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
