/** One relay of a TURN server, as a phone asks for it (RFC 8656, over UDP). */
import { createHash } from 'node:crypto';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import type { MediaWire } from '../phone/media.ts';
import { mixAddress, mixedAddress, newId, readStun, stunMessage } from './stun.ts';
import type { StunMessage } from './stun.ts';

const ALLOCATE = 0x0003;
const REFRESH = 0x0004;
const PERMIT = 0x0008;
const SEND = 0x0016;
const DATA = 0x0017;
const SUCCESS = 0x0100;
const USERNAME = 0x0006;
const ERROR_CODE = 0x0009;
const PEER = 0x0012;
const PAYLOAD = 0x0013;
const LIFETIME = 0x000d;
const REALM = 0x0014;
const NONCE = 0x0015;
const RELAYED = 0x0016;
const FAMILY = 0x0017;
const TRANSPORT = 0x0019;
const UDP = Buffer.from([17, 0, 0, 0]);
const IPV6 = Buffer.from([2, 0, 0, 0]);
const REPEAT_MS = 500;

/** Error code of a server that has no relay address of the family. */
const NO_FAMILY = 440;
/** Error code of a server that has no relay port left. */
const NO_PORTS = 508;
/** Error code of a server that still has another relay of this local port. */
const MISMATCH = 437;
/** Largest number of local ports that are tried. */
const MOST_TRIES = 3;

type Attributes = readonly (readonly [number, Buffer])[];
const errorOf = ({ attributes }: StunMessage): number => {
  const value = attributes.get(ERROR_CODE);
  return value === undefined ? 0 : value[2]! * 100 + value[3]!;
};

/** Each port from which the server relays is in use. */
export class NoRelayPorts extends Error {
  constructor() {
    super('each relay port is in use');
  }
}
class PortIsKnown extends Error {}

interface TurnAddress {
  readonly host: string;
  readonly port: number;
}
interface TurnLogin {
  readonly username: string;
  readonly credential: string;
}
/** Throws with the reason where the server gives none within `ms`. */
export async function openRelay(server: TurnAddress, login: TurnLogin, ms: number): Promise<MediaWire> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await openOnce(server, login, ms);
    } catch (error) {
      // RFC 8656, 7.4: another port has to be taken.
      if (!(error instanceof PortIsKnown) || tries === MOST_TRIES) throw error;
    }
  }
}
async function openOnce(
  server: TurnAddress,
  { username, credential }: TurnLogin,
  ms: number,
): Promise<MediaWire> {
  const socket = dgram.createSocket(isIPv6(server.host) ? 'udp6' : 'udp4');
  socket.on('error', () => {});
  const waiting = new Map<string, (message: StunMessage) => void>();
  let take: (data: Buffer) => void = () => undefined;
  socket.on('message', (data) => {
    const message = readStun(data);
    const payload = message?.attributes.get(PAYLOAD);
    if (message?.type === DATA && payload !== undefined) take(payload);
    else if (message !== null) waiting.get(message.id.toString('hex'))?.(message);
  });
  const send = (data: Buffer): void => socket.send(data, server.port, server.host, () => {});
  let signing: { readonly attributes: Attributes; readonly key: Buffer } | null = null;
  async function ask(type: number, attributes: Attributes, id = newId()): Promise<StunMessage> {
    const data = stunMessage(type, id, [...attributes, ...(signing?.attributes ?? [])], signing?.key);
    const answer = Promise.withResolvers<StunMessage>();
    waiting.set(id.toString('hex'), answer.resolve);
    send(data);
    const again = setInterval(() => send(data), REPEAT_MS);
    const late = setTimeout(() => answer.reject(new Error(`no answer in ${ms / 1000} s`)), ms);
    try {
      return await answer.promise;
    } finally {
      clearInterval(again);
      clearTimeout(late);
      waiting.delete(id.toString('hex'));
    }
  }
  /** A relay that is not ended counts for the quota of its person for ten minutes more. */
  const endRelay = (): void => {
    const { attributes, key } = signing!;
    const data = stunMessage(REFRESH, newId(), [[LIFETIME, Buffer.alloc(4)], ...attributes], key);
    socket.send(data, server.port, server.host, () => socket.close());
  };
  try {
    socket.bind(0);
    await once(socket, 'listening');
    const challenge = await ask(ALLOCATE, [[TRANSPORT, UDP]]);
    const [realm, nonce] = [challenge.attributes.get(REALM), challenge.attributes.get(NONCE)];
    if (errorOf(challenge) === MISMATCH) throw new PortIsKnown('it knows another relay of this port');
    if (realm === undefined || nonce === undefined)
      throw new Error(`it asks for no credential and answers ${errorOf(challenge)}`);
    const key = createHash('md5').update(`${username}:${realm.toString()}:${credential}`).digest();
    signing = {
      key,
      attributes: [
        [USERNAME, Buffer.from(username)],
        [REALM, realm],
        [NONCE, nonce],
      ],
    };
    let given = await ask(ALLOCATE, [[TRANSPORT, UDP]]);
    // Like a browser it wants an IPv4 address, which a machine with IPv6 alone does not have.
    if (errorOf(given) === NO_FAMILY)
      given = await ask(ALLOCATE, [
        [TRANSPORT, UDP],
        [FAMILY, IPV6],
      ]);
    if (errorOf(given) === NO_PORTS) throw new NoRelayPorts();
    const relayed = mixedAddress(given.attributes.get(RELAYED) ?? Buffer.alloc(0), given.id);
    if (given.type !== (ALLOCATE | SUCCESS) || relayed === null)
      throw new Error(`it refuses a relay with ${errorOf(given)}`);
    const permitted = new Set<string>();
    return {
      ...relayed,
      send(data, port, host) {
        const peer = { host, port };
        if (!permitted.has(host)) {
          permitted.add(host);
          const id = newId();
          void ask(PERMIT, [[PEER, mixAddress(peer, id)]], id).catch(() => undefined);
        }
        const id = newId();
        send(
          stunMessage(SEND, id, [
            [PEER, mixAddress(peer, id)],
            [PAYLOAD, data],
          ]),
        );
      },
      receive: (next) => (take = next),
      close: endRelay,
    };
  } catch (error) {
    socket.close();
    throw error;
  }
}
