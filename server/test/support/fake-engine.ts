import type { DomainEvent } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../src/core/errors.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { DeviceState, Engine, QueueMember } from '../../src/ports/engine.ts';
import type { LiveAgent, LiveExtension, LiveQueue, LiveView } from '../../src/ports/live.ts';

/** One command as the engine got it. */
export type Sent =
  | { verb: 'pause'; queue: string; interface: string; paused: boolean; reason: string }
  | { verb: 'add'; queue: string; interface: string; paused: boolean; reason: string; penalty: number }
  | { verb: 'remove'; queue: string; interface: string };
/**
 * What the engine does with a command. `ok`: done and answered. `silent`: answered, nothing happens. `mute`: done, never answered.
 * `hang`: neither. `slow`: done, but the adapter gives up waiting for the answer. `cut`: the link drops instead. `done-cut`: done, then the link drops. A text: refused with it.
 */
export type Behaviour = 'ok' | 'silent' | 'slow' | 'mute' | 'hang' | 'cut' | 'done-cut' | { refuse: string };

/** A promise keeps the engine waiting until it is settled. */
type Decide = (sent: Sent, index: number) => Behaviour | undefined | Promise<Behaviour>;

/** An engine and the live model over it in one, that a test scripts: queues, members and devices, no calls. */
export interface FakePbx {
  readonly engine: Engine;
  readonly live: LiveView;
  /** Every command so far. */
  readonly sent: Sent[];
  /** Decides what happens to each command; the default is `ok`. */
  script(decide: Decide): void;
  /** Gives every domain event to `listener`, in order, after the live model shows it. */
  onEvent(listener: (event: DomainEvent) => void): void;
  /** Holds events back until called again with false, as a slow feed does. */
  holdEvents(hold: boolean): void;
  /** Somebody else changes the engine: dialplan or CLI. */
  member(queue: string, extension: string, fields?: Partial<QueueMember>): void;
  leave(queue: string, extension: string): void;
  dropQueue(queue: string): void;
  addQueue(queue: string): void;
  row(queue: string, extension: string): QueueMember | undefined;
  /** `extension reason|ready` of every member of a queue, sorted: what `queue show` would say. */
  shows(queue: string): string[];
  device(extension: string, fields: Partial<LiveExtension>): void;
  engagement(extension: string, engagement: LiveAgent['engagement']): void;
  linkDown(): void;
  /** The link returns; `restarted` gives the engine a new life after `change` was made to what it holds. */
  linkUp(options?: { restarted?: boolean; change?: () => void; resyncedFirst?: boolean }): void;
  readonly boot: string;
}

export function createFakePbx(clock: Clock, queueNames: readonly string[] = ['support', 'sales']): FakePbx {
  const node = nodeId('ast1');
  const queues = new Map<string, Map<string, QueueMember>>(queueNames.map((name) => [name, new Map()]));
  const devices = new Map<string, LiveExtension>();
  const engagements = new Map<string, LiveAgent['engagement']>();
  const sent: Sent[] = [];
  const waiters = new Set<() => void>();
  let decide: Decide = () => 'ok';
  let listener: (event: DomainEvent) => void = () => {};
  let held: DomainEvent[] | null = null;
  let isLive = false;
  let boots = 1;
  let version = 1;
  const changes: { version: number; extension: string }[] = [];

  const interfaceOf = (extension: string): string => `Local/${extension}@queue-agent`;
  const emit = (event: DomainEvent): void => {
    for (const wake of waiters) wake();
    if (held) held.push(event);
    else queueMicrotask(() => listener(event));
  };
  const agentEvent = (
    row: QueueMember,
    before: QueueMember | undefined,
    observed: 'live' | 'resync',
  ): void => {
    const { extension, queue } = row;
    if (extension === null) return;
    const base = { subject: `agents/${extension}`, at: clock.now(), observed };
    if (!before) emit({ ...base, type: 'agent.logged_in', data: { extension, queue } });
    if (row.paused) {
      const since = new Date(row.paused_at ?? clock.now()).toISOString();
      emit({
        ...base,
        type: 'agent.not_ready',
        data: { extension, queue, reason: row.paused_reason, since },
      });
    } else if (!before || before.paused) {
      emit({ ...base, type: 'agent.ready', data: { extension, queue } });
    }
  };
  const leftEvent = (queue: string, extension: string, observed: 'live' | 'resync'): void =>
    emit({
      type: 'agent.logged_out',
      subject: `agents/${extension}`,
      at: clock.now(),
      observed,
      data: { extension, queue },
    });
  const put = (row: QueueMember, observed: 'live' | 'resync' = 'live'): void => {
    const rows = queues.get(row.queue);
    if (!rows) throw new Error(`the fake has no queue ${row.queue}`);
    const before = rows.get(row.interface);
    rows.set(row.interface, row);
    if (isLive) agentEvent(row, before, observed);
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

  /** Answers like the real one; throws what it refuses. */
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
    leftEvent(command.queue, row.extension ?? '', 'live');
  };
  const linkDown = (): void => {
    isLive = false;
    emit({
      type: 'engine.link_down',
      subject: 'engine',
      at: clock.now(),
      observed: 'live',
      data: { node, reason: 'cut by the test' },
    });
  };
  const never = (): Promise<never> => new Promise(() => {});
  const gone = (): ServiceError => new ServiceError('engine_unavailable', 'The engine is not connected');
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

  const engine: Engine = {
    node,
    status: () => ({
      node,
      link: isLive ? 'up' : 'down',
      reason: isLive ? '' : 'cut by the test',
      since: 0,
      version: '22.10.1',
      boot_id: isLive ? `boot-${boots}` : null,
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
    pauseMember: (queue, iface, on, reason) =>
      send({ verb: 'pause', queue, interface: iface, paused: on, reason }),
    addMember: ({ queue, interface: iface, paused: on, reason, penalty }) =>
      send({ verb: 'add', queue, interface: iface, paused: on, reason, penalty }),
    removeMember: (queue, iface) => send({ verb: 'remove', queue, interface: iface }),
    memberOf: (extension) => ({
      interface: interfaceOf(extension),
      state_interface: `hint:${extension}@hints`,
    }),
    close: () => Promise.resolve(),
  };

  const membersOf = (extension: string): QueueMember[] =>
    [...queues.values()].flatMap((rows) => [...rows.values()].filter((r) => r.extension === extension));
  const queueView = (name: string): LiveQueue | undefined => {
    const rows = queues.get(name);
    return rows && { name, strategy: 'ringall', members: [...rows.values()], callers: [], offers: [] };
  };
  const live: LiveView = {
    get live() {
      return isLive;
    },
    get as_of() {
      return clock.now();
    },
    get presence_version() {
      return version;
    },
    extension: (extension) => devices.get(extension),
    changedSince: (since) => changes.filter((c) => c.version > since).map((c) => c.extension),
    agent(extension) {
      const members = membersOf(extension);
      if (members.length === 0 && !engagements.has(extension)) return undefined;
      const since = Math.max(0, ...members.map((m) => m.paused_at ?? m.login_at ?? 0));
      const engagement = engagements.get(extension) ?? 'idle';
      return { extension, members, engagement, readiness_since: since, since };
    },
    queue: queueView,
    queues: () => [...queues.keys()].map((name) => queueView(name)!),
    calls: () => [],
    call: () => undefined,
    leg: () => undefined,
    gone: () => false,
    until(holds, { ms, waitingFor, signal }) {
      return new Promise((resolve, reject) => {
        const done = new AbortController();
        const finish = (settle: () => void): void => {
          waiters.delete(look);
          done.abort();
          settle();
        };
        const look = (): void => {
          if (!isLive) finish(() => reject(gone()));
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
    const was: LiveExtension = devices.get(extension) ?? {
      extension,
      devices: { sip: idle, webrtc: idle, mobile: idle },
      reachability: 'offline',
      activity: 'idle',
      personal: 'not_set',
      note: null,
      summary: 'offline',
      since: clock.now(),
    };
    devices.set(extension, Object.freeze({ ...was, since: clock.now(), ...fields }));
    version += 1;
    changes.push({ version, extension });
  };

  return {
    engine,
    live,
    sent,
    script(next) {
      decide = next;
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
    member(queue, extension, fields = {}) {
      const row = queues.get(queue)?.get(interfaceOf(extension));
      put({ ...(row ?? memberRow(queue, extension)), ...fields });
    },
    leave(queue, extension) {
      if (queues.get(queue)?.delete(interfaceOf(extension)) && isLive) leftEvent(queue, extension, 'live');
    },
    dropQueue(queue) {
      const rows = [...(queues.get(queue)?.values() ?? [])];
      queues.delete(queue);
      for (const row of rows) if (isLive) leftEvent(queue, row.extension ?? '', 'resync');
    },
    addQueue: (queue) => void queues.set(queue, new Map()),
    row: (queue, extension) => queues.get(queue)?.get(interfaceOf(extension)),
    shows: (queue) =>
      [...(queues.get(queue)?.values() ?? [])]
        .map((row) => `${row.extension} ${row.paused ? row.paused_reason : 'ready'}`)
        .sort(),
    device: presence,
    engagement: (extension, engagement) => void engagements.set(extension, engagement),
    linkDown,
    linkUp({ restarted = false, change = () => {}, resyncedFirst = false } = {}) {
      const before = new Map([...queues].map(([name, rows]) => [name, new Map(rows)]));
      change();
      if (restarted) boots += 1;
      isLive = true;
      const boot_id = `boot-${boots}`;
      const base = { subject: 'engine', at: clock.now() };
      emit({ ...base, type: 'engine.link_up', observed: 'live', data: { node, boot_id } });
      const resynced = (): void =>
        emit({
          ...base,
          type: 'engine.resynced',
          observed: 'resync',
          data: { node, boot_id, restarted, differences: 0 },
        });
      if (resyncedFirst) resynced();
      for (const name of new Set([...before.keys(), ...queues.keys()])) {
        const [old, now] = [before.get(name) ?? new Map(), queues.get(name) ?? new Map()];
        for (const row of now.values()) {
          const was = old.get(row.interface);
          if (!was || was.paused !== row.paused || was.paused_reason !== row.paused_reason) {
            agentEvent(row, was, 'resync');
          }
        }
        for (const row of old.values()) {
          if (!now.has(row.interface)) leftEvent(name, row.extension ?? '', 'resync');
        }
      }
      if (!resyncedFirst) resynced();
    },
    get boot() {
      return `boot-${boots}`;
    },
  };
}
