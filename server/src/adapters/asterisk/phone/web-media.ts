/** Media of a call as a browser has it: ICE finds the way, DTLS agrees on the keys, SRTP carries the sound. */
import { randomBytes } from 'node:crypto';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { isIP, isIPv6 } from 'node:net';
import { crc32 } from 'node:zlib';
import { messageOf } from '../../../core/errors.ts';
import { mixAddress, newId, readStun, stunMessage } from '../turn/stun.ts';
import type { StunMessage } from '../turn/stun.ts';
import { DtlsClient, newCertificate } from './dtls.ts';
import { openMedia } from './media.ts';
import type { Media } from './media.ts';
import { SrtpStream } from './srtp.ts';

export interface WebMedia extends Media {
  /** State of the sound; `open` once it may flow. `failed`: the keys could not be agreed, with the reason. */
  readonly stage: 'way' | 'keys' | 'open' | 'failed';
  readonly reason: string;
}
interface Peer {
  readonly host: string;
  readonly port: number;
}
const BINDING = 0x0001;
const BINDING_SUCCESS = 0x0101;
const USERNAME = 0x0006;
const MAPPED = 0x0020;
const PRIORITY = 0x0024;
const USE_CANDIDATE = 0x0025;
const CONTROLLING = 0x802a;
const FINGERPRINT = 0x8028;
const REPEAT_MS = 200;
/** Addresses of the engine that are tried. */
const MOST_PEERS = 20;
const MOST_ASKED = 20 * MOST_PEERS;
/** Of a host, RFC 8445 section 5.1.2. */
const HOST_PRIORITY = 2_130_706_431;

/** A message of STUN with the checksum that ICE needs after its signature. */
function checked(
  type: number,
  id: Buffer,
  attributes: Parameters<typeof stunMessage>[2],
  key: Buffer,
): Buffer {
  const signed = stunMessage(type, id, attributes, key);
  const whole = Buffer.concat([signed, Buffer.alloc(8)]);
  whole.writeUInt16BE(whole.length - 20, 2);
  whole.writeUInt16BE(FINGERPRINT, signed.length);
  whole.writeUInt16BE(4, signed.length + 2);
  whole.writeUInt32BE((crc32(whole.subarray(0, signed.length)) ^ 0x5354554e) >>> 0, signed.length + 4);
  return whole;
}
const attributeOf = (sdp: string, name: string): string =>
  sdp
    .split(/\r?\n/)
    .find((line) => line.startsWith(`a=${name}:`))
    ?.slice(name.length + 3) ?? '';
/** Addresses of the family of `own`, by UDP, at which the other side may be reached. */
export function candidatesOf(sdp: string, own: string): Peer[] {
  return sdp
    .split(/\r?\n/)
    .filter((line) => line.startsWith('a=candidate:'))
    .map((line) => line.split(' '))
    .filter(
      ([, component, protocol, , host = '']) =>
        component === '1' && protocol?.toLowerCase() === 'udp' && isIP(host) === isIP(own),
    )
    .map(([, , , , host = '', port]) => ({ host, port: Number(port) }))
    .slice(0, MOST_PEERS);
}

/**
 * The controlling side of ICE with one address of its own: the first of the other side's that answers is taken. Those that it
 * asks from are tried too, because an engine on loopback names none.
 */
class Ice {
  readonly name = randomBytes(4).toString('hex');
  readonly password = randomBytes(12).toString('hex');
  readonly #tie = randomBytes(8);
  readonly #asked = new Set<string>();
  readonly #own: string;
  readonly #send: (data: Buffer, to: Peer) => void;
  readonly #chosen: (peer: Peer) => void;
  #theirs = { name: '', password: '' };
  #peers: Peer[] = [];
  #found = false;

  constructor(own: string, send: (data: Buffer, to: Peer) => void, chosen: (peer: Peer) => void) {
    this.#own = own;
    this.#send = send;
    this.#chosen = chosen;
  }
  get found(): boolean {
    return this.#found;
  }
  begin(sdp: string): void {
    this.#theirs = { name: attributeOf(sdp, 'ice-ufrag'), password: attributeOf(sdp, 'ice-pwd') };
    this.#peers = candidatesOf(sdp, this.#own);
    this.ask();
  }
  /** Asks every address of the other side, until one has answered. */
  ask(): void {
    if (this.#found) return;
    if (this.#asked.size > MOST_ASKED) this.#asked.clear();
    const priority = Buffer.alloc(4);
    priority.writeUInt32BE(HOST_PRIORITY);
    const attributes = [
      [USERNAME, Buffer.from(`${this.#theirs.name}:${this.name}`)],
      [PRIORITY, priority],
      [CONTROLLING, this.#tie],
      [USE_CANDIDATE, Buffer.alloc(0)],
    ] as const;
    for (const peer of this.#peers) {
      const id = newId();
      this.#asked.add(id.toString('hex'));
      this.#send(checked(BINDING, id, attributes, Buffer.from(this.#theirs.password)), peer);
    }
  }
  receive(data: Buffer, from: Peer): void {
    const message = readStun(data);
    if (message === null) return;
    if (message.type === BINDING) {
      const name = message.attributes.get(USERNAME)?.toString('latin1');
      if (name === `${this.name}:${this.#theirs.name}`) this.#answer(message, from);
    } else if (
      message.type === BINDING_SUCCESS &&
      this.#asked.has(message.id.toString('hex')) &&
      !this.#found
    ) {
      this.#found = true;
      // A machine asked at one of its addresses may answer from another one.
      this.#chosen(from);
    }
  }
  #answer({ id }: StunMessage, from: Peer): void {
    const known = this.#peers.some(({ host, port }) => host === from.host && port === from.port);
    if (!known && this.#peers.length < MOST_PEERS) this.#peers.push(from);
    const mapped = mixAddress(from, id);
    this.#send(checked(BINDING_SUCCESS, id, [[MAPPED, mapped]], Buffer.from(this.password)), from);
  }
}
const familyOf = (host: string): string => (isIPv6(host) ? 'IP6' : 'IP4');
const sdpOf = ({ host, port }: Peer, ice: Ice, fingerprint: string): string =>
  [
    'v=0',
    `o=- ${port} 1 IN ${familyOf(host)} ${host}`,
    's=phone',
    `c=IN ${familyOf(host)} ${host}`,
    't=0 0',
    `m=audio ${port} UDP/TLS/RTP/SAVPF 0`,
    'a=rtpmap:0 PCMU/8000',
    'a=ptime:20',
    'a=rtcp-mux',
    'a=setup:active',
    `a=fingerprint:sha-256 ${fingerprint}`,
    `a=ice-ufrag:${ice.name}`,
    `a=ice-pwd:${ice.password}`,
    `a=candidate:1 1 udp ${HOST_PRIORITY} ${host} ${port} typ host`,
    'a=end-of-candidates',
    'a=sendrecv',
    '',
  ].join('\r\n');

/** Opens the media of one call at a port of `host`, which may be behind a router. */
export async function openWebMedia(host: string, now: number): Promise<WebMedia> {
  const socket = dgram.createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  socket.bind(0, host);
  await once(socket, 'listening');
  socket.on('error', () => {});
  const { port } = socket.address();
  const own = await newCertificate(now);
  let dtls: DtlsClient | null = null;
  let chosen: Peer | null = null;
  let fingerprint = '';
  let open: { readonly out: SrtpStream; readonly in: SrtpStream; readonly peer: Peer } | null = null;
  let reason = '';
  let take: (packet: Buffer) => void = () => undefined;
  const timers: NodeJS.Timeout[] = [];
  const send = (data: Buffer, to: Peer): void => socket.send(data, to.port, to.host, () => {});

  const inner = await openMedia({
    wire: {
      host,
      port,
      send(data) {
        if (open !== null) send(open.out.protect(data), open.peer);
      },
      receive: (next) => (take = next),
      close: () => void socket.close(),
    },
  });
  const agree = (peer: Peer): void => {
    const client = new DtlsClient(own, fingerprint, (data) => send(data, peer));
    dtls = client;
    chosen = peer;
    client.keys.then(
      ({ sending, receiving }) => {
        open = { out: new SrtpStream(sending), in: new SrtpStream(receiving), peer };
        inner.connect(`c=IN ${familyOf(peer.host)} ${peer.host}\r\nm=audio ${peer.port}\r\n`);
      },
      (error: unknown) => (reason = messageOf(error)),
    );
    client.start();
    timers.push(setInterval(() => client.again(), 2 * REPEAT_MS));
  };
  const ice = new Ice(host, send, agree);
  socket.on('message', (data, { address, port: from }) => {
    const first = data[0] ?? 0;
    if (first < 4) return ice.receive(data, { host: address, port: from });
    // Packets from another address are not from the engine.
    if (address !== chosen?.host || from !== chosen.port) return;
    if (first >= 20 && first < 64) dtls?.receive(data);
    else if (first >= 128 && ((data[1] ?? 0) & 0x7f) < 64) {
      const plain = open?.in.unprotect(data);
      if (plain !== undefined && plain !== null) take(plain);
    }
  });
  return {
    ...inner,
    get stage() {
      if (reason !== '') return 'failed';
      return open !== null ? 'open' : ice.found ? 'keys' : 'way';
    },
    get reason() {
      return reason;
    },
    sdp: () => sdpOf({ host, port }, ice, own.fingerprint),
    connect(sdp) {
      fingerprint = attributeOf(sdp, 'fingerprint').replace(/^sha-256 /i, '');
      ice.begin(sdp);
      timers.push(setInterval(() => ice.ask(), REPEAT_MS));
    },
    close() {
      for (const timer of timers) clearInterval(timer);
      inner.close();
    },
  };
}
