import dgram from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { SrtpStream, cryptoLine, inlineOf, newInline } from './srtp.ts';

/** G.711 µ-law of one 16-bit sample. */
function encodeUlaw(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), 32_635) + 132;
  const exponent = Math.max(0, Math.floor(Math.log2(magnitude)) - 7);
  return ~(sign | (exponent << 4) | ((magnitude >> (exponent + 3)) & 0x0f)) & 0xff;
}
function decodeUlaw(byte: number): number {
  const b = ~byte & 0xff;
  const magnitude = (((b & 0x0f) << 3) + 132) << ((b >> 4) & 7);
  return (b & 0x80 ? -1 : 1) * (magnitude - 132);
}
const RATE = 8000;
const SAMPLES = 160;
const FRAME_MS = 20;
const EVENT_PAYLOAD = 101;
/** The engine discards frames that are later than this. */
const MOST_LATE_MS = 80;
const SILENCE = Buffer.alloc(SAMPLES, 0xff);
/** A tenth of a second of 440 Hz, which is 44 waves, cut into frames. */
const TONE = Array.from({ length: 5 }, (_, frame) =>
  Buffer.from(
    Array.from({ length: SAMPLES }, (_unused, i) =>
      encodeUlaw(Math.round(8000 * Math.sin((2 * Math.PI * 440 * (frame * SAMPLES + i)) / 8000))),
    ),
  ),
);
/** Bytes that distinguish the frames of the tone. */
const HEAD = 8;
const headOf = (frame: Buffer): string => frame.toString('latin1', 0, HEAD);
const POSITIONS = new Map(TONE.map((frame, i) => [headOf(frame), i]));
/** Takes the payloads of one call; returns how many frames of a tone were missing before each. */
function toneFollower(): (payload: Buffer) => number {
  let expected: number | undefined;
  return (payload) => {
    const position = POSITIONS.get(headOf(payload));
    const missing =
      position === undefined || expected === undefined
        ? 0
        : (position - expected + TONE.length) % TONE.length;
    expected = position === undefined ? undefined : (position + 1) % TONE.length;
    return missing;
  };
}
const DIGITS = '0123456789*#';

export interface MediaCounts {
  readonly sent: number;
  readonly received: number;
  /** Received packets with the mean amplitude of sound, not of silence or comfort noise. */
  readonly heard: number;
  /** Frames missing in the received tone of another such phone; five in a row are not seen. */
  readonly missing: number;
  /** Address at which the other side's description asks for media; empty before there is one. */
  readonly peer: string;
  /** Received packets encrypted with the other side's key; others are not counted as received. */
  readonly decrypted: number;
  /** The last second of received audio, 8,000 samples; fewer at the start. */
  readonly sound: readonly number[];
}

/** Media of one call: µ-law in both directions and RFC 2833 digits on a port of `host`. */
export interface Media {
  readonly counts: MediaCounts;
  /** SDP for an offer or answer. */
  sdp(direction?: 'sendrecv' | 'sendonly' | 'inactive'): string;
  /** Reads the other side's SDP and starts to send there. */
  connect(sdp: string): void;
  play(what: 'tone' | 'silence'): void;
  /** Resolves after the last digit was sent. */
  digits(text: string): Promise<void>;
  close(): void;
}

/** Carrier of the packets of a call: a port of this machine, or a relay elsewhere. */
export interface MediaWire {
  /** Address for the other side. */
  readonly host: string;
  readonly port: number;
  send(data: Buffer, port: number, host: string): void;
  receive(take: (data: Buffer) => void): void;
  close(): void;
}
/** Loopback address of the family of another address. */
export const nearHost = (host: string): string => (isIPv6(host) ? '::1' : '127.0.0.1');
export async function openWire(host: string): Promise<MediaWire> {
  const socket = dgram.createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  socket.bind(0, host);
  await once(socket, 'listening');
  socket.on('error', () => {});
  return {
    host,
    port: socket.address().port,
    send: (data, port, to) => socket.send(data, port, to),
    receive: (take) => void socket.on('message', take),
    close: () => void socket.close(),
  };
}
/** Opens the media of one call; without a wire at a port of `host`. */
export async function openMedia({
  srtp = false,
  host = '127.0.0.1',
  wire,
}: { readonly srtp?: boolean; readonly host?: string; readonly wire?: MediaWire } = {}): Promise<Media> {
  const socket = wire ?? (await openWire(host));
  const { host: shown, port } = socket;
  const family = isIPv6(shown) ? 'IP6' : 'IP4';
  const sound: number[] = [];
  const counts = { sent: 0, received: 0, heard: 0, missing: 0, decrypted: 0, peer: '', sound };
  const follow = toneFollower();
  const inline = srtp ? newInline() : null;
  const sending = inline === null ? null : new SrtpStream(inline);
  let receiving: SrtpStream | null = null;
  let theirs: string | undefined;
  const queued: Buffer[] = [];
  const waiting: (() => void)[] = [];
  let target: { host: string; port: number } | undefined;
  let kind: 'tone' | 'silence' = 'silence';
  let [sequence, timestamp, version, frame] = [0, 0, 1, 0];
  const ssrc = (Math.random() * 0xffffffff) >>> 0;

  const packet = (payloadType: number, payload: Buffer, marker: boolean, stamp: number): Buffer => {
    const head = Buffer.alloc(12);
    head[0] = 0x80;
    head[1] = payloadType | (marker ? 0x80 : 0);
    head.writeUInt16BE(sequence++ & 0xffff, 2);
    head.writeUInt32BE(stamp >>> 0, 4);
    head.writeUInt32BE(ssrc, 8);
    return Buffer.concat([head, payload]);
  };
  const tick = (): void => {
    if (!target) return;
    const event = queued.shift();
    const sound = kind === 'tone' ? TONE[frame++ % TONE.length]! : SILENCE;
    const data = event ?? packet(0, sound, counts.sent === 0, timestamp);
    timestamp += SAMPLES;
    socket.send(sending?.protect(data) ?? data, target.port, target.host);
    counts.sent += 1;
    if (queued.length === 0) for (const done of waiting.splice(0)) done();
  };
  let due = performance.now();
  // Timers are often late: missed frames are sent afterwards, so that a second has fifty packets.
  const timer = setInterval(() => {
    const now = performance.now();
    for (due = Math.max(due, now - MOST_LATE_MS); due <= now; due += FRAME_MS) tick();
  }, FRAME_MS / 2);
  socket.receive((packet) => {
    let data: Buffer = packet;
    if (srtp) {
      const plain = receiving?.unprotect(packet);
      if (plain === undefined || plain === null) return;
      counts.decrypted += 1;
      data = plain;
    }
    counts.received += 1;
    if ((data[1]! & 0x7f) !== 0) return;
    counts.missing += follow(data.subarray(12));
    let sum = 0;
    for (let i = 12; i < data.length; i += 1) {
      const sample = decodeUlaw(data[i]!);
      sum += Math.abs(sample);
      sound.push(sample);
    }
    if (sound.length > RATE) sound.splice(0, sound.length - RATE);
    if (sum / Math.max(1, data.length - 12) > 200) counts.heard += 1;
  });

  return {
    counts,
    sdp(direction = 'sendrecv') {
      return [
        'v=0',
        `o=- ${port} ${version++} IN ${family} ${shown}`,
        's=phone',
        `c=IN ${family} ${shown}`,
        't=0 0',
        `m=audio ${port} RTP/${srtp ? 'SAVP' : 'AVP'} 0 ${EVENT_PAYLOAD}`,
        ...(inline === null ? [] : [cryptoLine(inline)]),
        'a=rtpmap:0 PCMU/8000',
        `a=rtpmap:${EVENT_PAYLOAD} telephone-event/8000`,
        `a=fmtp:${EVENT_PAYLOAD} 0-16`,
        'a=ptime:20',
        `a=${direction}`,
        '',
      ].join('\r\n');
    },
    connect(sdp) {
      const host = /^c=IN IP[46] (\S+)/m.exec(sdp)?.[1];
      const remote = Number(/^m=audio (\d+)/m.exec(sdp)?.[1] ?? 0);
      const key = inlineOf(sdp);
      if (srtp && key !== undefined && key !== theirs) receiving = new SrtpStream((theirs = key));
      if (host && remote > 0) [target, counts.peer] = [{ host, port: remote }, host];
    },
    play(what) {
      kind = what;
    },
    digits(text) {
      for (const digit of text) {
        const code = DIGITS.indexOf(digit);
        if (code < 0) throw new Error(`${digit} is not a DTMF digit`);
        const stamp = timestamp + SAMPLES * queued.length;
        for (let i = 1; i <= 8; i += 1) {
          const over = i > 5 ? 0x80 : 0;
          const length = Math.min(i, 6) * SAMPLES;
          queued.push(
            packet(EVENT_PAYLOAD, Buffer.from([code, over | 10, length >> 8, length & 0xff]), i === 1, stamp),
          );
        }
        for (let i = 0; i < 5; i += 1) queued.push(packet(0, SILENCE, false, stamp + SAMPLES * (8 + i)));
      }
      return new Promise((done) => waiting.push(done));
    },
    close() {
      clearInterval(timer);
      for (const done of waiting.splice(0)) done();
      socket.close();
    },
  };
}
