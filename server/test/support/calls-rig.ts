import type { TestContext } from 'node:test';
import type { NodeId, PersonLevel } from '@offhook/contract/ids.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { createVirtualClock } from '../../src/adapters/memory/virtual-clock.ts';
import { silent } from '../../src/core/log.ts';
import type { KeyRights } from '../../src/rights/rights.ts';
import { createCallControlFeature } from '../../src/features/calls/feature.ts';
import { callControlOperations } from '../../src/features/calls/operations.ts';
import { createIdempotencyStore } from '../../src/http/idempotency.ts';
import { addOperations } from '../../src/http/operations.ts';
import { createLiveView } from '../../src/journal/live.ts';
import { createModel } from '../../src/pbx/model.ts';
import { Scene, chan, node, site } from './model-scene.ts';
import type { AuditEntry } from '../../src/ports/audit.ts';
import type { CallVerbs, PlacedCall } from '../../src/ports/engine-verbs.ts';
import type { Caller } from '../../src/ports/http.ts';
import type { ModelInput } from '../../src/ports/live.ts';
import { temporaryStore } from '../conformance/store-temp.ts';
import { directoryFixture } from './directory-fixture.ts';
import { authenticatorWithKeys, hostFixture } from './host-fixture.ts';

/** One command as the engine received it; its options, the last argument, are separate. */
export interface Asked {
  readonly verb: keyof CallVerbs;
  readonly args: readonly unknown[];
  readonly action_id: string | undefined;
}
/** Token `key-<name>` is an API key of `keys`. */
export interface CallsRigOptions {
  /** Node of the engine of an extension; that of the site by default. */
  readonly nodeOf?: (extension: string) => NodeId;
  readonly keys?: Readonly<Record<string, Partial<KeyRights>>>;
  /** Effect of a command in the engine; by default it is accepted without events. */
  readonly answer?: (asked: Asked) => Promise<void> | void;
  readonly confirm_ms?: number;
  readonly mayListen?: (caller: Caller) => boolean;
}
const VERBS: readonly (keyof CallVerbs)[] = [
  'placeCall',
  'listenAs',
  'hangup',
  'blindTransfer',
  'consult',
  'swapConsult',
  'completeConsult',
  'cancelConsult',
  'hold',
  'retrieve',
  'park',
  'digit',
  'startRecording',
  'stopRecording',
  'pauseRecording',
];

/** Call control over a real model fed by a test and a real store, behind a real host; the engine only records commands. */
export async function callsRig(t: TestContext, options: CallsRigOptions = {}) {
  const temp = await temporaryStore();
  const clock = createVirtualClock();
  const model = createModel();
  const live = createLiveView(model.view);
  const published: DomainEvent[] = [];
  const inputs: ModelInput[] = [];
  const asked: Asked[] = [];
  const trail: AuditEntry[] = [];
  /** Legs recorded by a rule of the site. */
  const ruled = new Set<string>();
  /** Calls of the keeper of recordings. */
  const kept: (readonly [string, string])[] = [];
  const directory = directoryFixture();
  const scene = new Scene({ model, site: site(['1001', '1002', '1003', '1004', '1005', '1006']) });
  const hear = (events: readonly DomainEvent[]): void => {
    for (const event of events) {
      published.push(event);
      calls?.onDomainEvent(event);
    }
  };
  const send = scene.send.bind(scene);
  scene.send = (body, at) => {
    const out = send(body, at);
    hear(out);
    live.changed();
    return out;
  };
  const verbs = Object.fromEntries(
    VERBS.map((verb) => [
      verb,
      async (...all: unknown[]) => {
        const last = all.at(-1) as { action_id?: string } | undefined;
        const one = { verb, args: all.length > 1 ? all.slice(0, -1) : all, action_id: last?.action_id };
        asked.push(one);
        await options.answer?.(one);
      },
    ]),
  ) as unknown as CallVerbs;
  /** Session of each leg that listens, as the engine has it; sessions that have ended, and the present level of the others. */
  const origins = new Map<string, number>();
  const former = { ended: new Set<number>(), level: 'supervisor' as PersonLevel };
  const onEnded = new Set<() => void>();
  const endSession = (id: number): void => {
    former.ended.add(id);
    for (const listener of onEnded) listener();
  };
  const record = async (entry: AuditEntry): Promise<void> => void trail.push(entry);
  let calls: Awaited<ReturnType<typeof createCallControlFeature>> | undefined;
  const open = () =>
    createCallControlFeature({
      engine: {
        node,
        nodeOf: options.nodeOf ?? (() => node),
        ...verbs,
        sessionOf: async (id) => origins.get(id) ?? null,
        sipPortsOf: async () => [],
        settled: async () => {},
        roundTrip: async () => {},
      },
      live: live.view,
      directory,
      audit: { record, recordIn: (_trx, entry) => record(entry) },
      store: temp.store,
      recordings: {
        begin: async (leg) => (kept.push(['begin', leg.id]), 'name'),
        onDemand: (leg) => !ruled.has(leg),
        takeBack: async (name) => void kept.push(['take back', name]),
        paused: async (leg, on) => void kept.push([on ? 'paused' : 'resumed', leg]),
      },
      mayListen: options.mayListen ?? (() => true),
      sessions: {
        holders: async (ids) =>
          new Map(ids.filter((id) => !former.ended.has(id)).map((id) => [id, { level: former.level }])),
        onSessionEnded: (listener) => (onEnded.add(listener), () => void onEnded.delete(listener)),
      },
      clock,
      log: silent,
      numbers: () => ({
        services: ['600'],
        parking_lots: [{ number: '700', first_slot: 701, last_slot: 720 }],
      }),
      zone: 'Europe/Istanbul',
      tell(input) {
        inputs.push(input);
        hear(model.step({ ...input, at: Math.max(input.at, scene.at) }));
        live.changed();
      },
      publish: (events) => void published.push(...events),
      ...(options.confirm_ms === undefined ? {} : { confirm_ms: options.confirm_ms }),
    });
  calls = await open();
  const feature = calls;
  const host = await hostFixture({
    authenticator: authenticatorWithKeys(options.keys),
    idempotency: await createIdempotencyStore(temp.store, clock, Buffer.alloc(32, 7)),
  });
  const commands = addOperations(host.app, [callControlOperations(feature)]);
  await host.app.ready();
  t.after(async () => {
    await feature.close();
    await host.close();
    await temp[Symbol.asyncDispose]();
  });

  const request = async (
    token: string,
    method: 'GET' | 'POST' | 'PUT',
    url: string,
    body?: object,
    headers: Record<string, string> = {},
  ) => {
    const reply = await host.app.inject({
      method,
      url: `/api/v1${url}`,
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(body === undefined ? {} : { payload: body }),
    });
    return { status: reply.statusCode, body: reply.json() as Record<string, never> & { code?: string } };
  };
  /** `POST /api/v1/calls<url>`. */
  const post = (token: string, url: string, body: object = {}, headers: Record<string, string> = {}) =>
    request(token, 'POST', `/calls${url}`, body, headers);
  /** `1` of `from` talks to `2` of `to`; returns the id of the call. */
  const talk = (from = '1003', to = '1004', first = '1', second = '2'): string => {
    scene.created(first, { endpoint: from, dialled: to });
    scene.created(second, { endpoint: to, of: first });
    scene.state(second, 'ringing');
    for (const id of [second, first]) {
      scene.state(id, 'up');
      scene.enter(`b${first}`, id);
    }
    return chan(first);
  };
  /** The own device of the newest placed call rings; returns its channel id. */
  const rings = (extension: string, id = 'own'): string => {
    const placed = asked.findLast((a) => a.verb === 'placeCall')!.args[0] as PlacedCall;
    const [near, far] = placed.pair.map((one) => one.split(':')[1]!) as [string, string];
    const { does } = placed.part;
    const why = { placed: does === 'call' || does === 'pickup' ? does : 'listen' } as const;
    scene.created(near, { kind: 'local', pair: near, dialled: placed.number, ...why });
    scene.created(far, { kind: 'local', pair: near, of: near, dialled: placed.number, ...why });
    scene.created(id, { endpoint: extension, of: near });
    scene.state(id, 'ringing');
    return id;
  };
  /** Both halves of the newest placed call's pair end. */
  const pairEnds = (): void => {
    const placed = asked.findLast((a) => a.verb === 'placeCall')!.args[0] as PlacedCall;
    for (const one of placed.pair) scene.hangup(one.split(':')[1]!, 16);
  };
  const cut = (): void =>
    void scene.send({ type: 'engine.link', node, up: false, reason: 'cut', boot_id: 'boot-1' });
  const outcomes = () =>
    published.flatMap((e) =>
      e.type === 'operation.completed' ? [[e.data.action, e.data.state, e.data.code]] : [],
    );
  return {
    asked,
    calls: feature,
    clock,
    commands,
    cut,
    directory,
    endSession,
    former,
    inputs,
    kept,
    live: live.view,
    model,
    open,
    origins,
    outcomes,
    pairEnds,
    post,
    request,
    rings,
    ruled,
    scene,
    talk,
    published,
    trail,
  };
}
