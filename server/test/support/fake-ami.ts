import net from 'node:net';

/** Headers of one frame in order; an array repeats its header. */
export type FakeHeaders = Readonly<Record<string, string | number | readonly string[]>>;
export interface FakeAction {
  readonly name: string;
  readonly id: string | undefined;
  /** Every header; of a repeated one, the last value. */
  readonly fields: Readonly<Record<string, string>>;
}
export interface FakeMember {
  name: string;
  interface: string;
  state_interface?: string;
  membership?: 'static' | 'dynamic' | 'realtime';
  penalty?: number;
  paused?: boolean;
  reason?: string;
  status?: number;
  in_call?: boolean;
  last_call?: number;
  last_pause?: number;
  login?: number;
}
export interface FakeQueue {
  strategy?: string;
  members: FakeMember[];
  callers?: { uniqueid: string; channel: string; position: number; wait: number }[];
}
export interface FakeChannel {
  name: string;
  uniqueid: string;
  linkedid?: string;
  /** 0 down, 4 ring, 5 ringing, 6 up. */
  state?: number;
  caller?: string;
  connected?: string;
  exten?: string;
  context?: string;
  /** What the channel runs. */
  application?: string;
  bridge?: string;
}
/** State of the fake engine; lists reply with the present values. */
export interface FakeState {
  /** Start time of this run, e.g. `2026-11-21T02:09:01`. */
  started: string;
  channels: FakeChannel[];
  queues: Record<string, FakeQueue>;
  /** State by device, e.g. `PJSIP/1001-web`. */
  devices: Record<string, string>;
  parked: (FakeChannel & { slot: string; seconds: number })[];
  contacts: { endpoint: string; uri: string; path?: string; status?: string }[];
  /** The engine's own store, e.g. `/offhook/1001/dnd`. */
  store: Record<string, string>;
}
export interface FakeSession {
  readonly user: string | null;
  /** True after it signed in and enabled events. */
  readonly listening: boolean;
  readonly socket: net.Socket;
  /** Every byte this session sent. */
  received(): Buffer;
  write(bytes: string | Buffer): void;
  answer(action: FakeAction, response: 'Success' | 'Error', headers?: FakeHeaders): void;
  event(name: string, headers: FakeHeaders): void;
}
export interface FakeAmiOptions {
  /** The greeting without its line end; empty for none. */
  readonly banner?: string;
  /** Secret by user; `e`/`e` and `a`/`a` by default. */
  readonly accounts?: Readonly<Record<string, string>>;
  /** False: signing in works, but the engine is not booted until `boot()`. */
  readonly booted?: boolean;
  readonly state?: Partial<FakeState>;
  /** Handles actions first; true if it replied. */
  readonly onAction?: (action: FakeAction, session: FakeSession) => boolean | void;
  /** Milliseconds since 1970 for `Timestamp`. */
  readonly now?: () => number;
  readonly port?: number;
}
export interface FakeAmi extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  readonly state: FakeState;
  /** Target for an engine adapter. */
  readonly target: {
    host: string;
    port: number;
    events: { user: string; secret: string };
    actions: { user: string; secret: string };
  };
  readonly sessions: readonly FakeSession[];
  /** Number of sessions so far, closed ones included. */
  readonly connections: number;
  /** Every action of every session, in order. */
  readonly actions: readonly FakeAction[];
  /** All bytes of all sessions, closed ones included. */
  received(): Buffer;
  /** Sends an event, with Privilege and Timestamp, to every session with events enabled. */
  event(name: string, headers: FakeHeaders, privilege?: string): void;
  /** Sends bytes unchanged to every session with events enabled. */
  raw(bytes: string | Buffer): void;
  boot(): void;
  /** As a stopped process: connections stay and are accepted, but nothing is answered until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Closes every session abruptly. */
  cut(): void;
  /** Accepts no new connections until `listen`. */
  refuse(): Promise<void>;
  listen(): Promise<void>;
  close(): Promise<void>;
}

const frame = (first: string, headers: FakeHeaders): string => {
  let text = `${first}\r\n`;
  for (const [key, value] of Object.entries(headers))
    for (const one of typeof value === 'object' ? value : [value]) text += `${key}: ${one}\r\n`;
  return `${text}\r\n`;
};
/** The real engine reads headers in any case; other clients sign in with small letters. */
const SIGN_IN = new Map(
  ['Action', 'ActionID', 'Username', 'Secret', 'Events'].map((n) => [n.toLowerCase(), n]),
);
const seconds = (ms: number): string => (ms / 1000).toFixed(6);
const bit = (value: boolean | undefined): number => (value === true ? 1 : 0);

const memberHeaders = (queue: string, m: FakeMember, live: boolean): FakeHeaders => ({
  Queue: queue,
  [live ? 'MemberName' : 'Name']: m.name,
  [live ? 'Interface' : 'Location']: m.interface,
  StateInterface: m.state_interface ?? m.interface,
  Membership: m.membership ?? 'dynamic',
  Penalty: m.penalty ?? 0,
  CallsTaken: 0,
  LastCall: m.last_call ?? 0,
  LastPause: m.last_pause ?? 0,
  LoginTime: m.login ?? 1_795_222_000,
  InCall: bit(m.in_call),
  Status: m.status ?? 1,
  Paused: bit(m.paused),
  PausedReason: m.reason ?? '',
  ...(live ? { Ringinuse: 1 } : {}),
  Wrapuptime: 0,
});

/** Headers of a channel in every event about it; `prefix` as in DestChannel. */
export const channelHeaders = (c: FakeChannel, prefix = ''): FakeHeaders => {
  const text = ['Down', 'Rsrvd', 'OffHook', 'Dialing', 'Ring', 'Ringing', 'Up'][c.state ?? 6] ?? 'Unknown';
  const plain = {
    Channel: c.name,
    ChannelState: c.state ?? 6,
    ChannelStateDesc: text,
    CallerIDNum: c.caller ?? '<unknown>',
    CallerIDName: '<unknown>',
    ConnectedLineNum: c.connected ?? '<unknown>',
    ConnectedLineName: '<unknown>',
    Language: 'en',
    AccountCode: '',
    Context: c.context ?? 'internal',
    Exten: c.exten ?? '',
    Priority: 1,
    Uniqueid: c.uniqueid,
    Linkedid: c.linkedid ?? c.uniqueid,
  };
  return Object.fromEntries(Object.entries(plain).map(([key, value]) => [prefix + key, value]));
};

/** Headers of a live member event, e.g. for `QueueMemberStatus`. */
export const memberEvent = (queue: string, m: FakeMember): FakeHeaders => memberHeaders(queue, m, true);

type Row = readonly [event: string, headers: FakeHeaders];
const listRows = (
  { name, fields }: FakeAction,
  state: FakeState,
): { complete: string; rows: Row[] } | null => {
  switch (name) {
    case 'CoreShowChannels':
      return {
        complete: 'CoreShowChannelsComplete',
        rows: state.channels.map((c) => [
          'CoreShowChannel',
          {
            ...channelHeaders(c),
            Application: c.application ?? 'Dial',
            ApplicationData: '',
            Duration: '00:00:07',
            BridgeId: c.bridge ?? '',
          },
        ]),
      };
    case 'BridgeList': {
      const bridges = new Set(state.channels.flatMap((c) => (c.bridge === undefined ? [] : [c.bridge])));
      return {
        complete: 'BridgeListComplete',
        rows: Array.from(bridges, (id): Row => [
          'BridgeListItem',
          {
            BridgeUniqueid: id,
            BridgeType: 'basic',
            BridgeTechnology: id.startsWith('hold') ? 'holding_bridge' : 'simple_bridge',
          },
        ]),
      };
    }
    case 'QueueStatus':
      return {
        complete: 'QueueStatusComplete',
        rows: Object.entries(state.queues).flatMap(([queue, q]): Row[] => [
          [
            'QueueParams',
            { Queue: queue, Max: 0, Strategy: q.strategy ?? 'ringall', Calls: q.callers?.length ?? 0 },
          ],
          ...q.members.map((m): Row => ['QueueMember', memberHeaders(queue, m, false)]),
          ...(q.callers ?? []).map((c): Row => [
            'QueueEntry',
            { Queue: queue, Position: c.position, Channel: c.channel, Uniqueid: c.uniqueid, Wait: c.wait },
          ]),
        ]),
      };
    case 'ParkedCalls':
      return {
        complete: 'ParkedCallsComplete',
        rows: state.parked.map(({ slot, seconds, ...parkee }) => [
          'ParkedCall',
          {
            ...channelHeaders(parkee, 'Parkee'),
            Parkinglot: 'default',
            ParkingSpace: slot,
            ParkingDuration: seconds,
          },
        ]),
      };
    case 'DeviceStateList':
      return {
        complete: 'DeviceStateListComplete',
        rows: Object.entries(state.devices).map(([Device, State]) => [
          'DeviceStateChange',
          { Device, State },
        ]),
      };
    case 'PJSIPShowContacts':
      return {
        complete: 'ContactListComplete',
        rows: state.contacts.map((c) => [
          'ContactList',
          {
            ObjectType: 'contact',
            Endpoint: c.endpoint,
            Uri: c.uri,
            Path: c.path ?? '',
            Status: c.status ?? 'Reachable',
          },
        ]),
      };
    case 'DBGetTree': {
      const { Family = '', Key = '' } = fields;
      const below = Key === '' ? `/${Family}/` : `/${Family}/${Key}/`;
      return {
        complete: 'DBGetTreeComplete',
        rows: Object.entries(state.store)
          .filter(([key]) => key.startsWith(below))
          .map(([key, Val]) => ['DBGetTreeResponse', { Key: key, Val }]),
      };
    }
    default:
      return null;
  }
};

/** An AMI server on loopback with raw TCP like the real one, and with faults on demand. */
export const startFakeAmi = async (options: FakeAmiOptions = {}): Promise<FakeAmi> => {
  const accounts = options.accounts ?? { e: 'e', a: 'a' };
  const banner = options.banner ?? 'Asterisk Call Manager/11.0.0';
  const now = options.now ?? Date.now;
  const state: FakeState = {
    started: '2026-11-21T02:09:01',
    channels: [],
    queues: {},
    devices: {},
    parked: [],
    contacts: [],
    store: {},
    ...options.state,
  };
  const sessions = new Set<FakeSession>();
  const actions: FakeAction[] = [];
  const everything: Buffer[] = [];
  let booted = options.booted ?? true;
  let frozen = false;
  let connections = 0;
  /** Input received while frozen. */
  let waiting: (() => void)[] = [];

  const toListeners = (bytes: string | Buffer): void => {
    for (const s of sessions) if (s.listening) s.write(bytes);
  };
  const live = (name: string, headers: FakeHeaders, privilege: string): string =>
    frame(`Event: ${name}`, { Privilege: privilege, Timestamp: seconds(now()), ...headers });
  const fullyBooted = (): string =>
    live('FullyBooted', { Status: 'Fully Booted', Uptime: 5, LastReload: 5 }, 'system,all');

  const memberAction = (action: FakeAction, session: FakeSession): void => {
    const { Queue: name = '', Interface: iface = '' } = action.fields;
    const queue = Object.hasOwn(state.queues, name) ? state.queues[name] : undefined;
    const found = queue?.members.find((m) => m.interface === iface);
    const no = (Message: string): void => session.answer(action, 'Error', { Message });
    const yes = (Message: string, event: string, member: FakeMember): void => {
      api.event(event, memberHeaders(name, member, true), 'agent,all');
      session.answer(action, 'Success', { Message });
    };
    const paused = action.fields['Paused'] === 'true';
    const stamp = Math.floor(now() / 1000);
    switch (action.name) {
      case 'QueuePause': {
        const reason = action.fields['Reason'] ?? '';
        let some = false;
        for (const [of, { members }] of Object.entries(state.queues)) {
          const member = members.find((m) => m.interface === iface);
          if (member === undefined || (name !== '' && of !== name)) continue;
          some = true;
          Object.assign(member, { paused, reason, last_pause: stamp });
          api.event('QueueMemberPause', memberHeaders(of, member, true), 'agent,all');
        }
        if (!some) return no('Interface not found');
        return session.answer(action, 'Success', {
          Message: `Interface ${paused ? '' : 'un'}paused successfully`,
        });
      }
      case 'QueueAdd': {
        if (queue === undefined) return no('Unable to add interface to queue: No such queue');
        if (found !== undefined) return no('Unable to add interface: Already there');
        const member: FakeMember = {
          name: action.fields['MemberName'] ?? iface,
          interface: iface,
          state_interface: action.fields['StateInterface'] ?? iface,
          penalty: Number(action.fields['Penalty'] ?? 0),
          paused,
          reason: action.fields['Reason'] ?? '',
          login: stamp,
          ...(paused ? { last_pause: stamp } : {}),
        };
        queue.members.push(member);
        return yes('Added interface to queue', 'QueueMemberAdded', member);
      }
      default:
        if (queue === undefined) return no('Unable to remove interface from queue: No such queue');
        if (found === undefined) return no('Unable to remove interface: Not there');
        if (found.membership === 'static') return no('Member not dynamic');
        queue.members.splice(queue.members.indexOf(found), 1);
        return yes('Removed interface from queue', 'QueueMemberRemoved', found);
    }
  };

  const handle = (
    action: FakeAction,
    session: FakeSession & { admit(user: string, mask: string): void },
  ): void => {
    if (options.onAction?.(action, session) === true) return;
    if (/^login$/i.test(action.name)) {
      const user = action.fields['Username'] ?? '';
      if (!Object.hasOwn(accounts, user) || accounts[user] !== action.fields['Secret']) {
        session.answer(action, 'Error', { Message: 'Authentication failed' });
        session.socket.end();
        return;
      }
      session.admit(user, action.fields['Events'] ?? 'on');
      session.answer(action, 'Success', { Message: 'Authentication accepted' });
      if (booted && session.listening) session.write(fullyBooted());
      return;
    }
    if (session.user === null) return session.answer(action, 'Error', { Message: 'Permission denied' });
    switch (action.name) {
      case 'Logoff':
        session.write(frame('Response: Goodbye', { Message: 'Thanks for all the fish.' }));
        session.socket.end();
        return;
      case 'Ping':
        return session.answer(action, 'Success', { Ping: 'Pong', Timestamp: seconds(now()) });
      case 'CoreStatus': {
        const [date = '', time = ''] = state.started.split('T');
        return session.answer(action, 'Success', { CoreStartupDate: date, CoreStartupTime: time });
      }
      case 'CoreSettings':
        return session.answer(action, 'Success', { AMIversion: '11.0.0', AsteriskVersion: '22.10.1+fake' });
      case 'QueuePause':
      case 'QueueAdd':
      case 'QueueRemove':
        return memberAction(action, session);
    }
    const list = listRows(action, state);
    if (list === null)
      return session.answer(action, 'Error', { Message: `Invalid/unknown command: ${action.name}.` });
    if (action.name === 'PJSIPShowContacts' && list.rows.length === 0)
      return session.answer(action, 'Error', { Message: 'No Contacts found' });
    const id = action.id === undefined ? {} : { ActionID: action.id };
    session.answer(action, 'Success', { EventList: 'start', Message: 'A list will follow' });
    let text = '';
    for (const [event, headers] of list.rows) text += frame(`Event: ${event}`, { ...id, ...headers });
    session.write(
      text + frame(`Event: ${list.complete}`, { ...id, EventList: 'Complete', ListItems: list.rows.length }),
    );
  };

  const accept = (socket: net.Socket): void => {
    connections++;
    const bytes: Buffer[] = [];
    let user: string | null = null;
    let mask = 'off';
    let text = '';
    const session = {
      get user() {
        return user;
      },
      get listening() {
        return user !== null && mask !== 'off';
      },
      socket,
      received: () => Buffer.concat(bytes),
      write(data: string | Buffer) {
        if (socket.writable) socket.write(data);
      },
      answer(action: FakeAction, response: 'Success' | 'Error', headers: FakeHeaders = {}) {
        const id = action.id === undefined ? {} : { ActionID: action.id };
        session.write(frame(`Response: ${response}`, { ...id, ...headers }));
      },
      event(name: string, headers: FakeHeaders) {
        session.write(live(name, headers, 'system,all'));
      },
      admit(name: string, events: string) {
        user = name;
        mask = events;
      },
    };
    sessions.add(session);
    const read = (): void => {
      // Like the real one, a bare LF ends a line, too, so that an injected line would show here.
      for (let end = /\r?\n\r?\n/.exec(text); end !== null; end = /\r?\n\r?\n/.exec(text)) {
        const lines = text.slice(0, end.index).split(/\r?\n/);
        text = text.slice(end.index + end[0].length);
        const fields: Record<string, string> = {};
        for (const line of lines) {
          const colon = line.indexOf(':');
          const name = line.slice(0, colon);
          if (colon > 0) fields[SIGN_IN.get(name.toLowerCase()) ?? name] = line.slice(colon + 1).trimStart();
        }
        const action: FakeAction = { name: fields['Action'] ?? '', id: fields['ActionID'], fields };
        actions.push(action);
        handle(action, session);
      }
    };
    const whenThawed = (work: () => void): void => {
      if (frozen) waiting.push(work);
      else work();
    };
    socket.on('data', (chunk: Buffer) => {
      bytes.push(chunk);
      everything.push(chunk);
      text += chunk.toString('utf8');
      whenThawed(read);
    });
    socket.on('error', () => {});
    socket.on('close', () => sessions.delete(session));
    if (banner !== '') whenThawed(() => session.write(`${banner}\r\n`));
  };

  const server = net.createServer({ noDelay: true }, accept);
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(options.port ?? 0);
  const { port } = server.address() as net.AddressInfo;

  const api: FakeAmi = {
    host: '127.0.0.1',
    port,
    state,
    target: {
      host: '127.0.0.1',
      port,
      events: { user: 'e', secret: 'e' },
      actions: { user: 'a', secret: 'a' },
    },
    get sessions() {
      return [...sessions];
    },
    get connections() {
      return connections;
    },
    actions,
    received: () => Buffer.concat(everything),
    event: (name, headers, privilege = 'call,all') => toListeners(live(name, headers, privilege)),
    raw: toListeners,
    boot() {
      booted = true;
      toListeners(fullyBooted());
    },
    freeze() {
      frozen = true;
    },
    thaw() {
      frozen = false;
      const work = waiting;
      waiting = [];
      for (const one of work) one();
    },
    cut() {
      for (const s of sessions) s.socket.destroy();
    },
    refuse: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        api.cut();
      }),
    listen: () => listen(port),
    async close() {
      if (server.listening) await api.refuse();
    },
    [Symbol.asyncDispose]: () => api.close(),
  };
  return api;
};

/** Most event-loop turns of an exchange over loopback inside one process. */
const TURNS = 25;
export const turns = async (n = TURNS): Promise<void> => {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** Advances a virtual clock in steps of half a second and lets the sockets run after each. */
export const pass = async (clock: { advance(ms: number): Promise<void> }, ms: number): Promise<void> => {
  await turns();
  for (let left = ms; left > 0; left -= 500) {
    await clock.advance(Math.min(500, left));
    await turns();
  }
};
