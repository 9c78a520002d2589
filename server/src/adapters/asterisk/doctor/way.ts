/** One way to the engine, proven by a phone that registers, has a call and hears itself. */
import { lookup } from 'node:dns/promises';
import { messageOf } from '../../../core/errors.ts';
import { bracketed } from '../../../core/networks.ts';
import type { Clock } from '../../../ports/clock.ts';
import { DOCTOR, DOCTOR_EXTEN } from '../conf/call-contexts.ts';
import { openMedia } from '../phone/media.ts';
import type { Media, MediaWire } from '../phone/media.ts';
import { header, methodOf, statusOf, uriOf } from '../phone/message.ts';
import type { SipMessage } from '../phone/message.ts';
import { openTransport, randomTag } from '../phone/transport.ts';
import type { Dialog, SipTransport } from '../phone/transport.ts';
import { openRelay } from '../turn/relay.ts';

export type Way = 'udp' | 'tcp' | 'tls' | 'turn' | 'web';
export interface WayFinding {
  readonly way: Way;
  readonly ok: boolean;
  /** One sentence. */
  readonly detail: string;
}
export interface Address {
  readonly host: string;
  readonly port: number;
}
/** Longest time of one step. */
export const STEP_MS = 5_000;
const HEARD = 10;
const LOOK_MS = 20;
export const at = ({ host, port }: Address): string => `${bracketed(host)}:${port}`;

/** A step that failed, as one sentence. */
export class Blocked extends Error {}
export async function within<T>(
  work: (signal: AbortSignal) => Promise<T>,
  sentence: string,
  clock: Clock,
): Promise<T> {
  const late = new AbortController();
  const given = new AbortController();
  const timeout = clock.sleep(STEP_MS, late.signal).then(() => {
    throw new Blocked(sentence);
  });
  try {
    return await Promise.race([work(given.signal), timeout]);
  } catch (error) {
    throw error instanceof Blocked ? error : new Blocked(`${sentence}: ${messageOf(error)}`);
  } finally {
    late.abort();
    given.abort();
    timeout.catch(() => undefined);
  }
}
/** Runs one way; a failure becomes its finding. */
export async function findingOf(way: Way, work: () => Promise<string>): Promise<WayFinding> {
  try {
    return { way, ok: true, detail: await work() };
  } catch (error) {
    return { way, ok: false, detail: messageOf(error) };
  }
}

export interface Line {
  readonly server: Address;
  /** Own address of the signalling. */
  readonly near: string;
  readonly password: string;
  readonly clock: Clock;
  /** Has the engine call the account; without it the phone calls the engine. */
  readonly call?: () => Promise<void>;
  /** Media ports of the engine, for the sentence. */
  readonly rtp?: string;
}
export interface Tried {
  readonly protocol: 'UDP' | 'TCP' | 'TLS';
  readonly ca?: string;
  readonly openWire: () => Promise<MediaWire>;
  /** The way of the media, for the sentence. */
  readonly media: string;
}

/** Answers the engine's call; `invited` resolves with its acknowledgement. */
class Incoming {
  readonly invited = Promise.withResolvers<void>();
  ended = false;
  dialog: Dialog | null = null;
  readonly #media: Media;
  constructor(media: Media) {
    this.#media = media;
  }
  take(m: SipMessage, transport: SipTransport): void {
    const method = methodOf(m);
    if (method === 'INVITE') {
      const tag = randomTag();
      this.dialog = {
        callId: header(m, 'call-id'),
        local: `${header(m, 'to')};tag=${tag}`,
        remote: header(m, 'from'),
        target: uriOf(header(m, 'contact')),
        cseq: 0,
      };
      transport.reply(m, { status: 200, reason: 'OK', tag, body: this.#media.sdp() });
      this.#media.connect(m.body);
      this.#media.play('tone');
    } else if (method === 'ACK') this.invited.resolve();
    else {
      if (method === 'BYE') this.ended = true;
      transport.reply(m, { status: 200, reason: 'OK' });
    }
  }
}
/** Calls the echo of the engine; resolves with the dialog and the answer. */
async function callEcho(
  transport: SipTransport,
  media: Media,
  { server, clock }: Line,
  signalling: string,
): Promise<{ readonly dialog: Dialog; readonly answer: SipMessage }> {
  const dialog: Dialog = {
    callId: randomTag(),
    local: `<sip:${DOCTOR}@${at(server)}>;tag=${randomTag()}`,
    remote: `<sip:${DOCTOR_EXTEN}@${at(server)}>`,
    target: `sip:${DOCTOR_EXTEN}@${at(server)}`,
    cseq: 0,
  };
  const { response } = transport.send(dialog, 'INVITE', { body: media.sdp() });
  const answer = await within(() => response, `a call over ${signalling} is not answered`, clock);
  if (statusOf(answer) !== 200)
    throw new Blocked(`${signalling} refuses a call with ${answer.start.replace('SIP/2.0 ', '')}`);
  dialog.remote = header(answer, 'to');
  transport.ack(dialog, dialog.cseq);
  dialog.target = uriOf(header(answer, 'contact'));
  media.connect(answer.body);
  media.play('tone');
  return { dialog, answer };
}

/** Host of a SIP address, without user, port and parameters. */
function hostOf(uri: string): string {
  const [place = ''] = uri.slice(uri.indexOf(uri.includes('@') ? '@' : ':') + 1).split(';', 1);
  return place.startsWith('[') ? place.slice(1).split(']', 1)[0]! : place.split(':', 1)[0]!;
}
/** Sentence on an address of the engine's answer at which it is not reached; null where each fits. */
async function wrongAddress(answer: SipMessage, server: Address, heard: boolean): Promise<string | null> {
  const { address } = await lookup(server.host);
  const reached = `it is reached at ${server.host}`;
  const media = /^c=IN IP[46] (\S+)/m.exec(answer.body)?.[1] ?? address;
  if (!heard && media !== address)
    return `the engine gives ${media} as its address for media, but ${reached}: external_address or external_media_address of the network is wrong or missing`;
  const contact = hostOf(uriOf(header(answer, 'contact')));
  if (![address, server.host].includes(contact))
    return `the engine gives ${contact} as its address for SIP, but ${reached}: external_address of the network is wrong or missing`;
  return null;
}
/** Waits for the own sound; false without it. Throws when the engine ends the call. */
async function hears(media: Media, clock: Clock, ended: () => boolean, signalling: string): Promise<boolean> {
  const { counts } = media;
  for (const until = clock.now() + STEP_MS; counts.heard < HEARD; await clock.sleep(LOOK_MS)) {
    if (ended()) throw new Blocked(`a call over ${signalling} was ended by the engine`);
    if (clock.now() > until) return false;
  }
  return true;
}

async function connect(
  line: Line,
  { protocol, ca }: Tried,
  signalling: string,
  onRequest: (m: SipMessage) => void,
): Promise<SipTransport> {
  const { server, near, password, clock } = line;
  return await within(
    (signal) =>
      openTransport({
        server,
        username: DOCTOR,
        password,
        ...(ca === undefined ? {} : { ca }),
        tcp: protocol === 'TCP',
        at: { host: near, port: 0 },
        onRequest,
        signal,
      }),
    `${signalling} takes no connection: the port is blocked or wrong`,
    clock,
  );
}
/** Registers, has a call and hears what it sends. Throws `Blocked`. */
export async function tryWay(line: Line, tried: Tried): Promise<string> {
  const { server, clock, call, rtp } = line;
  const signalling = `SIP over ${tried.protocol} at ${at(server)}`;
  const media = await openMedia({ wire: await tried.openWire() });
  const incoming = new Incoming(media);
  let transport: SipTransport | undefined;
  let registered = false;
  const address = `<sip:${DOCTOR}@${at(server)}>`;
  const registration: Dialog = {
    callId: randomTag(),
    local: `${address};tag=${randomTag()}`,
    remote: address,
    target: `sip:${at(server)}`,
    cseq: 0,
  };
  const register = async (phone: SipTransport, seconds: number): Promise<void> => {
    const headers = [['expires', String(seconds)]] as const;
    const { response } = phone.send(registration, 'REGISTER', { headers });
    const sentence = `${signalling} does not answer: the port is blocked or wrong`;
    const final = await within(() => response, sentence, clock);
    if (statusOf(final) !== 200)
      throw new Blocked(`${signalling} refuses a registration with ${final.start}`);
  };
  try {
    const phone: SipTransport = await connect(line, tried, signalling, (m) => incoming.take(m, phone));
    transport = phone;
    await register(phone, 60);
    registered = true;
    let answer: SipMessage | null = null;
    if (call === undefined) {
      const called = await callEcho(phone, media, line, signalling);
      incoming.dialog = called.dialog;
      answer = called.answer;
    } else {
      await call();
      await within(() => incoming.invited.promise, `a call over ${signalling} does not arrive`, clock);
    }
    const heard = await hears(media, clock, () => incoming.ended, signalling);
    const wrong = answer === null ? null : await wrongAddress(answer, server, heard);
    if (wrong !== null) throw new Blocked(wrong);
    if (!heard)
      throw new Blocked(
        rtp === undefined
          ? `no media comes back ${tried.media}: UDP packets are blocked or go to a wrong address`
          : `no media comes back ${tried.media}: UDP ports ${rtp} of ${server.host} are blocked`,
      );
    return `registered, ${call === undefined ? 'called' : 'was called'} and heard itself ${tried.media}`;
  } finally {
    media.close();
    if (transport !== undefined) {
      if (incoming.dialog !== null && !incoming.ended) void transport.send(incoming.dialog, 'BYE').response;
      if (registered) await register(transport, 0).catch(() => undefined);
      await transport.close();
    }
  }
}
/** A relay of the site's TURN server; `reached`: where it sends what is meant for the engine. */
export async function openMediaRelay(
  server: Address,
  login: { readonly username: string; readonly credential: string },
  reached: (host: string, relay: string) => string,
): Promise<MediaWire> {
  try {
    const relay = await openRelay(server, login, STEP_MS);
    return { ...relay, send: (data, port, host) => relay.send(data, port, reached(host, relay.host)) };
  } catch (error) {
    throw new Blocked(`TURN at ${at(server)} gives no relay: ${messageOf(error)}`);
  }
}
