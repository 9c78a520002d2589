/**
 * A scripted desk phone: a small SIP user agent on loopback UDP that does exactly what a test tells it, and nothing
 * by itself. It speaks real SIP and real media to the real engine.
 */
import { openMedia } from './sip/media.ts';
import type { Media, MediaCounts } from './sip/media.ts';
import { displayNameOf, header, methodOf, numberOf, statusOf, tagOf, uriOf } from './sip/message.ts';
import type { SipMessage } from './sip/message.ts';
import { openTransport, randomTag } from './sip/transport.ts';
import type { Dialog, Sent, SipTransport } from './sip/transport.ts';
import { GiveUp, until } from './until.ts';

export type CallState = 'calling' | 'ringing' | 'up' | 'ended';
/** When this phone saw it, on its monotonic clock (`performance.now()`); NaN for what has not happened. */
export interface CallTimes {
  /** The invitation was sent, or came. */
  readonly began: number;
  readonly rang: number;
  readonly answered: number;
  readonly ended: number;
  /** Each time this phone put the other side on hold. */
  readonly holds: readonly { readonly from: number; readonly to: number }[];
}
export interface PhoneCall {
  readonly state: CallState;
  readonly times: CallTimes;
  /** Final SIP status of the call's setup, 0 before it is known. */
  readonly status: number;
  /** Who ended it; null while it lives. */
  readonly endedBy: 'us' | 'them' | null;
  /** The other side as the engine presents it. */
  readonly party: { readonly number: string; readonly name: string };
  readonly media: MediaCounts;
  ringing(ms?: number): Promise<void>;
  answered(ms?: number): Promise<void>;
  ended(ms?: number): Promise<void>;
  /** Packets with sound came in. */
  hears(packets?: number, ms?: number): Promise<void>;
  /** Ends the call in whatever state it is: cancels, rejects or says goodbye. */
  hangup(): Promise<void>;
  hold(): Promise<void>;
  retrieve(): Promise<void>;
  /** Blind transfer; resolves when the engine has taken it on. */
  transfer(number: string): Promise<void>;
  /**
   * The final status of that transfer: known once the new side answered or could not be reached. After a success the
   * phone says goodbye, as every phone does.
   */
  transferred(ms?: number): Promise<number>;
  /** Connects the other side with that of another call of this phone; resolves when the engine has taken it on. */
  join(other: PhoneCall): Promise<void>;
  digits(text: string): Promise<void>;
  play(what: 'tone' | 'silence'): void;
}
export interface IncomingCall extends PhoneCall {
  /** The number it is for. */
  readonly dialled: string;
  ring(): void;
  answer(): Promise<void>;
  /** 486 busy, 603 declined, 480 unavailable. */
  reject(status?: number): void;
  /** 302: this phone wants its calls rung at another number. */
  redirect(number: string): void;
}
export interface Phone extends AsyncDisposable {
  readonly extension: string;
  /** Registers again, e.g. after the engine came back. */
  register(): Promise<void>;
  unregister(): Promise<void>;
  invite(number: string): Promise<PhoneCall>;
  /** The next incoming call nobody has taken yet. */
  incoming(ms?: number): Promise<IncomingCall>;
  /** Incoming calls nobody has taken yet. */
  readonly waiting: number;
  /** Incoming calls seen so far. */
  readonly seen: number;
}
export interface PhoneOptions {
  readonly server: { readonly host: string; readonly port: number };
  readonly extension: string;
  readonly password: string;
  /** User name to register with; the extension itself when not given. */
  readonly username?: string;
  /** Its own address on loopback; any port of 127.0.0.1 when not given. */
  readonly at?: { readonly host: string; readonly port: number };
}

interface CallParts {
  readonly transport: SipTransport;
  readonly server: string;
  readonly media: Media;
  readonly dialog: Dialog;
  readonly invitation: SipMessage | null;
}
type LiveCall = IncomingCall & {
  readonly dialog: Dialog;
  /** What the header Replaces names this call by. */
  readonly replaces: string;
  request(m: SipMessage): void;
  start(): void;
  close(): void;
};

const ok = { status: 200, reason: 'OK' } as const;
const now = (): number => performance.now();
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function newCall({ transport, server, media, dialog, invitation }: CallParts): LiveCall {
  let state: CallState = 'calling';
  let status = 0;
  let endedBy: 'us' | 'them' | null = null;
  let invite: Sent | undefined;
  let transferStatus = 0;
  let cancelled = false;
  let early = '';
  const holds: { from: number; to: number }[] = [];
  const times: Mutable<CallTimes> = { began: now(), rang: NaN, answered: NaN, ended: NaN, holds };
  const localTag = tagOf(dialog.local);
  const shownIn = invitation
    ? header(invitation, 'p-asserted-identity') || header(invitation, 'from')
    : dialog.remote;
  const party = { number: numberOf(shownIn), name: displayNameOf(shownIn).trim() };

  const end = (by: 'us' | 'them'): void => {
    if (state === 'ended') return;
    state = 'ended';
    times.ended = now();
    endedBy = by;
    media.close();
  };
  const seen = (): object => ({ state, status, endedBy, ...media.counts });
  const reach = async (wanted: CallState, ms: number): Promise<void> => {
    await until(
      `a call ${wanted} at ${party.number || uriOf(dialog.remote)}`,
      () => {
        if (state === 'ended' && wanted !== 'ended') throw new GiveUp(`the call ended with ${status}`);
        return state === wanted || (wanted === 'ringing' && state === 'up');
      },
      { ms, seen },
    );
  };
  const reinvite = async (direction: 'sendrecv' | 'sendonly'): Promise<void> => {
    const final = await transport.send(dialog, 'INVITE', { body: media.sdp(direction) }).response;
    if (statusOf(final) !== 200) throw new Error(`re-INVITE was answered with ${final.start}`);
    transport.ack(dialog, dialog.cseq);
    media.connect(final.body);
  };

  const refer = async (to: string): Promise<void> => {
    transferStatus = 0;
    const headers = [['refer-to', `<${to}>`]] as const;
    const accepted = await transport.send(dialog, 'REFER', { headers }).response;
    if (statusOf(accepted) !== 202) throw new Error(`REFER to ${to} was answered with ${accepted.start}`);
  };

  const call: LiveCall = {
    dialog,
    times,
    get replaces() {
      const there = tagOf(dialog.remote) || early;
      return encodeURIComponent(`${dialog.callId};to-tag=${there};from-tag=${localTag}`);
    },
    dialled: invitation ? numberOf(header(invitation, 'to')) : '',
    get state() {
      return state;
    },
    get status() {
      return status;
    },
    get endedBy() {
      return endedBy;
    },
    party,
    media: media.counts,
    ringing: (ms = 5000) => reach('ringing', ms),
    answered: (ms = 5000) => reach('up', ms),
    ended: (ms = 5000) => reach('ended', ms),
    async hears(packets = 10, ms = 5000) {
      const from = media.counts.heard;
      await until(`${packets} packets with sound`, () => media.counts.heard - from >= packets, { ms, seen });
    },
    async hangup() {
      if (state === 'ended') return;
      if (invitation && state !== 'up') {
        call.reject(486);
        return;
      }
      if (state === 'up') {
        end('us');
        await transport.send(dialog, 'BYE').response;
        return;
      }
      cancelled = true;
      invite?.cancel();
      await reach('ended', 5000);
      endedBy = 'us';
    },
    async hold() {
      holds.push({ from: now(), to: NaN });
      await reinvite('sendonly');
    },
    async retrieve() {
      holds.at(-1)!.to = now();
      await reinvite('sendrecv');
    },
    transfer: (number) => refer(`sip:${number}@${server}`),
    join: (other) => {
      const { dialog: second, replaces } = other as LiveCall;
      return refer(`sip:${numberOf(second.remote)}@${server}?Replaces=${replaces}`);
    },
    async transferred(ms = 5000) {
      await until('the result of a transfer', () => transferStatus >= 200 || state === 'ended', { ms, seen });
      if (transferStatus < 300) await call.hangup();
      return transferStatus || 200;
    },
    digits: (text) => media.digits(text),
    play: (what) => media.play(what),
    close: () => end('us'),

    start() {
      invite = transport.send(dialog, 'INVITE', {
        body: media.sdp(),
        provisional(m) {
          early = tagOf(header(m, 'to'));
          if (statusOf(m) === 180 && state === 'calling') {
            state = 'ringing';
            times.rang = now();
          }
          if (m.body) media.connect(m.body);
        },
      });
      void invite.response.then((final) => {
        status = statusOf(final);
        dialog.remote = header(final, 'to') || dialog.remote;
        if (status !== 200) {
          end('them');
          return;
        }
        dialog.target = uriOf(header(final, 'contact'));
        transport.ack(dialog, dialog.cseq);
        media.connect(final.body);
        state = 'up';
        times.answered = now();
        // The answer and our CANCEL crossed on the wire.
        if (cancelled) void call.hangup();
      });
    },
    ring() {
      transport.reply(invitation!, { status: 180, reason: 'Ringing', tag: localTag });
      if (state === 'calling') state = 'ringing';
      if (Number.isNaN(times.rang)) times.rang = now();
    },
    async answer() {
      if (state === 'ended') throw new Error('the call was gone before it could be answered');
      times.answered = now();
      transport.reply(invitation!, { ...ok, tag: localTag, body: media.sdp() });
      media.connect(invitation!.body);
      await reach('up', 5000);
    },
    reject(code = 486) {
      status = code;
      transport.reply(invitation!, {
        status: code,
        reason: code === 486 ? 'Busy Here' : 'Rejected',
        tag: localTag,
      });
      end('us');
    },
    redirect(number) {
      status = 302;
      transport.reply(invitation!, {
        status,
        reason: 'Moved Temporarily',
        tag: localTag,
        contact: `sip:${number}@${server}`,
      });
      end('us');
    },
    request(m) {
      switch (methodOf(m)) {
        case 'ACK':
          if (state !== 'ended') state = 'up';
          status ||= 200;
          return;
        case 'CANCEL':
          transport.reply(m, { ...ok, tag: localTag });
          if (state !== 'calling' && state !== 'ringing') return;
          status = 487;
          transport.reply(invitation!, { status: 487, reason: 'Request Terminated', tag: localTag });
          end('them');
          return;
        case 'BYE':
          transport.reply(m, ok);
          end('them');
          return;
        case 'INVITE':
          if (m.body) media.connect(m.body);
          transport.reply(m, { ...ok, body: media.sdp() });
          return;
        case 'NOTIFY': {
          transport.reply(m, ok);
          transferStatus = Number(/^SIP\/2\.0 (\d{3})/.exec(m.body)?.[1] ?? transferStatus);
          return;
        }
        default:
          transport.reply(m, ok);
      }
    },
  };
  return call;
}

/** Registers a desk phone. Every call it still has is ended and the registration taken back when it is disposed. */
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
/**
 * The other side of a trunk: one who is known by address and never registers. `extension` is the number its calls come
 * from; it is given every call that goes out over the trunk, whatever number that is for.
 */
export const openFarSide = (
  options: Pick<PhoneOptions, 'server' | 'extension'> & { readonly at: NonNullable<PhoneOptions['at']> },
): Promise<Phone> => openPhone({ ...options, password: '' });

async function openPhone({
  server,
  extension,
  password,
  username = extension,
  at: own,
}: PhoneOptions): Promise<Phone> {
  const at = `${server.host}:${server.port}`;
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
      cseq: 0,
    };
    const call = newCall({ transport, server: at, media: await openMedia(), dialog, invitation: m });
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
    ...(own === undefined ? {} : { at: own }),
  });
  let registered = false;
  const registration: Dialog = {
    callId: randomTag(),
    local: `${address};tag=${randomTag()}`,
    remote: address,
    target: `sip:${at}`,
    cseq: 0,
  };
  const setRegistration = async (seconds: number): Promise<void> => {
    const final = await transport.send(registration, 'REGISTER', { headers: [['expires', String(seconds)]] })
      .response;
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
    async invite(number) {
      const to = `sip:${encodeURIComponent(number)}@${at}`;
      const dialog: Dialog = {
        callId: randomTag(),
        local: `${address};tag=${randomTag()}`,
        remote: `<${to}>`,
        target: to,
        cseq: 0,
      };
      const call = newCall({ transport, server: at, media: await openMedia(), dialog, invitation: null });
      calls.set(dialog.callId, call);
      call.start();
      return call;
    },
    incoming: (ms = 5000) => until(`an incoming call at ${extension}`, () => arrived.shift(), { ms }),
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([...calls.values()].map((call) => call.hangup()));
      // An engine that is gone says nothing to a goodbye.
      for (const call of calls.values()) call.close();
      if (registered) await setRegistration(0).catch(() => {});
      transport.close();
    },
  };
  return phone;
}
