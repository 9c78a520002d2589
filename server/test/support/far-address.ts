/** Addresses of trunks' far sides, at which OPTIONS are answered and registrations refused from before the engine's start to the end of the file. */
import dgram from 'node:dgram';
import { once } from 'node:events';
import { freePort } from './ports.ts';
import {
  formatMessage,
  header,
  headersNamed,
  methodOf,
  parseMessage,
} from '../../src/adapters/asterisk/phone/message.ts';

export interface FarAddress {
  readonly host: string;
  readonly port: number;
}
const ANSWERS: Readonly<Record<string, string>> = {
  OPTIONS: 'SIP/2.0 200 OK',
  REGISTER: 'SIP/2.0 403 Forbidden',
};
interface Holder {
  readonly socket: dgram.Socket;
  /** Answers kept back; null while they are sent. */
  kept: (() => void)[] | null;
  /** Call-ID of each call that was tried, and how often its INVITE was sent. */
  readonly calls: Map<string, number>;
  /** Contact of each registration that was tried. */
  readonly contacts: Set<string>;
}
const held = new Map<FarAddress, Holder>();

async function hold(address: FarAddress): Promise<void> {
  const socket = dgram.createSocket('udp4');
  const holder: Holder = { socket, kept: null, calls: new Map(), contacts: new Set() };
  socket.on('message', (data, from) => {
    const request = parseMessage(data);
    if (!request) return;
    const call = header(request, 'call-id');
    if (methodOf(request) === 'INVITE') holder.calls.set(call, (holder.calls.get(call) ?? 0) + 1);
    if (methodOf(request) === 'REGISTER') holder.contacts.add(header(request, 'contact'));
    const start = ANSWERS[methodOf(request)];
    if (start === undefined) return;
    const headers = ['from', 'to', 'call-id', 'cseq'].map((name) => [name, header(request, name)] as const);
    const via = headersNamed(request, 'via').map((value) => ['via', value] as const);
    const answer = (): void =>
      socket.send(formatMessage({ start, headers: [...via, ...headers], body: '' }), from.port, from.address);
    if (holder.kept === null) answer();
    else holder.kept.push(answer);
  });
  socket.bind(address.port, address.host);
  await once(socket, 'listening');
  socket.unref();
  held.set(address, holder);
}

/**
 * Reserves a free port of this loopback host for the far side of a trunk. An unanswered OPTIONS times out after three
 * seconds, even if a later one succeeded, and Asterisk then does not dial the address for 20 s; so a socket answers
 * OPTIONS while no far side is open.
 */
export async function farAddress(host: string): Promise<FarAddress> {
  const address = { host, port: await freePort() };
  await hold(address);
  return address;
}

function holderOf(address: FarAddress): Holder {
  const holder = held.get(address);
  if (!holder)
    throw new Error(`nobody answers OPTIONS at ${address.host}:${address.port}, or a far side is open there`);
  return holder;
}
/**
 * The far side is silent, as a dead one is, until `speak`, which also answers what was asked meanwhile: an OPTIONS that is still
 * open would end the new reachability again.
 */
export function silence(address: FarAddress): { speak: () => void } {
  const holder = holderOf(address);
  holder.kept = [];
  return {
    speak() {
      for (const answer of holder.kept ?? []) answer();
      holder.kept = null;
    },
  };
}
/**
 * Number of calls that the engine tried there since the last far side was open there. None was answered, while OPTIONS are: as at a
 * far side that died since its last OPTIONS.
 */
export const callsAt = (address: FarAddress): number => holderOf(address).calls.size;
/**
 * How often the engine sent the INVITE of the last of these calls: at 0, 0.5, 1.5, 3.5, 7.5, 15.5 and 31.5 s (RFC 3261, timer A), while
 * it waits for an answer. A count by the engine's own clock is no measure of the machine.
 */
export const invitesAt = (address: FarAddress): number => [...holderOf(address).calls.values()].at(-1) ?? 0;
/** Contacts that the engine tried to register at the address since the last far side was open there. */
export const contactsAt = (address: FarAddress): readonly string[] => [...holderOf(address).contacts];
/** Lends the address to a far side, which calls `giveBack` after it closed its socket. */
export async function lend(address: FarAddress): Promise<{ giveBack: () => Promise<void> }> {
  const { socket } = holderOf(address);
  held.delete(address);
  socket.close();
  await once(socket, 'close');
  return { giveBack: () => hold(address) };
}
