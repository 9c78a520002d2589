import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { AgentChangeReply } from '@offhook/contract/agents.ts';
import type { AgentReply, AgentRequest } from '@offhook/contract/agents.ts';
import type { z } from 'zod';
import { createVirtualClock } from '../../src/adapters/memory/virtual-clock.ts';
import type { VirtualClock } from '../../src/adapters/memory/virtual-clock.ts';
import { openTestStore } from './test-store.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { silent } from '../../src/core/log.ts';
import { createAgents } from '../../src/features/agents/feature.ts';
import type { Agents, AgentsDeps } from '../../src/features/agents/feature.ts';
import type { AnyServed } from '../../src/ports/operations.ts';
import { NoFields } from '@offhook/contract/session.ts';
import type { Caller } from '../../src/ports/http.ts';
import type { Audit, AuditEntry } from '../../src/ports/audit.ts';
import type { Store } from '../../src/ports/store.ts';
import { directoryFixture } from './directory-fixture.ts';
import type { DirectoryFixture } from './directory-fixture.ts';
import { createFakePbx } from './fake-engine.ts';
import type { FakePbx } from './fake-engine.ts';

export interface AgentsRig {
  readonly clock: VirtualClock;
  readonly pbx: FakePbx;
  readonly directory: DirectoryFixture;
  readonly store: Store;
  readonly trail: AuditEntry[];
  agents: Agents;
  /** While set, every write to the store or the audit trail is rejected. */
  refuse: { store: boolean; audit: boolean };
  readonly act: (request: AgentRequest, extension?: string) => Promise<AgentReply>;
  /** The error of an action; a success fails the test. */
  readonly fails: (request: AgentRequest, extension?: string) => Promise<ServiceError>;
  /** Restarts the service on the same store; the engine keeps running. `between` runs while the service is down. */
  /** `node`: name of the node whose engine it finds; the same by default. */
  readonly restartService: (between?: () => void, node?: string) => Promise<void>;
  /** The same after a kill, without a clean end. */
  readonly killService: (between?: () => void) => Promise<void>;
  /** Runs an operation as a person of the fixture's company, or with an API key. */
  readonly run: (
    who: string | Caller,
    action: string,
    data?: object,
  ) => Promise<z.infer<typeof AgentChangeReply>>;
}

export interface RigOptions extends Partial<AgentsDeps> {
  readonly up?: boolean;
  /** The audit trail is written in the transaction of the intents. */
  readonly oneTransaction?: boolean;
}
/** The agents feature on a fake engine, a virtual clock and a real database; the engine is up unless `up` is false. */
export async function agentsRig(
  t: TestContext,
  { up = true, oneTransaction = false, ...more }: RigOptions = {},
): Promise<AgentsRig> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-agents-'));
  const clock = createVirtualClock();
  const pbx = createFakePbx(clock);
  const directory = directoryFixture();
  const refuse = { store: false, audit: false };
  const real = await openTestStore(path.join(folder, 'offhook.db'));
  const no = (): ServiceError => new ServiceError('store_unavailable', 'the disk is full');
  const store: Store = {
    ...real,
    transaction: (work) => (refuse.store ? Promise.reject(no()) : real.transaction(work)),
  };
  const trail: AuditEntry[] = [];
  const audit: Audit = {
    record(entry) {
      if (refuse.audit) return Promise.reject(no());
      trail.push(entry);
      return Promise.resolve();
    },
  };
  if (oneTransaction) {
    audit.recordIn = async (_trx, ...entries) => {
      for (const entry of entries) await audit.record(entry);
    };
  }
  const deps: AgentsDeps = {
    engine: pbx.engine,
    live: pbx.live,
    tell: (input) => pbx.tell(input),
    directory,
    audit,
    store,
    clock,
    log: silent,
    ...more,
  };
  const start = async (): Promise<Agents> => {
    const agents = await createAgents(deps);
    pbx.onEvent((event) => agents.onDomainEvent(event));
    return agents;
  };
  const actor = (extension: string) => ({ extension, username: `user${extension}`, ip: '127.0.0.1' });
  const rig: AgentsRig = {
    clock,
    pbx,
    directory,
    store,
    trail,
    refuse,
    agents: await start(),
    act: (request, extension = '1003') => rig.agents.act(actor(extension), request),
    async fails(request, extension) {
      const reply = await rig.act(request, extension).catch((error: unknown) => error);
      if (reply instanceof ServiceError) return reply;
      throw new Error(`expected an error, got ${JSON.stringify(reply)}`);
    },
    async restartService(between = () => {}, node) {
      await rig.agents.close();
      pbx.onEvent(() => {});
      pbx.linkDown();
      between();
      pbx.serviceRestarts(node);
      rig.agents = await start();
    },
    async killService(between = () => {}) {
      pbx.onEvent(() => {});
      pbx.linkDown();
      await rig.agents.close();
      between();
      pbx.serviceRestarts();
      rig.agents = await start();
    },
    async run(who, action, data = {}) {
      const { operations, handlers }: AnyServed = rig.agents.operations;
      const [name, op] = Object.entries(operations).find(
        ([, o]) => o.action === action || o.alias === action,
      )!;
      const caller = typeof who === 'string' ? callerOf(directory, who) : who;
      const { extension = caller.extension, ...body } = data as { extension?: string };
      const input = { params: op.params!.parse({ extension }), body: (op.body ?? NoFields).parse(body) };
      const reply = (await handlers[name]!({ caller, ip: '127.0.0.1' }, input)) as object;
      // As the host does.
      return AgentChangeReply.parse({ success: true, ...reply });
    },
  };
  t.after(async () => {
    await rig.agents.close();
    await real.close();
    await rm(folder, { recursive: true, force: true });
  });
  if (up) pbx.linkUp();
  await clock.advance(0);
  return rig;
}

export const callerOf = (directory: DirectoryFixture, extension: string): Caller => {
  const person = directory.byExtension(extension)!;
  return {
    session_id: person.id,
    person_id: person.id,
    extension,
    username: `user${extension}`,
    level: person.level,
    expires_at: Infinity,
    cookie: false,
    key: null,
  };
};

/** `queue show` of both queues. */
export const both = ({ pbx }: AgentsRig) => [pbx.shows('support'), pbx.shows('sales')];
/** Restarts the engine; `keeps` lists the members in its own database. */
export function engineRestarts(
  { pbx }: AgentsRig,
  keeps: Record<string, string | null> = {},
  options = {},
): void {
  pbx.linkDown();
  pbx.linkUp({
    restarted: true,
    ...options,
    change() {
      for (const queue of ['support', 'sales']) {
        for (const extension of ['1003', '1004']) {
          const row = pbx.row(queue, extension);
          const kept = keeps[`${queue}/${extension}`];
          if (row?.membership === 'static')
            pbx.member(queue, extension, { paused: false, paused_reason: '', paused_at: null });
          else if (kept === undefined) pbx.leave(queue, extension);
          else
            pbx.member(queue, extension, {
              paused: kept !== null,
              paused_reason: kept ?? '',
              paused_at: null,
            });
        }
      }
    },
  });
}
