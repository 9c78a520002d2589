import type { Placed } from '@offhook/contract/directions.ts';
import type { ChannelState, DeviceState, EngineChannel, Party } from '../../../ports/engine-state.ts';
import { DEVICE_STATES } from '../../../ports/engine-state.ts';
import { PLACE_CONTEXTS } from '../conf/call-contexts.ts';
import { ENGINE } from '../conf/elsewhere.ts';

/** Technology prefix of every SIP endpoint. */
export const PJSIP = 'PJSIP/';
const LOCAL = 'Local/';
/** Context whose extensions ring all devices of an agent; a queue member points there. */
const AGENT_CONTEXT = 'queue-agent';
const HINT_CONTEXT = 'hints';

/** An extension's name as a queue member, and the device whose state it follows. */
export const memberOf = (extension: string): { interface: string; state_interface: string } => ({
  interface: `${LOCAL}${extension}@${AGENT_CONTEXT}`,
  state_interface: `hint:${extension}@${HINT_CONTEXT}`,
});

const MEMBER = new RegExp(
  `^(?:Local/([0-9]{1,20})@${AGENT_CONTEXT}(?:/n)?|PJSIP/([0-9]{1,20})(?:-[a-z]+)?)$`,
);
/** The extension behind a queue member's interface; null when it is not ours. */
export const extensionOfMember = (iface: string): string | null => {
  const found = MEMBER.exec(iface);
  return found ? (found[1] ?? found[2] ?? null) : null;
};

const PLACED = new Map(
  (Object.keys(PLACE_CONTEXTS) as Placed[]).map((placed) => [PLACE_CONTEXTS[placed], placed]),
);
/** Id of the half at the calling engine: the account of both halves of a call between two engines. */
const FAR_HALF = /^[A-Za-z0-9_-]{1,40}:\d{9,12}\.\d{1,12}$/;
/**
 * Information in a channel's name: `PJSIP/1001-web-0000001a`, `Local/1001@queue-agent-00000003;1`, or a helper. A call to another
 * engine of the site is an internal pair, one half at each engine; its account is what they share.
 */
export const describeChannel = (
  name: string,
  account = '',
): Pick<EngineChannel, 'kind' | 'endpoint' | 'pair' | 'placed'> => {
  if (name.startsWith(PJSIP)) {
    // A channel about to end in a masquerade has a mark after its number and belongs to no device any more.
    const dash = name.lastIndexOf('-');
    if (dash > PJSIP.length && !name.endsWith('>')) {
      const endpoint = name.slice(PJSIP.length, dash);
      if (endpoint.startsWith(ENGINE))
        return { kind: 'local', endpoint, pair: FAR_HALF.test(account) ? account : null };
      return { kind: 'endpoint', endpoint, pair: null };
    }
  } else if (name.startsWith(LOCAL)) {
    const end = name.length - 2;
    if (name.endsWith(';1') || name.endsWith(';2')) {
      const placed = PLACED.get(name.slice(name.indexOf('@') + 1, name.lastIndexOf('-')));
      return {
        kind: 'local',
        endpoint: null,
        pair: name.slice(0, end),
        ...(placed === undefined ? {} : { placed }),
      };
    }
  }
  return { kind: 'other', endpoint: null, pair: null };
};

/**
 * Number of a SIP channel in its name; null for other channels. The engine counts only SIP channels here, but in channel ids
 * also its hidden channels: two for each conference, and one for each hint that it creates from a pattern, which a reload of
 * the dialplan repeats for each watched hint (tried with Asterisk 22.10).
 */
export function sipSerialOf(name: string): number | null {
  const digits = name.startsWith(PJSIP) ? /-([0-9a-f]{8})$/.exec(name)?.[1] : undefined;
  return digits === undefined ? null : Number.parseInt(digits, 16);
}

/** Channel states by number: Ring (4) is a caller who hears ringing, Ringing (5) a ringing device. */
const CHANNEL_STATES: readonly ChannelState[] = [
  'down',
  'down',
  'dialing',
  'dialing',
  'dialing',
  'ringing',
  'up',
];
export const channelState = (n: number): ChannelState => CHANNEL_STATES[n] ?? 'other';

/** Device states by app_queue's numbers 0 to 8. */
export const deviceStateOf = (n: number): DeviceState => DEVICE_STATES[n] ?? 'UNKNOWN';
const STATES: ReadonlySet<string> = new Set(DEVICE_STATES);
export const isDeviceState = (word: string): word is DeviceState => STATES.has(word);

const UNKNOWN = '<unknown>';
const text = (value: string | undefined): string => (value === undefined || value === UNKNOWN ? '' : value);
const nobody: Party = Object.freeze({ number: '', name: '' });
/** A party from the wire, without the engine's word for "unknown". */
export const party = (number: string | undefined, name: string | undefined): Party => {
  const [n, m] = [text(number), text(name)];
  return n === '' && m === '' ? nobody : { number: n, name: m };
};

const UNIQUE = /(?:^|-)(\d{9,11})\.\d+$/;
/** Creation time of a channel in ms, from the seconds in its id; null for an id that was assigned by us. */
export const bornAt = (uniqueid: string): number | null => {
  const found = UNIQUE.exec(uniqueid);
  return found ? Number(found[1]) * 1000 : null;
};
