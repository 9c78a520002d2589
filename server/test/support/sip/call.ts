/** One call of a scripted phone: its state, its media and its replies to the engine. */
import { GiveUp, until } from '../until.ts';
import type { CallState, CallTimes, IncomingCall } from '../phone.ts';
import type { Media } from '../../../src/adapters/asterisk/phone/media.ts';
import {
  header,
  headersNamed,
  methodOf,
  statusOf,
  tagOf,
  uriOf,
} from '../../../src/adapters/asterisk/phone/message.ts';
import type { SipMessage } from '../../../src/adapters/asterisk/phone/message.ts';
import type { Dialog, Sent, SipTransport } from '../../../src/adapters/asterisk/phone/transport.ts';

/** Proxies that stay between both ends of a dialog, in the order of the header. */
export const recordedRoutes = (m: SipMessage): string[] =>
  headersNamed(m, 'record-route').flatMap((value) => value.match(/<[^<>]*>/g) ?? []);
/** The user part of an address header, and its display name. */
const numberOf = (value: string): string => /sips?:([^@;>:]+)@/.exec(value)?.[1] ?? '';
const displayNameOf = (value: string): string =>
  /^"((?:[^"\\]|\\.)*)"/.exec(value)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? '';

interface CallParts {
  readonly transport: SipTransport;
  readonly server: string;
  readonly media: Media;
  readonly dialog: Dialog;
  readonly invitation: SipMessage | null;
}
export type LiveCall = IncomingCall & {
  readonly dialog: Dialog;
  /** Value of the header Replaces for this call. */
  readonly replaces: string;
  request(m: SipMessage): void;
  start(): void;
  close(): void;
};

export const ok = { status: 200, reason: 'OK' } as const;
const now = (): number => performance.now();
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export function newCall({ transport, server, media, dialog, invitation }: CallParts): LiveCall {
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
  const reach = async (wanted: CallState): Promise<void> => {
    await until(
      `a call ${wanted} at ${party.number || uriOf(dialog.remote)}`,
      () => {
        if (state === 'ended' && wanted !== 'ended') throw new GiveUp(`the call ended with ${status}`);
        return state === wanted || (wanted === 'ringing' && state === 'up');
      },
      { seen },
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
    ringing: () => reach('ringing'),
    answered: () => reach('up'),
    ended: () => reach('ended'),
    async bridged() {
      await until('packets of the other side', () => media.counts.received > 0, { seen });
    },
    async hears(packets = 10) {
      const from = media.counts.heard;
      await until(`${packets} packets with sound`, () => media.counts.heard - from >= packets, { seen });
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
      await reach('ended');
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
    async transferred() {
      await until('the result of a transfer', () => transferStatus >= 200 || state === 'ended', { seen });
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
        dialog.routes = recordedRoutes(final).toReversed();
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
      await reach('up');
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
