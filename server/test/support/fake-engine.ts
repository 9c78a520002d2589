import type { DomainEvent } from '@offhook/contract/events.ts';
import { callId, channelId, nodeId } from '@offhook/contract/ids.ts';
import type { NodeId } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { createModel } from '../../src/pbx/model.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { FEATURES_OFF } from '../../src/ports/engine-state.ts';
import type { EngineEvent } from '../../src/ports/engine-events.ts';
import type {
  DeviceState,
  EngineChannel,
  ExtensionFeatures,
  QueueMember,
} from '../../src/ports/engine-state.ts';
import type { FeatureVerbs } from '../../src/ports/engine-verbs.ts';
import type { Engine } from '../../src/ports/engine.ts';
import type { LiveExtension, LiveView, ModelInput, SiteEvent } from '../../src/ports/live.ts';

/** One command as the engine received it. */
export type Sent =
  | { verb: 'pause'; queue: string; interface: string; paused: boolean; reason: string }
  | { verb: 'add'; queue: string; interface: string; paused: boolean; reason: string; penalty: number }
  | { verb: 'remove'; queue: string; interface: string };
/** Values of one extension that the engine was asked to store. */
export interface SentFeatures {
  readonly extension: string;
  readonly changes: Parameters<FeatureVerbs['keepFeatures']>[1];
  readonly changed_at: number;
}
/**
 * Effect of a command. `ok`: done and answered. `silent`: answered, without effect. `mute`: done, never answered. `hang`:
 * neither. `slow`: done, but the adapter's wait for the answer times out. `cut`: the link drops instead. `done-cut`:
 * done, then the link drops. `refuse`: refused with this text.
 */
export type Behaviour = 'ok' | 'silent' | 'slow' | 'mute' | 'hang' | 'cut' | 'done-cut' | { refuse: string };

/** A promise delays the engine until it settles. */
type Decide = (sent: Sent, index: number) => Behaviour | undefined | Promise<Behaviour>;

/** One ring of one agent, and its call. */
export interface FakeCall {
  readonly id: string;
  /** The agent answers. */
  answer(): void;
  /** No answer, or the caller gives up. */
  timeout(): void;
  /** The agent rejects it by hand; the queue reports no answer. */
  refuse(): void;
  cancel(): void;
  hold(held: boolean): void;
  /** The call ends with all its channels. */
  release(reason?: 'agent' | 'caller' | 'transfer'): void;
}

/** An engine scripted by a test under a real live model: queues, members, devices and queue calls. */
export interface FakePbx {
  readonly engine: Engine & FeatureVerbs;
  readonly live: LiveView;
  /** Every command so far. */
  readonly sent: Sent[];
  /** Every domain event so far, as in the journal. */
  readonly published: DomainEvent[];
  readonly sentFeatures: SentFeatures[];
  /** The engine's stored features by extension; a phone changes them with `keeps`. */
  readonly kept: Map<string, ExtensionFeatures>;
  /** A dialled code or a manual change of the store; reported unless the link is down. */
  keeps(extension: string, changes: Partial<ExtensionFeatures>): void;
  /** Decides the effect of the next values to store. */
  scriptFeatures(decide: () => Behaviour | 'half'): void;
  /** Decides the effect of each command; the default is `ok`. */
  /** Queues of each pause that was sent as one action. */
  readonly together: readonly (readonly string[])[];
  script(decide: Decide): void;
  /** Gives every domain event to `listener`, in order, after the live model has it. */
  onEvent(listener: (event: DomainEvent) => void): void;
  /** Delays events until called again with false, as a slow feed does. */
  holdEvents(hold: boolean): void;
  /** Passes a decision of the service to the model, in order with the facts. */
  tell(input: ModelInput): void;
  /** A change from outside the service: dialplan or CLI. */
  member(queue: string, extension: string, fields?: Partial<QueueMember>): void;
  leave(queue: string, extension: string): void;
  dropQueue(queue: string): void;
  addQueue(queue: string): void;
  row(queue: string, extension: string): QueueMember | undefined;
  /** `extension reason|ready` of every member of a queue, sorted, as in `queue show`. */
  shows(queue: string): string[];
  /** Directory state of an extension, whatever the state of its devices. */
  device(extension: string, fields: Partial<LiveExtension>): void;
  /** State of an extension's only device. */
  deviceState(extension: string, state: DeviceState): void;
  /** A queue rings an agent. */
  offer(queue: string, extension: string): FakeCall;
  /** The agent dials a number; returns a function that hangs up. */
  dials(extension: string, number: string): () => void;
  linkDown(): void;
  /** True while the outcome of an earlier command is unknown. */
  unsettled(open: boolean): void;
  /** Runs during a round trip; an error becomes that of the round trip. */
  onRoundTrip(next: () => void | Promise<void>): void;
  /** Restores the link; `restarted` starts the engine anew after `change` was made to its data. */
  linkUp(options?: { restarted?: boolean; change?: () => void; resyncedFirst?: boolean }): void;
  /** Moves an extension to the engine of another node, which `otherLinks` links. */
  home(extension: string, node: string): void;
  /** Restores the link to the engine of another node; `restarted` starts it anew after `change` was made to its data. */
  otherLinks(node: string, options?: { restarted?: boolean | null; change?: () => void }): void;
  /** Rebuilds the model from the events, as after a restart of the service, at this node or the same. */
  serviceRestarts(node?: string): void;
  readonly boot: string;
}

const WRAP_UP_SECONDS: Readonly<Record<string, number>> = { support: 5 };
const siteOf = (queues: readonly string[], at: number): SiteEvent => ({
  type: 'site.changed',
  at,
  extensions: ['1001', '1002', '1003', '1004', '1005', '1006'].map((extension) => ({
    extension,
    name: `Person ${extension}`,
    endpoints: [{ kind: 'sip', name: extension }],
  })),
  queues: queues.map((name) => ({
    name,
    agents: ['1003', '1004'],
    ring_seconds: 15,
    wrap_up_seconds: WRAP_UP_SECONDS[name] ?? 0,
    max_wait_seconds: 0,
  })),
  trunks: [],
  pause_reasons: [{ id: 'break', longest_seconds: 900 }],
  services: [],
});

export function createFakePbx(clock: Clock, queueNames: readonly string[] = ['support', 'sales']): FakePbx {
  let node = nodeId('ast1');
  const homes = new Map<string, string>();
  const otherBoots = new Map<string, number>();
  const queues = new Map<string, Map<string, QueueMember>>(queueNames.map((name) => [name, new Map()]));
  const devices = new Map<string, DeviceState>();
  const channels = new Map<string, EngineChannel>();
  const overrides = new Map<string, LiveExtension>();
  const sent: Sent[] = [];
  const sentFeatures: SentFeatures[] = [];
  const kept = new Map<string, ExtensionFeatures>();
  let decideFeatures: () => Behaviour | 'half' = () => 'ok';
  const published: DomainEvent[] = [];
  const waiters = new Set<() => void>();
  let model = createModel();
  let decide: Decide = () => 'ok';
  let isScripted = false;
  const together: string[][] = [];
  let listener: (event: DomainEvent) => void = () => {};
  let held: DomainEvent[] | null = null;
  let isLive = false;
  let boots = 1;
  let version = 1;
  let calls = 0;
  const changes: { version: number; extension: string }[] = [];
  model.step(siteOf(queueNames, clock.now()));

  const interfaceOf = (extension: string): string => `Local/${extension}@queue-agent`;
  const deliver = (events: readonly DomainEvent[]): void => {
    published.push(...events);
    for (const wake of waiters) wake();
    for (const event of events) {
      if (held) held.push(event);
      else queueMicrotask(() => listener(event));
    }
  };
  const step = (input: ModelInput): void => deliver(model.step(input));
  type Body = EngineEvent extends infer E ? (E extends { at: number } ? Omit<E, 'at'> : never) : never;
  /** A fact of the engine, lost while the link is down. */
  const fact = (body: Body): void => {
    if (isLive) step({ ...body, at: clock.now() } as EngineEvent);
  };
  const bootOf = (of: NodeId): string =>
    of === node ? `boot-${boots}` : `${of}-boot-${otherBoots.get(of) ?? 1}`;
  const snapshot = (why: 'connect' | 'resync', restarted: boolean | null, of = node): EngineEvent => ({
    at: clock.now(),
    type: 'engine.snapshot',
    why,
    snapshot: {
      node: of,
      boot_id: bootOf(of),
      restarted,
      channels: [...channels.values()],
      bridged: [],
      queues: [...queues].map(([name, rows]) => ({
        name,
        strategy: 'ringall',
        members: [...rows.values()],
        callers: [],
      })),
      devices: [...devices].map(([endpoint, state]) => ({ endpoint, state })),
      features: new Map(kept),
    },
  });
  const put = (row: QueueMember): void => {
    const rows = queues.get(row.queue);
    if (!rows) throw new Error(`the fake has no queue ${row.queue}`);
    const why = rows.has(row.interface) ? 'other' : 'added';
    rows.set(row.interface, row);
    fact({ type: 'queue.member', why, member: row });
  };
  const memberRow = (queue: string, extension: string, fields: Partial<QueueMember> = {}): QueueMember => ({
    queue,
    interface: interfaceOf(extension),
    extension,
    name: extension,
    membership: 'dynamic',
    paused: false,
    paused_reason: '',
    paused_at: null,
    login_at: clock.now(),
    last_call_at: null,
    in_call: false,
    penalty: 0,
    state: 'NOT_INUSE',
    ...fields,
  });
  const paused = (on: boolean, reason: string): Partial<QueueMember> =>
    on
      ? { paused: true, paused_reason: reason, paused_at: clock.now() }
      : { paused: false, paused_reason: '' };

  /** Performs a command like the real engine; throws its refusal. */
  const perform = (command: Sent): void => {
    const rows = queues.get(command.queue);
    const row = rows?.get(command.interface);
    if (command.verb === 'add') {
      if (!rows) throw new ServiceError('engine_refused', 'Unable to add interface to queue: No such queue');
      if (row) throw new ServiceError('engine_refused', 'Unable to add interface: Already there');
      const extension = /^Local\/(\d+)@/.exec(command.interface)?.[1] ?? '';
      put(
        memberRow(command.queue, extension, {
          penalty: command.penalty,
          ...paused(command.paused, command.reason),
        }),
      );
      return;
    }
    if (command.verb === 'pause') {
      if (!row) throw new ServiceError('engine_refused', 'Interface not found');
      put({ ...row, ...paused(command.paused, command.reason) });
      return;
    }
    if (!row) throw new ServiceError('engine_refused', 'Unable to remove interface: Not there');
    if (row.membership !== 'dynamic') {
      throw new ServiceError('engine_refused', 'Unable to remove interface: Member not dynamic');
    }
    rows!.delete(command.interface);
    fact({ type: 'queue.member_removed', queue: command.queue, interface: command.interface });
  };
  const link = (up: boolean, of = node): void =>
    step({
      at: clock.now(),
      type: 'engine.link',
      node: of,
      up,
      reason: up ? '' : 'cut by the test',
      boot_id: up ? bootOf(of) : '',
    });
  const linkDown = (): void => {
    isLive = false;
    link(false);
  };
  const never = (): Promise<never> => new Promise(() => {});
  const gone = (): ServiceError => new ServiceError('engine_unavailable', 'the engine is not connected');
  const send = async (command: Sent): Promise<void> => {
    if (!isLive) throw gone();
    sent.push(command);
    const behaviour = (await decide(command, sent.length - 1)) ?? 'ok';
    if (typeof behaviour === 'object') throw new ServiceError('engine_refused', behaviour.refuse);
    switch (behaviour) {
      case 'silent':
        return;
      case 'hang':
        return never();
      case 'cut':
        linkDown();
        throw gone();
      case 'done-cut':
        perform(command);
        linkDown();
        throw gone();
      case 'slow':
        perform(command);
        throw new ServiceError('engine_timeout', 'no answer came');
      case 'mute':
        perform(command);
        return never();
      case 'ok':
        perform(command);
    }
  };

  const keeps = (extension: string, changes: Partial<ExtensionFeatures>): void => {
    const features = { ...(kept.get(extension) ?? FEATURES_OFF), ...changes };
    kept.set(extension, features);
    fact({ type: 'extension.features', extension, features });
  };
  let unsettled = false;
  let duringRoundTrip: () => void | Promise<void> = () => {};
  const engine: Engine & FeatureVerbs = {
    async keepFeatures(extension, changes, changed_at) {
      if (!isLive) throw gone();
      sentFeatures.push({ extension, changes, changed_at });
      await Promise.resolve();
      const behaviour = decideFeatures();
      if (typeof behaviour === 'object') throw new ServiceError('engine_refused', behaviour.refuse);
      const stored = { ...(kept.get(extension) ?? FEATURES_OFF), ...changes, changed_at };
      if (behaviour === 'silent') return stored;
      if (behaviour === 'half') {
        // The link drops before the time was written.
        kept.set(extension, { ...(kept.get(extension) ?? FEATURES_OFF), ...changes });
        linkDown();
        throw gone();
      }
      if (behaviour !== 'cut') keeps(extension, { ...changes, changed_at });
      if (behaviour === 'ok') return stored;
      linkDown();
      throw gone();
    },
    get node() {
      return node;
    },
    nodeOf: (extension) => nodeId(homes.get(extension) ?? node),
    status: (of = node) => ({
      node: of,
      link: isLive ? 'up' : 'down',
      reason: isLive ? '' : 'cut by the test',
      since: 0,
      version: '22.10.1',
      boot_id: isLive ? bootOf(of) : null,
      counters: {
        frames: 0,
        unknown: 0,
        malformed: 0,
        oversize: 0,
        drift: 0,
        reconnects: 0,
        pending_actions: 0,
      },
    }),
    // eslint-disable-next-line require-yield
    async *events() {},
    resync: () => {},
    resynced: async () => {},
    async settled() {
      if (unsettled) throw new ServiceError('engine_unavailable', 'an earlier command is open');
    },
    async roundTrip() {
      await duringRoundTrip();
    },
    pauseMember: (queue, iface, on, reason) =>
      send({ verb: 'pause', queue, interface: iface, paused: on, reason }),
    async pauseEverywhere(queues, iface, on, reason) {
      together.push([...queues]);
      // A script decides for each queue.
      if (isScripted) throw new ServiceError('engine_refused', 'not all at once');
      await Promise.all(
        queues.map((queue) => send({ verb: 'pause', queue, interface: iface, paused: on, reason })),
      );
    },
    addMember: ({ queue, interface: iface, paused: on, reason, penalty }) =>
      send({ verb: 'add', queue, interface: iface, paused: on, reason, penalty }),
    removeMember: (queue, iface) => send({ verb: 'remove', queue, interface: iface }),
    memberOf: (extension) => ({
      interface: interfaceOf(extension),
      state_interface: `hint:${extension}@hints`,
    }),
    close: () => Promise.resolve(),
  };

  const live: LiveView = {
    get live() {
      return model.view.live;
    },
    get as_of() {
      return clock.now();
    },
    get presence_version() {
      return version;
    },
    extension: (extension) =>
      overrides.get(extension) ?? (devices.has(extension) ? model.view.extension(extension) : undefined),
    get features() {
      return model.view.features;
    },
    changedSince: (since) => changes.filter((c) => c.version > since).map((c) => c.extension),
    get switched() {
      return model.view.switched;
    },
    get signed() {
      return model.view.signed;
    },
    agent: (extension) => model.view.agent(extension),
    agents: () => model.view.agents(),
    queue: (name) => model.view.queue(name),
    queues: () => model.view.queues(),
    calls: () => [],
    parked: () => model.view.parked(),
    call: (id) => model.view.call(id),
    leg: (id) => model.view.leg(id),
    device: (endpoint) => model.view.device(endpoint),
    trunk: (name) => model.view.trunk(name),
    gone: (channel) => model.view.gone(channel),
    beside: (leg) => model.view.beside(leg),
    ledTo: (operationId) => model.view.ledTo(operationId),
    until(holds, { ms, waitingFor, signal }) {
      return new Promise((resolve, reject) => {
        const done = new AbortController();
        const finish = (settle: () => void): void => {
          waiters.delete(look);
          done.abort();
          settle();
        };
        const look = (): void => {
          if (!model.view.live) finish(() => reject(gone()));
          else if (holds()) finish(resolve);
        };
        waiters.add(look);
        clock.sleep(ms, done.signal).then(
          () =>
            finish(() =>
              reject(new ServiceError('engine_timeout', `No confirmation in ${ms} ms: ${waitingFor}`)),
            ),
          () => {},
        );
        signal?.addEventListener('abort', () => finish(() => reject(signal.reason as Error)), { once: true });
        look();
      });
    },
  };

  const presence = (extension: string, fields: Partial<LiveExtension>): void => {
    const idle: DeviceState = 'UNAVAILABLE';
    const was: LiveExtension = overrides.get(extension) ?? {
      extension,
      devices: { sip: idle, webrtc: idle, mobile: idle },
      reachability: 'offline',
      activity: 'idle',
      personal: 'not_set',
      note: null,
      expires_at: null,
      summary: 'offline',
      since: clock.now(),
    };
    overrides.set(extension, Object.freeze({ ...was, since: clock.now(), ...fields }));
    version += 1;
    changes.push({ version, extension });
  };
  const deviceState = (endpoint: string, state: DeviceState): void => {
    devices.set(endpoint, state);
    fact({ type: 'device.state', endpoint, state });
  };
  const open = (id: string, of: string, more: Partial<EngineChannel>): void => {
    const party = { number: more.endpoint ?? '', name: '' };
    const channel: EngineChannel = {
      id: channelId(node, id),
      call: callId(node, of),
      name: id,
      kind: 'endpoint',
      endpoint: null,
      pair: null,
      state: 'down',
      caller: party,
      connected: party,
      dialled: '',
      created_at: clock.now(),
      ...more,
    };
    channels.set(id, channel);
    fact({ type: 'channel.created', channel });
  };
  const up = (id: string): void => {
    const channel = channels.get(id)!;
    channels.set(id, { ...channel, state: 'up' });
    const { caller, connected } = channel;
    fact({ type: 'channel.state', id: channel.id, state: 'up', caller, connected });
  };
  const hangup = (id: string): void => {
    if (!channels.delete(id)) return;
    fact({ type: 'channel.hungup', id: channelId(node, id), cause: 16, cause_text: '' });
  };
  const offer = (queue: string, extension: string): FakeCall => {
    calls += 1;
    const [caller, half, device] = [`c${calls}`, `l${calls}`, `d${calls}`];
    const ids = {
      queue,
      interface: interfaceOf(extension),
      caller: channelId(node, caller),
      agent: channelId(node, half),
    };
    const row = (): QueueMember | undefined => queues.get(queue)?.get(ids.interface);
    open(caller, caller, { endpoint: 'trunk', state: 'up', dialled: '500' });
    open(half, caller, { kind: 'local', pair: half });
    fact({ type: 'offer.created', ...ids });
    open(device, caller, { endpoint: extension, state: 'ringing' });
    deviceState(extension, 'RINGING');
    const over = (): void => {
      for (const id of [half, device, caller]) hangup(id);
      deviceState(extension, 'NOT_INUSE');
    };
    return {
      id: callId(node, caller),
      answer() {
        up(device);
        fact({ type: 'offer.accepted', ...ids, hold_seconds: 1, ring_seconds: 1 });
        hangup(half);
        deviceState(extension, 'INUSE');
        const member = row();
        if (member !== undefined) put({ ...member, in_call: true });
      },
      timeout() {
        fact({ type: 'offer.timeout', ...ids, ring_seconds: 15 });
        over();
      },
      refuse() {
        fact({ type: 'offer.timeout', ...ids, ring_seconds: 2 });
        over();
      },
      cancel: over,
      hold(on) {
        fact({ type: 'channel.held', id: channelId(node, device), held: on });
      },
      release(reason = 'caller') {
        fact({ type: 'agent.released', ...ids, reason, talk_seconds: 1 });
        over();
        const member = row();
        if (member === undefined) return;
        const last_call_at = Math.floor(clock.now() / 1000) * 1000;
        put({ ...member, in_call: false, last_call_at });
      },
    };
  };

  return {
    engine,
    live,
    sent,
    together,
    sentFeatures,
    kept,
    keeps,
    scriptFeatures(next) {
      decideFeatures = next;
    },
    published,
    script(next) {
      decide = next;
      isScripted = true;
    },
    onEvent(next) {
      listener = next;
    },
    holdEvents(hold) {
      if (hold) {
        held ??= [];
        return;
      }
      const late = held ?? [];
      held = null;
      for (const event of late) queueMicrotask(() => listener(event));
    },
    tell: step,
    member(queue, extension, fields = {}) {
      const row = queues.get(queue)?.get(interfaceOf(extension));
      put({ ...(row ?? memberRow(queue, extension)), ...fields });
    },
    leave(queue, extension) {
      const iface = interfaceOf(extension);
      if (queues.get(queue)?.delete(iface)) fact({ type: 'queue.member_removed', queue, interface: iface });
    },
    dropQueue(queue) {
      queues.delete(queue);
      if (isLive) step(snapshot('resync', false));
    },
    addQueue(queue) {
      queues.set(queue, new Map());
      if (isLive) step(snapshot('resync', false));
    },
    row: (queue, extension) => queues.get(queue)?.get(interfaceOf(extension)),
    shows: (queue) =>
      [...(queues.get(queue)?.values() ?? [])]
        .map((row) => `${row.extension} ${row.paused ? row.paused_reason : 'ready'}`)
        .sort(),
    device: presence,
    deviceState,
    offer,
    dials(extension, number) {
      calls += 1;
      const id = `o${calls}`;
      open(id, id, { endpoint: extension, state: 'dialing', dialled: number });
      deviceState(extension, 'INUSE');
      return () => {
        hangup(id);
        deviceState(extension, 'NOT_INUSE');
      };
    },
    linkDown,
    unsettled(open) {
      unsettled = open;
    },
    onRoundTrip(next) {
      duringRoundTrip = next;
    },
    linkUp({ restarted = false, change = () => {}, resyncedFirst = false } = {}) {
      change();
      if (restarted) {
        boots += 1;
        channels.clear();
      }
      isLive = true;
      link(true);
      const events = model.step(snapshot('connect', restarted));
      const resynced = (e: DomainEvent): boolean => e.type === 'engine.resynced';
      deliver(resyncedFirst ? [...events.filter(resynced), ...events.filter((e) => !resynced(e))] : events);
    },
    home(extension, of) {
      homes.set(extension, of);
    },
    otherLinks(of, { restarted = false, change = () => {} } = {}) {
      const id = nodeId(of);
      link(false, id);
      const linked = isLive;
      isLive = false;
      change();
      isLive = linked;
      if (restarted === true) otherBoots.set(of, (otherBoots.get(of) ?? 1) + 1);
      link(true, id);
      step(snapshot('connect', restarted, id));
    },
    serviceRestarts(at = node) {
      node = nodeId(at);
      model = createModel();
      model.restore(null, published);
      model.step(siteOf(queueNames, clock.now()));
    },
    get boot() {
      return `boot-${boots}`;
    },
  };
}
