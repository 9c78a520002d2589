import type { AgentsQuery, AgentsReply, AgentsSnapshot, OneAgentReply } from '@offhook/contract/agents.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { z } from 'zod';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import { shownTo } from '../../rights/display.ts';
import { agentsOf, reaches } from '../../rights/rights.ts';
import type { Objects, Principal } from '../../rights/rights.ts';
import type { Rate } from '../../core/rate-limit.ts';
import type { PauseReason } from '../../ports/directory.ts';
import type { Engine } from '../../ports/engine.ts';
import type { AgentInput, OperationEvent } from '../../ports/live.ts';
import type { Memberships } from '../../ports/memberships.ts';
import type { agents as operations } from '@offhook/contract/operations/agents.ts';
import type { Served } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { TopicSource } from '../../ports/stream.ts';
import { Follower } from './follow.ts';
import { Intents } from './intents.ts';
import { Lanes } from '../../commands/lanes.ts';
import { createMemberships } from './memberships.ts';
import { agentOperations } from './operations.ts';
import { createReactions } from './reactions.ts';
import { Reconciler } from './reconcile.ts';
import { createAgentService } from './service.ts';
import type { AgentService } from './service.ts';
import { createIntentStore, migrations } from './store.ts';
import { agentOf } from './view.ts';

/** Most time that a stop spends on releasing agents paused by the service. */
const CLOSE_MS = 1_000;

export interface AgentsDeps extends Common<'audit' | 'clock' | 'directory' | 'live' | 'log' | 'store'> {
  readonly engine: Engine;
  /** Passes a decision to the live model, in order with the engine's facts. */
  readonly tell: (input: AgentInput | OperationEvent) => void;
  /** Limit of changes per agent that reach the engine; the default is far above the need of a person or a script. */
  readonly rate?: Rate;
  /** Consecutive unanswered offers before an agent is paused; 0 for never. The default is 3. */
  readonly noAnswerLimit?: number;
  /** Milliseconds without a reachable device before an agent counts as unreachable. The default is 15 s. */
  readonly unreachableMs?: number;
  /** Requests of one agent that may wait behind the running one. */
  readonly waiting?: number;
}
/** The agents feature: actions, intents and their restoration. */
export interface Agents extends Pick<AgentService, 'act'>, TopicSource, AsyncDisposable {
  /** Agents that the caller may see. */
  list(who: Principal, query?: z.infer<typeof AgentsQuery>): z.infer<typeof AgentsReply>;
  /** Throws `forbidden` if the caller may not see the agent, `not_found` if there is none. */
  one(who: Principal, extension: string): z.infer<typeof OneAgentReply>;
  reasons(): readonly PauseReason[];
  readonly operations: Served<typeof operations>;
  readonly memberships: Memberships;
  /** Takes every committed event, in order, from the first one of this process on. */
  onDomainEvent(event: DomainEvent): void;
  /** Adds the given members, once in the life of a site; resolves when stored, before the engine follows. */
  ensureSeedMembers(members: readonly { extension: string; queue: string }[]): Promise<void>;
  /**
   * Call it before the engine reloads its configuration, and the returned function afterwards: members and
   * pauses that the engine lost by the reload are then restored.
   */
  hold(): Promise<() => void>;
  /** Resolves when no change, restoration or write is under way. */
  idle(): Promise<void>;
  /** Lets running work finish, then stops everything else. */
  close(): Promise<void>;
}

/** Runs the migrations and reads the intents; `onDomainEvent` may be called once it resolves. */
export async function createAgents(deps: AgentsDeps): Promise<Agents> {
  const { engine, live, tell, directory, audit, store, clock, log } = deps;
  await store.migrate('agents', migrations);
  const intents = new Intents({ store: createIntentStore(store, audit), clock, log });
  await intents.load();
  const lanes = new Lanes(
    deps.waiting ?? 8,
    (size, agent) => say`${size} actions of ${agent} are still under way`,
  );
  const reconciler = new Reconciler({ engine, live, tell, clock, directory, intents, lanes, log });
  const { noAnswerLimit = 3, unreachableMs = 15_000 } = deps;
  const settings = { noAnswerLimit, unreachableMs };
  const waiting = (extension: string): string[] => reconciler.waiting(extension);
  const follower = new Follower({ engine, live, tell, clock, lanes, waiting, settings, log });
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
  const view = { live, directory };
  const snapshot = (objects: Objects): AgentsSnapshot => ({
    as_of: rfc3339(live.as_of),
    stale: !live.live,
    agents: live
      .agents()
      .filter(({ extension }) => reaches(objects, extension))
      .map(({ extension }) => agentOf(view, extension)),
  });
  const react = createReactions(reconciler);
  const stopDirectory = directory.onChange(() => reconciler.onDirectory());
  const close = async (): Promise<void> => {
    stopDirectory();
    await follower.close(CLOSE_MS);
    reconciler.close();
    await lanes.idle();
    await intents.flushed();
    intents.close();
  };
  const reads: Pick<Agents, 'act' | 'list' | 'one' | 'reasons'> = {
    act: (actor, request) => service.act(actor, request),
    list(who, { extension } = {}) {
      const seen = agentsOf(who);
      const asked = extension === undefined ? seen : reaches(seen, extension) ? [extension] : [];
      return shownTo(who, { success: true as const, ...snapshot(asked) });
    },
    one(who, extension) {
      if (!reaches(agentsOf(who), extension)) {
        throw new ServiceError('forbidden', say`you may not see the agent ${extension}`);
      }
      if (live.agent(extension) === undefined) {
        throw new ServiceError('not_found', say`${extension} is not an agent`);
      }
      const { as_of, stale } = snapshot([]);
      return shownTo(who, { success: true as const, as_of, stale, agent: agentOf(view, extension) });
    },
    reasons: () => directory.pauseReasons(),
  };
  return {
    ...reads,
    operations: agentOperations(reads, service, view),
    memberships: createMemberships(service, live),
    snapshot,
    onDomainEvent(event) {
      react(event);
      follower.onDomainEvent(event);
    },
    hold: () => reconciler.hold(),
    ensureSeedMembers: (members) => reconciler.seed(members),
    async idle() {
      await lanes.idle();
      await reconciler.idle();
      await follower.idle();
      await intents.flushed();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
