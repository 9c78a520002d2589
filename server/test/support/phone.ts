/**
 * A scripted desk phone: a small SIP user agent that acts only on a test's command. It exchanges real SIP
 * and media with a real engine.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { lend } from './far-address.ts';
import type { FarAddress } from './far-address.ts';
import { newCall, ok, recordedRoutes } from './sip/call.ts';
import type { LiveCall } from './sip/call.ts';
import { nearHost, openMedia } from '../../src/adapters/asterisk/phone/media.ts';
import type { MediaCounts } from '../../src/adapters/asterisk/phone/media.ts';
import { bracketed } from '../../src/core/networks.ts';
import { header, methodOf, statusOf, uriOf } from '../../src/adapters/asterisk/phone/message.ts';
import type { SipMessage } from '../../src/adapters/asterisk/phone/message.ts';
import { openTransport, randomTag } from '../../src/adapters/asterisk/phone/transport.ts';
import type { Dialog } from '../../src/adapters/asterisk/phone/transport.ts';
import { GiveUp, until } from './until.ts';

export type CallState = 'calling' | 'ringing' | 'up' | 'ended';
/** Times on the phone's monotonic clock (`performance.now()`); NaN for what has not happened. */
export interface CallTimes {
  /** Time of the INVITE, sent or received. */
  readonly began: number;
  readonly rang: number;
  readonly answered: number;
  readonly ended: number;
  /** Intervals in which this phone held the other side. */
  readonly holds: readonly { readonly from: number; readonly to: number }[];
}
export interface PhoneCall {
  readonly state: CallState;
  readonly times: CallTimes;
  /** Final SIP status of the call's setup, 0 before it is known. */
  readonly status: number;
  /** The side that ended it; null while it lasts. */
  readonly endedBy: 'us' | 'them' | null;
  /** The other side as the engine presents it. */
  readonly party: { readonly number: string; readonly name: string };
  readonly media: MediaCounts;
  ringing(): Promise<void>;
  answered(): Promise<void>;
  ended(): Promise<void>;
  /** Waits for packets with sound. */
  hears(packets?: number): Promise<void>;
  /**
   * Waits for packets of the other side: both are bridged. Before that, the engine refuses a transfer even of an answered
   * call.
   */
  bridged(): Promise<void>;
  /** Ends the call in any state by CANCEL, rejection or BYE. */
  hangup(): Promise<void>;
  hold(): Promise<void>;
  retrieve(): Promise<void>;
  /** Blind transfer; resolves when the engine accepts it. */
  transfer(number: string): Promise<void>;
  /**
   * Final status of that transfer, known once the target answered or could not be reached. After a success the phone
   * sends BYE, as every phone does.
   */
  transferred(): Promise<number>;
  /** Connects the other side with that of another call of this phone; resolves when the engine accepts it. */
  join(other: PhoneCall): Promise<void>;
  digits(text: string): Promise<void>;
  play(what: 'tone' | 'silence'): void;
}
export interface IncomingCall extends PhoneCall {
  /** Number that was dialled. */
  readonly dialled: string;
  ring(): void;
  answer(): Promise<void>;
  /** 486 busy, 603 declined, 480 unavailable. */
  reject(status?: number): void;
  /** 302: forwards the call to another number. */
  redirect(number: string): void;
}
export interface Phone extends AsyncDisposable {
  readonly extension: string;
  /** Registers again, e.g. after the engine came back. */
  register(): Promise<void>;
  unregister(): Promise<void>;
  /** `parameters` follow the address in the request line, such as `;line=x`. */
  invite(number: string, parameters?: string): Promise<PhoneCall>;
  /** The next untaken incoming call; with the caller's call, the wait ends when that one ends. */
  incoming(of?: PhoneCall): Promise<IncomingCall>;
  /** Number of untaken incoming calls. */
  readonly waiting: number;
  /** Incoming calls seen so far. */
  readonly seen: number;
}
export interface PhoneOptions {
  readonly server: { readonly host: string; readonly port: number };
  readonly extension: string;
  readonly password: string;
  /** User name to register with; the extension by default. */
  readonly username?: string;
  /** Shown beside its number. */
  readonly name?: string;
  /** Registers by TLS, trusting this authority (PEM). */
  readonly ca?: string;
  /** Registers by TCP where no `ca` is given. */
  readonly tcp?: boolean;
  /** Requires SRTP with keys in the signalling, of both sides. */
  readonly srtp?: boolean;
  /** Own address; any port of loopback by default. With `ca` or `tcp` the system chooses that of the signalling. */
  readonly at?: { readonly host: string; readonly port: number };
  /** Longest wait for an answer to a REGISTER, ms. */
  readonly patience_ms?: number;
}

/** Registers a desk phone. Disposal ends its calls and removes the registration. */
export async function registerPhone(options: PhoneOptions): Promise<Phone> {
  const phone = await openPhone(options);
  try {
    await phone.register();
  } catch (error) {
    await phone[Symbol.asyncDispose]();
    throw error;
  }
  return phone;
}
/** A line of `pjsip show contacts`: the endpoint of a trunk, the address of its far side and what the last OPTIONS found. */
const CONTACT = /^ *Contact: +([^/\s]+)\/sip:([^;\s]+)\S* +\S+ +(\w+)/gm;
/**
 * The far side of a trunk, known by address and never registered. `extension` is the caller number of its calls; it
 * receives every call over the trunk. Asterisk dials no contact without a successful OPTIONS, so this resolves after one;
 * `cli` is left out only if the engine starts later.
 */
export async function openFarSide({
  cli,
  ...options
}: Pick<PhoneOptions, 'server' | 'extension' | 'name'> & {
  readonly at: FarAddress;
  readonly cli?: (text: string) => Promise<string>;
}): Promise<Phone> {
  const { giveBack } = await lend(options.at);
  const phone = await openPhone({ ...options, password: '' }, giveBack);
  try {
    if (cli !== undefined) await farSidesReached(cli, [options.at]);
  } catch (error) {
    await phone[Symbol.asyncDispose]();
    throw error;
  }
  return phone;
}
/**
 * Time after which the engine has given an OPTIONS up, in milliseconds. Only then the next one is triggered: one that is still open
 * would time out after the success of a later one, and the engine would not dial the contact.
 */
const QUALIFY_MS = 4_000;
/** Waits until the engine reaches the far sides at these addresses; triggers OPTIONS for the others. */
export async function farSidesReached(
  cli: (text: string) => Promise<string>,
  addresses: readonly FarAddress[],
): Promise<void> {
  let shown = '';
  const triggered = new Map<string, number>();
  const isOpen = (endpoint: string): boolean =>
    performance.now() - (triggered.get(endpoint) ?? -Infinity) < QUALIFY_MS;
  await until(
    'the far sides of trunks to be reached',
    async () => {
      shown = await cli('pjsip show contacts');
      const contacts = [...shown.matchAll(CONTACT)].map(([, endpoint = '', at = '', state]) => ({
        endpoint,
        at,
        reached: state === 'Avail',
        givenUp: state === 'Unavail',
      }));
      const wanted = addresses.map(({ host, port }) => contacts.find(({ at }) => at === `${host}:${port}`));
      for (const one of wanted) {
        if (one === undefined || one.reached || isOpen(one.endpoint)) continue;
        // Until it has given its own first OPTIONS up, that one is open.
        const isFirst = !triggered.has(one.endpoint) && !one.givenUp;
        triggered.set(one.endpoint, performance.now());
        if (!isFirst) await cli(`pjsip qualify ${one.endpoint}`);
      }
      return wanted.every((one) => one?.reached);
    },
    { seen: () => ({ shown }) },
  );
}

/** Limit of each farewell to an engine, which may have ended. */
const GOODBYE_MS = 5_000;
/** Resolves once the work has ended, in any way, or after `ms`. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const end = (): void => over.abort();
  await Promise.race([work.then(end, end), wait(ms, undefined, { signal: over.signal }).catch(() => {})]);
}

async function openPhone(
  {
    server,
    extension,
    password,
    username = extension,
    name,
    at: own,
    ca,
    tcp = false,
    srtp = false,
    patience_ms,
  }: PhoneOptions,
  closed?: () => Promise<void>,
): Promise<Phone> {
  const at = `${bracketed(server.host)}:${server.port}`;
  const media = { srtp, host: own?.host ?? nearHost(server.host) };
  const address = `<sip:${username}@${at}>`;
  const calls = new Map<string, LiveCall>();
  const arrived: IncomingCall[] = [];
  let seen = 0;

  const onInvite = async (m: SipMessage): Promise<void> => {
    transport.reply(m, { status: 100, reason: 'Trying' });
    const dialog: Dialog = {
      callId: header(m, 'call-id'),
      local: `${header(m, 'to')};tag=${randomTag()}`,
      remote: header(m, 'from'),
      target: uriOf(header(m, 'contact')),
      routes: recordedRoutes(m),
      cseq: 0,
    };
    const call = newCall({ transport, server: at, media: await openMedia(media), dialog, invitation: m });
    calls.set(dialog.callId, call);
    arrived.push(call);
    seen += 1;
  };
  const onRequest = (m: SipMessage): void => {
    const call = calls.get(header(m, 'call-id'));
    if (call) call.request(m);
    else if (methodOf(m) === 'INVITE') void onInvite(m);
    else if (methodOf(m) === 'BYE' || methodOf(m) === 'CANCEL')
      transport.reply(m, { status: 481, reason: 'No Call' });
    else if (methodOf(m) !== 'ACK') transport.reply(m, { ...ok, tag: randomTag() });
  };
  const transport = await openTransport({
    server,
    username,
    password,
    onRequest,
    ca,
    tcp,
    ...(own === undefined ? {} : { at: own }),
  });
  let registered = false;
  let gone = false;
  const registration: Dialog = {
    callId: randomTag(),
    local: `${address};tag=${randomTag()}`,
    remote: address,
    target: `sip:${at}`,
    cseq: 0,
  };
  const setRegistration = async (seconds: number): Promise<void> => {
    const final = await transport.send(registration, 'REGISTER', {
      headers: [['expires', String(seconds)]],
      ...(patience_ms === undefined ? {} : { patience_ms }),
    }).response;
    if (statusOf(final) !== 200) throw new Error(`REGISTER of ${username} was answered with ${final.start}`);
    registered = seconds > 0;
  };

  const phone: Phone = {
    extension,
    get waiting() {
      return arrived.length;
    },
    get seen() {
      return seen;
    },
    register: () => setRegistration(600),
    unregister: () => setRegistration(0),
    async invite(number, parameters = '') {
      const to = `sip:${encodeURIComponent(number)}@${at}`;
      const dialog: Dialog = {
        callId: randomTag(),
        local: `${name === undefined ? '' : `"${name}" `}${address};tag=${randomTag()}`,
        remote: `<${to}>`,
        target: `${to}${parameters}`,
        cseq: 0,
      };
      const call = newCall({
        transport,
        server: at,
        media: await openMedia(media),
        dialog,
        invitation: null,
      });
      calls.set(dialog.callId, call);
      call.start();
      return call;
    },
    incoming: (of) =>
      until(
        `an incoming call at ${extension}`,
        () => {
          const next = arrived.shift();
          if (!next && of?.state === 'ended') throw new GiveUp(`the caller's call ended with ${of.status}`);
          return next;
        },
        { seen: () => ({ caller: of?.state, status: of?.status }) },
      ),
    async [Symbol.asyncDispose]() {
      if (gone) return;
      gone = true;
      // A dead engine answers no BYE.
      await within(GOODBYE_MS, Promise.allSettled([...calls.values()].map((call) => call.hangup())));
      for (const call of calls.values()) call.close();
      if (registered) await within(GOODBYE_MS, setRegistration(0));
      await transport.close();
      await closed?.();
    },
  };
  return phone;
}
