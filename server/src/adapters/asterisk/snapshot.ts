import type { BridgeId, ChannelId, NodeId } from '@offhook/contract/ids.ts';
import { bridgeId, callId, channelId } from '@offhook/contract/ids.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import type {
  EngineChannel,
  EngineSnapshot,
  EngineTrunk,
  EngineTrunkServer,
  ParkedChannel,
  QueueCaller,
  QueueMember,
} from '../../ports/engine-state.ts';
import type { AmiConnection } from './ami/connection.ts';
import { ListVoid } from './ami/pending.ts';
import { header } from './ami/frame.ts';
import type { Frame } from './ami/frame.ts';
import { isHealthCall } from './health-call.ts';
import { LISTENING_CONTEXTS, NO_NUMBERS } from './conf/call-contexts.ts';
import { callerOf, connectedOf, need } from './events/decoding.ts';
import { deviceRow } from './events/device-state.ts';
import { H } from './events/headers.ts';
import { holderOf, isMusicOfHold } from './events/hold.ts';
import { bornAt, channelState, describeChannel } from './events/names.ts';
import { parkedRow } from './events/parking.ts';
import { memberRow } from './events/queue-member.ts';
import { contactRow, isTrunk, registrationRow } from './events/trunk.ts';
import { readHouse } from './actions/features-store.ts';

/*
 * Ping               Response: Success, Ping: Pong, Timestamp
 * CoreStatus         CoreStartupDate CoreStartupTime CoreReloadDate CoreReloadTime CoreCurrentCalls ...
 * CoreSettings       AMIversion AsteriskVersion ...
 * CoreShowChannels   CoreShowChannel: chan Application ApplicationData Duration BridgeId
 * BridgeList         BridgeListItem: bridge
 * ParkedCalls        ParkedCall: see events/parking.ts
 * QueueStatus        QueueParams: Queue Max Strategy Calls ...; QueueMember: see events/queue-member.ts;
 *                    QueueEntry: Queue Position Channel Uniqueid CallerIDNum CallerIDName ... Wait Priority
 * DeviceStateList    DeviceStateChange: Device State
 * PJSIPShow...       see events/trunk.ts
 * DBGetTree          see features-store.ts
 */
const startDate = header('CoreStartupDate');
const startTime = header('CoreStartupTime');
const version = header('AsteriskVersion');
const bridgeOf = header('BridgeId');
const duration = header('Duration');
const strategy = header('Strategy');
const wait = header('Wait');
const context = header('Context');
const application = header('Application');
const priority = header('Priority');

export interface Reading {
  /** Without `restarted`, which needs the snapshot before. */
  readonly snapshot: EngineSnapshot;
  /** The engine's own time just before the first list: what happened earlier is in the lists for certain. */
  readonly began_at: number;
  readonly version: string | null;
}

const DURATION = /^(\d{1,5}):(\d{2}):(\d{2})$/;
const durationMs = (text: string | undefined): number => {
  const m = DURATION.exec(text ?? '');
  return m ? ((Number(m[1]) * 60 + Number(m[2])) * 60 + Number(m[3])) * 1000 : 0;
};

const channelRow = (node: NodeId, frame: Frame, now: number): EngineChannel => {
  const name = need(frame, H.channel);
  const state = channelState(frame.int(H.channelState, -1));
  const caller = callerOf(frame);
  const connected = connectedOf(frame);
  const dialled = frame.get(H.exten) ?? '';
  const holder = holderOf(frame.get(context), frame.get(H.exten));
  const id = need(frame, H.uniqueid);
  return {
    id: channelId(node, id),
    call: callId(node, need(frame, H.linkedid)),
    name,
    ...describeChannel(name, frame.get(H.account)),
    state,
    caller,
    connected,
    dialled: NO_NUMBERS.has(dialled) || holder !== null ? '' : dialled,
    ...(LISTENING_CONTEXTS.has(frame.get(context) ?? '') ? { placed: 'listen' as const } : {}),
    created_at: bornAt(id) ?? now - durationMs(frame.get(duration)),
  };
};

/** Oldest first, as they were born: two of one second by the counter in their ids. */
const byBirth = (a: EngineChannel, b: EngineChannel): number =>
  a.created_at - b.created_at ||
  Number(a.id.slice(a.id.lastIndexOf('.') + 1)) - Number(b.id.slice(b.id.lastIndexOf('.') + 1)) ||
  0;

/** The trunks among these endpoints. One that the engine no longer has is left out. */
async function readTrunks(
  ami: Pick<AmiConnection, 'list'>,
  endpoints: readonly string[],
  signal: AbortSignal,
): Promise<EngineTrunk[]> {
  const trunks = endpoints.filter(isTrunk);
  if (trunks.length === 0) return [];
  const registrations = new Map<string, EngineTrunkServer['registration']>();
  await ami.list(
    'PJSIPShowRegistrationsOutbound',
    {},
    (event, frame) => {
      if (event !== 'OutboundRegistrationDetail') return;
      const [endpoint, server, registration] = registrationRow(frame);
      registrations.set(`${endpoint} ${server}`, registration);
    },
    { signal, counted: 'OutboundRegistrationDetail' },
  );
  const rows: EngineTrunk[] = [];
  for (const endpoint of trunks) {
    const servers: EngineTrunkServer[] = [];
    try {
      await ami.list(
        'PJSIPShowEndpoint',
        { Endpoint: endpoint },
        (event, frame) => {
          if (event !== 'ContactStatusDetail') return;
          const row = contactRow(frame);
          servers.push({ ...row, registration: registrations.get(`${endpoint} ${row.server}`) ?? null });
        },
        { signal },
      );
    } catch (error) {
      if (!(error instanceof ListVoid)) throw error;
      continue;
    }
    rows.push({ endpoint, servers: servers.toSorted((a, b) => (a.server < b.server ? -1 : 1)) });
  }
  return rows;
}

/**
 * Reads the whole state over the actions connection, list after list. Throws when any list cannot be trusted as a
 * whole (`ListVoid`), or when the connection ends: a part of a state is no state.
 */
export const readSnapshot = async (
  node: NodeId,
  ami: Pick<AmiConnection, 'action' | 'list'>,
  now: () => number,
  signal: AbortSignal,
): Promise<Reading> => {
  const ping = await ami.action('Ping', {}, { signal });
  const began_at = ping.frame.millis(H.timestamp) ?? now();
  const core = await ami.action('CoreStatus', {}, { signal });
  const [date, time] = [core.frame.get(startDate), core.frame.get(startTime)];
  if (!core.ok || date === undefined || time === undefined)
    throw new ListVoid(`CoreStatus: ${core.message || 'no start time came'}`);
  const settings = await ami.action('CoreSettings', {}, { signal });

  const channels: EngineChannel[] = [];
  const heldHere: ChannelId[] = [];
  const inBridge: { bridge: BridgeId; channel: ChannelId }[] = [];
  await ami.list(
    'CoreShowChannels',
    {},
    (event, frame) => {
      if (event !== 'CoreShowChannel' || isHealthCall(frame.get(H.uniqueid), frame.get(H.channel))) return;
      const channel = channelRow(node, frame, began_at);
      channels.push(channel);
      const holder = holderOf(frame.get(context), frame.get(H.exten));
      if (holder !== null && isMusicOfHold(frame.get(application))) heldHere.push(channelId(node, holder));
      const bridge = frame.get(bridgeOf);
      if (bridge !== undefined && bridge !== '')
        inBridge.push({ bridge: bridgeId(node, bridge), channel: channel.id });
    },
    { signal },
  );
  const holding = new Set<BridgeId>();
  if (inBridge.length > 0)
    await ami.list(
      'BridgeList',
      {},
      (event, frame) => {
        if (event !== 'BridgeListItem') return;
        if (frame.get(H.bridgeTechnology) === 'holding_bridge')
          holding.add(bridgeId(node, need(frame, H.bridge)));
      },
      { signal },
    );

  const parked: ParkedChannel[] = [];
  await ami.list(
    'ParkedCalls',
    {},
    (event, frame) => {
      if (event === 'ParkedCall') parked.push(parkedRow(node, frame, began_at));
    },
    { signal },
  );

  const queues = new Map<string, { strategy: string; members: QueueMember[]; callers: QueueCaller[] }>();
  const queueOf = (name: string): { strategy: string; members: QueueMember[]; callers: QueueCaller[] } => {
    let queue = queues.get(name);
    if (queue === undefined) queues.set(name, (queue = { strategy: '', members: [], callers: [] }));
    return queue;
  };
  await ami.list(
    'QueueStatus',
    {},
    (event, frame) => {
      const name = need(frame, H.queue);
      if (event === 'QueueParams') queueOf(name).strategy = frame.get(strategy) ?? '';
      else if (event === 'QueueMember') queueOf(name).members.push(memberRow(frame));
      else if (event === 'QueueEntry')
        queueOf(name).callers.push({
          queue: name,
          position: frame.int(H.position, 0),
          channel: channelId(node, need(frame, H.uniqueid)),
          joined_at: began_at - frame.int(wait, 0) * 1000,
          priority: frame.has(priority) ? frame.int(priority, 0) : null,
        });
    },
    { signal },
  );

  const devices: EngineSnapshot['devices'][number][] = [];
  await ami.list(
    'DeviceStateList',
    {},
    (event, frame) => {
      const row = event === 'DeviceStateChange' ? deviceRow(frame) : null;
      if (row !== null) devices.push(row);
    },
    { signal },
  );
  const trunks = await readTrunks(
    ami,
    devices.map(({ endpoint }) => endpoint),
    signal,
  );
  const house = await readHouse(ami, signal);

  return {
    began_at,
    version: settings.ok ? (settings.frame.get(version)?.split('+')[0] ?? null) : null,
    snapshot: {
      node,
      boot_id: `${date}T${time}`,
      restarted: null,
      channels: channels.sort(byBirth),
      bridged: inBridge.map((b) => ({ ...b, holding: holding.has(b.bridge) })),
      held_here: heldHere,
      parked,
      queues: Array.from(queues, ([name, q]) => ({ name, ...q })),
      devices,
      trunks,
      ...house,
    },
  };
};

/** Time for which a row of a list may still show a channel whose end was reported; afterwards the list decides, not the event. */
export const STALE_ROW_MS = 5_000;

/** The snapshot without channels that are known to have ended. */
export const withoutDead = (s: EngineSnapshot, dead: (id: ChannelId) => boolean): EngineSnapshot => ({
  ...s,
  channels: s.channels.filter((c) => !dead(c.id)),
  bridged: s.bridged.filter((b) => !dead(b.channel)),
  ...(s.parked === undefined ? {} : { parked: s.parked.filter((p) => !dead(p.channel)) }),
  queues: s.queues.map((q) => ({ ...q, callers: q.callers.filter((c) => !dead(c.channel)) })),
});

/**
 * The snapshot with the callers that were answered or gave up after `began_at` and so are missing in the queues, which are
 * read after the channels. Their held events follow, and these end only the visit of a caller that waits.
 */
export function withLeaving(
  s: EngineSnapshot,
  held: readonly EngineEvent[],
  began_at: number,
): EngineSnapshot {
  const listed = new Set(s.channels.map((c) => c.id));
  const known = new Set(s.queues.flatMap((q) => q.callers.map((c) => c.channel)));
  const leaving: QueueCaller[] = [];
  for (const e of held) {
    // A join that was held follows too.
    if (e.type === 'queue.caller_joined') known.add(e.caller.channel);
    if (e.type !== 'offer.accepted' && e.type !== 'queue.caller_abandoned') continue;
    const [channel, position] = e.type === 'offer.accepted' ? [e.caller, 1] : [e.channel, e.position];
    if (e.at < began_at || !listed.has(channel) || known.has(channel)) continue;
    known.add(channel);
    const joined_at = e.at - e.hold_seconds * 1000;
    leaving.push({ queue: e.queue, channel, position, joined_at, priority: null });
  }
  if (leaving.length === 0) return s;
  const queues = s.queues.map((queue) => {
    const callers = queue.callers.toSorted((a, b) => a.position - b.position);
    for (const one of leaving)
      if (one.queue === queue.name) callers.splice(Math.max(0, one.position - 1), 0, one);
    return { ...queue, callers: callers.map((one, i) => ({ ...one, position: i + 1 })) };
  });
  return { ...s, queues };
}

/**
 * The held events that a snapshot does not contain yet. Events older than `began_at`, which the lists contain for certain, and
 * new channels that are already in the lists are dropped; all others are applied again, and absolute states converge with the
 * last event. A channel that began and ended meanwhile keeps all its events.
 */
export const stillNews = (
  held: readonly EngineEvent[],
  snapshot: EngineSnapshot,
  began_at: number,
): EngineEvent[] => {
  const known = new Set(snapshot.channels.map((c) => c.id));
  const waiting = new Set(snapshot.queues.flatMap((q) => q.callers.map((c) => `${q.name} ${c.channel}`)));
  const born = new Set<ChannelId>();
  return held.filter((e): boolean => {
    switch (e.type) {
      case 'channel.created':
        if (known.has(e.channel.id)) return false;
        born.add(e.channel.id);
        return true;
      case 'queue.caller_joined':
        return !waiting.has(`${e.caller.queue} ${e.caller.channel}`);
      case 'channel.state':
      case 'channel.party':
      case 'channel.linked':
      case 'channel.renamed':
      case 'bridge.entered':
      case 'bridge.left':
        return e.at >= began_at || born.has(e.id);
      case 'queue.member':
      case 'queue.member_removed':
      case 'device.state':
      case 'trunk.contact':
      case 'trunk.registration':
      case 'extension.features':
      case 'phone.signed':
      case 'night_switch.changed':
        return e.at >= began_at;
      case 'engine.link':
      case 'engine.snapshot':
      case 'channel.held':
      case 'channel.recording':
      case 'channel.recording_paused':
      case 'channel.digit':
      case 'channel.listening':
      case 'channel.ending':
      case 'channel.hungup':
      case 'dial.begun':
      case 'dial.ended':
      case 'transfer.blind':
      case 'transfer.attended':
      case 'channel.picked_up':
      case 'channel.parked':
      case 'channel.unparked':
      case 'queue.caller_left':
      case 'queue.caller_abandoned':
      case 'offer.created':
      case 'offer.accepted':
      case 'offer.timeout':
      case 'agent.released':
      case 'phone.pin_refused':
        return true;
    }
  });
};
