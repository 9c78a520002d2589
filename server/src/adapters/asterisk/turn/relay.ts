/** One relay of a TURN server, as a phone asks for it (RFC 8656, over UDP, IPv4). */
import { createHash } from 'node:crypto';
import dgram from 'node:dgram';
import { once } from 'node:events';
import type { MediaWire } from '../phone/media.ts';
import { mixedAddress, newId, readStun, stunMessage } from './stun.ts';
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
const TRANSPORT = 0x0019;
const UDP = Buffer.from([17, 0, 0, 0]);
const COOKIE = Buffer.from([0x21, 0x12, 0xa4, 0x42]);
const REPEAT_MS = 500;

/** Error code of a server that has no relay port left. */
const NO_PORTS = 508;
/** Error code of a server that still knows another relay of this local port. */
const MISMATCH = 437;
/** Largest number of local ports that are tried. */
const MOST_TRIES = 3;

type Attributes = readonly (readonly [number, Buffer])[];
/** An address as it is on the wire, where all but its family is mixed with the cookie. */
const mixed = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte, i) => byte ^ COOKIE[i % 4]!));
function addressText(port: number, host: string): Buffer {
  const head = Buffer.from([0, 1, (port >> 8) ^ 0x21, (port & 0xff) ^ 0x12]);
  return Buffer.concat([head, mixed(Buffer.from(host.split('.').map(Number)))]);
}
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
  const socket = dgram.createSocket('udp4');
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
  async function ask(type: number, attributes: Attributes): Promise<StunMessage> {
    const id = newId();
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
    const given = await ask(ALLOCATE, [[TRANSPORT, UDP]]);
    if (errorOf(given) === NO_PORTS) throw new NoRelayPorts();
    const relayed = mixedAddress(given.attributes.get(RELAYED) ?? Buffer.alloc(0), given.id);
    if (given.type !== (ALLOCATE | SUCCESS) || relayed === null)
      throw new Error(`it refuses a relay with ${errorOf(given)}`);
    const permitted = new Set<string>();
    return {
      ...relayed,
      send(data, port, host) {
        const peer = addressText(port, host);
        if (!permitted.has(host)) {
          permitted.add(host);
          void ask(PERMIT, [[PEER, peer]]).catch(() => undefined);
        }
        send(
          stunMessage(SEND, newId(), [
            [PEER, peer],
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
