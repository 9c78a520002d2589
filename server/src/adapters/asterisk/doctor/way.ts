/** One way to the engine, proven by a phone that registers, has a call and receives its own sound. */
import type { PathFault, PathFinding, PathWay } from '@offhook/contract/path-check.ts';
import { messageOf } from '../../../core/errors.ts';
import { bracketed, plainHost } from '../../../core/networks.ts';
import type { Clock } from '../../../ports/clock.ts';
import { DOCTOR, DOCTOR_EXTEN, DOCTOR_WEB } from '../conf/call-contexts.ts';
import { openMedia } from '../phone/media.ts';
import type { Media, MediaWire } from '../phone/media.ts';
import { header, methodOf, statusOf, uriOf } from '../phone/message.ts';
import type { SipMessage } from '../phone/message.ts';
import { openTransport, randomTag } from '../phone/transport.ts';
import type { Dialog, SipTransport } from '../phone/transport.ts';
import { candidatesOf, openWebMedia } from '../phone/web-media.ts';
import type { WebMedia } from '../phone/web-media.ts';
import { NoRelayPorts, openRelay } from '../turn/relay.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}
/** Longest time of one step. */
export const STEP_MS = 5_000;
/** Life of a registration, which a killed doctor cannot end. */
const REGISTERED_SECONDS = 30;
const HEARD = 10;
const LOOK_MS = 20;
export const at = ({ host, port }: Address): string => `${bracketed(host)}:${port}`;
/** A name is shown with its address, of which it may have several. */
const shownAt = ({ server, reached }: Pick<Line, 'server' | 'reached'>): string =>
  at(server) + (server.host === reached ? '' : ` (${reached})`);

type Values = Readonly<Record<string, string>>;
/** A step that failed: its sentence, and the same by a code and its parts. */
export class Blocked extends Error {
  readonly fault: PathFault;
  readonly values: Values;
  constructor(fault: PathFault, values: Values, sentence: string) {
    super(sentence);
    this.fault = fault;
    this.values = values;
  }
}
/** Throws `late` unless the work is done in time; any other failure of it becomes part of that sentence. */
export async function within<T>(
  work: (signal: AbortSignal) => Promise<T>,
  late: Blocked,
  clock: Clock,
): Promise<T> {
  const ending = new AbortController();
  const given = new AbortController();
  const timeout = clock.sleep(STEP_MS, ending.signal).then(() => {
    throw late;
  });
  try {
    return await Promise.race([work(given.signal), timeout]);
  } catch (error) {
    if (error instanceof Blocked) throw error;
    const reason = messageOf(error);
    throw new Blocked(late.fault, { ...late.values, reason }, `${late.message}: ${reason}`);
  } finally {
    ending.abort();
    given.abort();
    timeout.catch(() => undefined);
  }
}
/**
 * Runs one way; a failure becomes its finding. A way without an answer is tried twice: a blocked port stays silent, whereas a busy
 * exchange answers the second time, and the finding names it.
 */
export async function findingOf(way: PathWay, work: () => Promise<string>): Promise<PathFinding> {
  try {
    const detail = await work().catch(async (error: unknown) => {
      if (!(error instanceof Blocked && error.fault === 'no_answer')) throw error;
      return `${await work()}, at the second try: the first had no answer in ${STEP_MS / 1000} s`;
    });
    return { way, ok: true, detail, fault: null, values: {} };
  } catch (error) {
    const detail = messageOf(error);
    return error instanceof Blocked
      ? { way, ok: false, detail, fault: error.fault, values: error.values }
      : { way, ok: false, detail, fault: 'failed', values: { reason: detail } };
  }
}

export interface Line {
  /** Name or address of the site, as phones have it. */
  readonly server: Address;
  /** The address of that name. */
  readonly reached: string;
  /** Whether its certificate has to be for that name. */
  readonly named: boolean;
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
  readonly protocol: 'UDP' | 'TCP' | 'TLS' | 'WebSocket';
  readonly ca?: string;
  /** Address of the WebSocket. */
  readonly web?: string;
  /** A browser opens its own. */
  readonly openWire?: () => Promise<MediaWire>;
  /** The way of the media, for the sentence. */
  readonly media: string;
}
/** Credentials of the phone, and how its sentences name the way of its signalling. */
interface Account {
  readonly name: string;
  readonly signalling: string;
  readonly values: Values;
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
  { name, signalling, values }: Account,
): Promise<{ readonly dialog: Dialog; readonly answer: SipMessage }> {
  const dialog: Dialog = {
    callId: randomTag(),
    local: `<sip:${name}@${at(server)}>;tag=${randomTag()}`,
    remote: `<sip:${DOCTOR_EXTEN}@${at(server)}>`,
    target: `sip:${DOCTOR_EXTEN}@${at(server)}`,
    cseq: 0,
  };
  const { response } = transport.send(dialog, 'INVITE', { body: media.sdp() });
  const late = new Blocked('call_unanswered', values, `a call over ${signalling} is not answered`);
  const answer = await within(() => response, late, clock);
  const status = answer.start.replace('SIP/2.0 ', '');
  if (statusOf(answer) !== 200)
    throw new Blocked('call_refused', { ...values, status }, `${signalling} refuses a call with ${status}`);
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
/** An address of the engine's answer at which it is not reached; null where each fits. */
function wrongAddress(
  answer: SipMessage,
  { server, reached: address }: Line,
  heard: boolean,
): Blocked | null {
  const reached = `it is reached at ${server.host}`;
  const values = (shown: string): Values => ({ shown, reached: server.host });
  const media = plainHost(/^c=IN IP[46] (\S+)/m.exec(answer.body)?.[1] ?? address);
  if (!heard && media !== address)
    return new Blocked(
      'wrong_media_address',
      values(media),
      `the engine gives ${media} as its address for media, but ${reached}: external_address or external_media_address of the network is wrong or missing`,
    );
  const contact = plainHost(hostOf(uriOf(header(answer, 'contact'))));
  if (![address, server.host].includes(contact))
    return new Blocked(
      'wrong_sip_address',
      values(contact),
      `the engine gives ${contact} as its address for SIP, but ${reached}: external_address of the network is wrong or missing`,
    );
  return null;
}
/** The same for a browser, which takes its way from the engine's candidates. */
function wrongCandidates(answer: SipMessage, { server, reached: address }: Line): Blocked | null {
  const shown = candidatesOf(answer.body, address).map(({ host }) => plainHost(host));
  if (shown.includes(address)) return null;
  const list = shown.join(', ') || 'none';
  return new Blocked(
    'wrong_ice_address',
    { shown: list, reached: server.host },
    `the engine gives browsers ${list} as its addresses for media, but it is reached at ${server.host}: ice_hosts of the network is wrong or missing`,
  );
}
/** Waits for the own sound; false without it. Throws when the engine ends the call. */
async function hears(
  media: Media,
  clock: Clock,
  ended: () => boolean,
  { signalling, values }: Account,
): Promise<boolean> {
  const { counts } = media;
  for (const until = clock.now() + STEP_MS; counts.heard < HEARD; await clock.sleep(LOOK_MS)) {
    if (ended()) throw new Blocked('call_ended', values, `a call over ${signalling} was ended by the engine`);
    if (clock.now() > until) return false;
  }
  return true;
}

async function connect(
  line: Line,
  { protocol, ca, web }: Tried,
  { name, signalling, values }: Account,
  onRequest: (m: SipMessage) => void,
): Promise<SipTransport> {
  const { server, reached, named, near, password, clock } = line;
  const late =
    web === undefined
      ? new Blocked(
          'no_connection',
          values,
          `${signalling} takes no connection: the port is blocked or wrong`,
        )
      : new Blocked(
          'no_upgrade',
          { url: web },
          `${web} takes no SIP over WebSocket: a proxy in front does not pass upgrades of /ws`,
        );
  return await within(
    (signal) =>
      openTransport({
        server: { host: reached, port: server.port, name: named ? server.host : null },
        username: name,
        password,
        ...(ca === undefined ? {} : { ca }),
        tcp: protocol === 'TCP',
        web,
        at: { host: near, port: 0 },
        onRequest,
        signal,
      }),
    late,
    clock,
  );
}
/** Reason why a phone does not receive its own sound. */
function silence(media: Media | WebMedia, tried: Tried, { server, rtp }: Line): Blocked {
  if ('stage' in media && (media.stage === 'keys' || media.stage === 'failed')) {
    const reason = media.stage === 'keys' ? `no answer in ${STEP_MS / 1000} s` : media.reason;
    return new Blocked(
      'no_keys',
      { reason },
      `the keys of encrypted media were not agreed (DTLS): ${reason}`,
    );
  }
  return rtp === undefined
    ? new Blocked(
        'no_media',
        { media: tried.media },
        `no media comes back ${tried.media}: UDP packets are blocked or go to a wrong address`,
      )
    : new Blocked(
        'no_media',
        { media: tried.media, ports: rtp, host: server.host },
        `no media comes back ${tried.media}: UDP ports ${rtp} of ${server.host} are blocked`,
      );
}
/** A call that is up is proven by its sound. Throws `Blocked`. */
async function proveSound(
  line: Line,
  tried: Tried,
  account: Account,
  { media, incoming, answer }: { media: Media; incoming: Incoming; answer: SipMessage | null },
): Promise<void> {
  const { clock } = line;
  const heard = await hears(media, clock, () => incoming.ended, account);
  // A browser finds its path without help, as long as the engine gives it an address that it can reach.
  const lost = !heard && 'stage' in media && media.stage === 'way' && line.rtp !== undefined;
  const wrong =
    answer === null
      ? null
      : tried.web === undefined
        ? wrongAddress(answer, line, heard)
        : lost
          ? wrongCandidates(answer, line)
          : null;
  if (wrong !== null) throw wrong;
  if (!heard) throw silence(media, tried, line);
}
function accountOf(line: Line, { protocol, web }: Tried): Account {
  const address = web ?? shownAt(line);
  return {
    name: web === undefined ? DOCTOR : DOCTOR_WEB,
    signalling: `SIP over ${protocol} at ${address}`,
    values: { protocol, address },
  };
}
/** Registers, has a call and waits for its own sound. Throws `Blocked`. */
export async function tryWay(line: Line, tried: Tried): Promise<string> {
  const { server, clock, call, near } = line;
  const account = accountOf(line, tried);
  const { signalling, values } = account;
  const media =
    tried.openWire === undefined
      ? await openWebMedia(near, clock.now())
      : await openMedia({ wire: await tried.openWire() });
  const incoming = new Incoming(media);
  let transport: SipTransport | undefined;
  let registered = false;
  const address = `<sip:${account.name}@${at(server)}>`;
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
    const final = await within(() => response, new Blocked('no_answer', values, sentence), clock);
    const { start: status } = final;
    if (statusOf(final) !== 200)
      throw new Blocked(
        'registration_refused',
        { ...values, status },
        `${signalling} refuses a registration with ${status}`,
      );
  };
  try {
    const phone: SipTransport = await connect(line, tried, account, (m) => incoming.take(m, phone));
    transport = phone;
    await register(phone, REGISTERED_SECONDS);
    registered = true;
    let answer: SipMessage | null = null;
    if (call === undefined) {
      const called = await callEcho(phone, media, line, account);
      incoming.dialog = called.dialog;
      answer = called.answer;
    } else {
      await call();
      const late = new Blocked('call_missing', values, `a call over ${signalling} does not arrive`);
      await within(() => incoming.invited.promise, late, clock);
    }
    await proveSound(line, tried, account, { media, incoming, answer });
    if (tried.web !== undefined)
      return `registered over ${tried.web}, called and heard itself encrypted ${tried.media}`;
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
export interface RelayWanted extends Pick<Line, 'server' | 'reached'> {
  readonly engineAt: (host: string, relay: string) => string;
}
/** A relay of the site's TURN server; `engineAt`: where it sends what is meant for the engine. */
export async function openMediaRelay(
  { server, reached, engineAt }: RelayWanted,
  login: { readonly username: string; readonly credential: string },
): Promise<MediaWire> {
  const address = shownAt({ server, reached });
  try {
    const relay = await openRelay({ host: reached, port: server.port }, login, STEP_MS);
    return { ...relay, send: (data, port, host) => relay.send(data, port, engineAt(host, relay.host)) };
  } catch (error) {
    if (error instanceof NoRelayPorts)
      throw new Blocked(
        'no_relay_ports',
        { address },
        `TURN at ${address} has no port left for a relay: turn_relay_ports of the network are too few`,
      );
    const reason = messageOf(error);
    throw new Blocked('no_relay', { address, reason }, `TURN at ${address} gives no relay: ${reason}`);
  }
}
