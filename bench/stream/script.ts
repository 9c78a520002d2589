/** Events of the scripted engine and their due receivers, known to the load only. */
import { FIRST_EXTENSION } from '../recording.ts';
import { queueOf } from '../site-data.ts';

/** Agents of each queue: queue `q` has the agents `20 q` to `20 q + 19`. */
export const AGENTS_PER_QUEUE = 20;

/** Number of events in a log from which a client reads those that it missed. */
export const LOGGED = 120_000;

/** `wide`: every presence. `narrow`: one extension, and one queue. `board`: every queue. `none`: connected and nothing else. */
export type Topics = 'wide' | 'narrow' | 'board' | 'none';
export const extensionAt = (i: number): number => FIRST_EXTENSION + i;
export const queueAt = (i: number, queues: number): string =>
  queueOf(Math.floor(i / AGENTS_PER_QUEUE) % queues);
export function topicsOf(topics: Topics, client: number, extensions: number, queues: number): string[] {
  if (topics === 'none') return [];
  if (topics === 'wide') return ['presence'];
  if (topics === 'board') return ['queues'];
  const own = client % extensions;
  return [`presence/${extensionAt(own)}`, `queues/${queueAt(own, queues)}`];
}

/** Start of the script; the time of an event is its number in the script. */
const EPOCH_SECONDS = 1_795_219_200;
export const SCRIPT_MS = EPOCH_SECONDS * 1000;
/** `Timestamp` of the n-th event: n milliseconds after the start. */
const stamp = (n: number): string =>
  `${EPOCH_SECONDS + Math.floor(n / 1000)}.${String(n % 1000).padStart(3, '0')}000`;

/** State change of a phone: in use, or idle again. */
export function deviceFrame(n: number, i: number, up: boolean): string {
  return `Event: DeviceStateChange\r\nPrivilege: call,all\r\nTimestamp: ${stamp(n)}\r\nDevice: PJSIP/${extensionAt(i)}\r\nState: ${up ? 'INUSE' : 'NOT_INUSE'}\r\n\r\n`;
}
/** A caller joins or leaves a queue. */
export function callerFrame(n: number, queue: string, caller: number, joins: boolean): string {
  const id = `bench-${caller}`;
  return (
    `Event: ${joins ? 'QueueCallerJoin' : 'QueueCallerLeave'}\r\nPrivilege: agent,all\r\nTimestamp: ${stamp(n)}\r\n` +
    `Channel: PJSIP/trunk-${caller.toString(16).padStart(8, '0')}\r\nChannelState: 6\r\nChannelStateDesc: Up\r\n` +
    `CallerIDNum: 12025550143\r\nCallerIDName: A Customer\r\nConnectedLineNum: <unknown>\r\nConnectedLineName: <unknown>\r\n` +
    `Language: en\r\nAccountCode: \r\nContext: queues\r\nExten: 5000\r\nPriority: 1\r\nUniqueid: ${id}\r\nLinkedid: ${id}\r\n` +
    `Queue: ${queue}\r\nPosition: 1\r\nCount: ${joins ? 1 : 0}\r\n\r\n`
  );
}
