import type { TestContext } from 'node:test';
import type { ChannelId } from '@offhook/contract/ids.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { createVirtualClock } from '../../src/adapters/memory/virtual-clock.ts';
import { ServiceError } from '../../src/core/errors.ts';
import type { KeyRights } from '../../src/rights/rights.ts';
import { silent } from '../../src/core/log.ts';
import { createLiveCalls } from '../../src/features/calls/live.ts';
import { callOperations } from '../../src/features/calls/operations.ts';
import { queueOperations } from '../../src/features/queues/operations.ts';
import { createQueues } from '../../src/features/queues/service.ts';
import type { QueueSettings } from '../../src/features/queues/view.ts';
import { addOperations } from '../../src/http/operations.ts';
import { createLiveView } from '../../src/journal/live.ts';
import { createModel } from '../../src/pbx/model.ts';
import { Scene, chan, channel, node, snapshot } from './model-scene.ts';
import type { AuditEntry } from '../../src/ports/audit.ts';
import type { QueuePlace, QueueVerbs } from '../../src/ports/engine-verbs.ts';
import type { ModelInput } from '../../src/ports/live.ts';
import { directoryFixture } from './directory-fixture.ts';
import { authenticatorWithKeys, hostFixture } from './host-fixture.ts';

const queue = (name: string, number: string, title: string): QueueSettings => ({
  name,
  number,
  title,
  strategy: 'ringall',
  ring_seconds: 15,
  wrap_up_seconds: 5,
  max_wait_seconds: 60,
});
/** Commands that the engine received. */
export type Asked =
  | { verb: 'take'; queue: string; caller: ChannelId; to: QueuePlace | null }
  | { verb: 'priority'; queue: string; caller: ChannelId; priority: number }
  | { verb: 'resync' };

/** Token `key-<name>` is an API key of `keys`. */
export interface QueuesRigOptions {
  readonly keys?: Readonly<Record<string, Partial<KeyRights>>>;
  /** Effect of a command in the engine; by default it is accepted without events. */
  readonly answer?: (asked: Exclude<Asked, { verb: 'resync' }>) => Promise<void> | void;
  /** Runs during a round trip; an error becomes that of the round trip. */
  readonly roundTrip?: () => Promise<void>;
  readonly confirm_ms?: number;
  readonly auditFails?: boolean;
}

/** The features queues and calls over a real model fed by a test, behind a real host. Queues: support (500), sales (510). */
export async function queuesRig(t: TestContext, options: QueuesRigOptions = {}) {
  const clock = createVirtualClock();
  const model = createModel();
  const live = createLiveView(model.view);
  const published: DomainEvent[] = [];
  const inputs: ModelInput[] = [];
  const asked: Asked[] = [];
  const trail: AuditEntry[] = [];
  const members: string[] = [];
  const scene = new Scene({ model });
  const send = scene.send.bind(scene);
  scene.send = (body, at) => {
    const out = send(body, at);
    published.push(...out);
    live.changed();
    return out;
  };
  const answer = async (one: Exclude<Asked, { verb: 'resync' }>): Promise<void> => {
    asked.push(one);
    await options.answer?.(one);
  };
  const verbs: QueueVerbs = {
    takeCaller: (name, caller, to) => answer({ verb: 'take', queue: name, caller, to }),
    setCallerPriority: (name, caller, priority) =>
      answer({ verb: 'priority', queue: name, caller, priority }),
  };
  const queues = createQueues({
    engine: {
      ...verbs,
      resync: () => void asked.push({ verb: 'resync' }),
      settled: async () => {},
      roundTrip: async () => options.roundTrip?.(),
    },
    live: live.view,
    directory: directoryFixture(),
    settings: () => [queue('support', '500', 'Support'), queue('sales', '510', 'Sales')],
    memberships: {
      join: async (by, extension, name) => void members.push(`${by.caller.username} +${extension} ${name}`),
      leave: async (by, extension, name) => void members.push(`${by.caller.username} -${extension} ${name}`),
    },
    audit: {
      record: async (entry) => {
        if (options.auditFails === true) throw new ServiceError('store_unavailable', 'the trail is full');
        trail.push(entry);
      },
    },
    clock,
    log: silent,
    tell(input) {
      inputs.push(input);
      published.push(...model.step(input));
      live.changed();
    },
    ...(options.confirm_ms === undefined ? {} : { confirm_ms: options.confirm_ms }),
  });
  const host = await hostFixture({
    authenticator: authenticatorWithKeys(options.keys),
  });
  const liveCalls = createLiveCalls(live.view, clock);
  const commands = addOperations(host.app, [queueOperations(queues), callOperations(liveCalls)]);
  await host.app.ready();
  t.after(() => host.close());

  const request = async (token: string, method: 'GET' | 'POST' | 'DELETE', url: string, body?: object) => {
    const reply = await host.app.inject({
      method,
      url: `/api/v1${url}`,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { payload: body }),
    });
    return { status: reply.statusCode, body: reply.json() as Record<string, never> & { code?: string } };
  };
  /** A caller from outside joins a queue. */
  const waits = (id: string, where = 'support', position = 1, priority: number | null = null): void => {
    if (model.state.channels.get(chan(id)) === undefined) {
      scene.created(id, { endpoint: 'trunk', caller: { number: `030555${id}`, name: `Caller ${id}` } });
      scene.state(id, 'up');
    }
    joins(id, where, position, priority);
  };
  const joins = (id: string, where: string, position = 1, priority: number | null = null): void =>
    void scene.send({
      type: 'queue.caller_joined',
      caller: { queue: where, channel: chan(id), position, joined_at: scene.at + 1000, priority },
    });
  /** The caller leaves without an answer: the engine's two frames. */
  const leaves = (id: string, where: string): void => {
    const ids = { queue: where, channel: chan(id) };
    scene.send({ type: 'queue.caller_abandoned', ...ids, hold_seconds: 1, position: 1 });
    scene.send({ type: 'queue.caller_left', ...ids });
  };
  /** The engine's snapshot of a queue's callers with their priorities. */
  const shows = (where: string, ...order: [id: string, priority: number][]): void =>
    void scene.send({
      type: 'engine.snapshot',
      why: 'resync',
      snapshot: snapshot({
        channels: [...model.state.channels.values()].map((ch) =>
          channel(ch.id.split(':')[1]!, { endpoint: ch.endpoint, caller: ch.caller, state: ch.state }),
        ),
        queues: [
          {
            name: where,
            strategy: 'ringall',
            members: [],
            callers: order.map(([id, priority], i) => ({
              queue: where,
              channel: chan(id),
              position: i + 1,
              joined_at: scene.at,
              priority,
            })),
          },
        ],
      }),
    });
  const cut = (): void =>
    void scene.send({ type: 'engine.link', node, up: false, reason: 'cut', boot_id: 'boot-1' });
  return {
    asked,
    clock,
    commands,
    cut,
    host,
    inputs,
    joins,
    leaves,
    liveCalls,
    members,
    model,
    queues,
    request,
    scene,
    shows,
    published,
    trail,
    waits,
  };
}
