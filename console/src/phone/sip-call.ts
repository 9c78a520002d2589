/** One SIP session of this page, and its sound. */
import { Invitation, Inviter, SessionState, UserAgent } from 'sip.js';
import type { Session, URI, Web } from 'sip.js';
import { serverNow } from '../app/now.ts';
import { playOn, stopStream } from './devices.ts';
import type { LeftReason } from './follow-calls.ts';
import type { Matched } from './match-legs.ts';
import type { CallEnd, PhoneCall } from './phone-state.ts';
import { countOf, createQualityMeter } from './quality.ts';
import type { CallQuality, QualityReport } from './quality.ts';

export interface SipCallDeps {
  /** An open microphone. Throws `MicrophoneError`. */
  readonly microphone: () => Promise<MediaStream>;
  readonly speaker: () => string;
  readonly onChange: () => void;
}
export interface SipCall {
  readonly id: string;
  readonly session: Session;
  readonly shown: PhoneCall;
  /** Sends the INVITE of an outgoing call. Throws `MicrophoneError`. */
  place(): Promise<void>;
  answer(): Promise<void>;
  /** `onHeard`: the exchange has answered the end of a call that was up. */
  hangUp(onHeard?: () => void): void;
  /** Rejects where the exchange refuses. */
  hold(on: boolean): Promise<void>;
  mute(on: boolean): void;
  tones(keys: string): void;
  /** Passes the other side on: to a number, or to the other side of another call. Rejects where that is refused. */
  transfer(to: string | SipCall): Promise<void>;
  /** Another call is passed on to the other side of this one. */
  passing(on: boolean): void;
  /** After the network was away: tells the exchange where we are now, and finds a new way for the sound. */
  mend(): Promise<void>;
  know(call: Matched): void;
  /** It rang here and was not answered here: somebody else talks with the caller. */
  taken(): void;
  /** It rang here and ended for this reason, which the exchange tells of its history too. */
  rangOut(reason: LeftReason): void;
  /** The same, and nobody does. */
  missed(): void;
  useMicrophone(): Promise<void>;
  useSpeaker(): void;
  measure(seconds: number): Promise<void>;
  report(): QualityReport | null;
  consultFor: string | null;
}
const AUDIO: Web.SessionDescriptionHandlerOptions = { constraints: { audio: true, video: false } };
type Handler = Web.SessionDescriptionHandler;
const ENDS: Readonly<Record<number, CallEnd>> = {
  403: 'not_allowed',
  404: 'not_found',
  484: 'not_found',
  408: 'no_answer',
  480: 'no_answer',
  487: 'no_answer',
  486: 'busy',
  600: 'busy',
  603: 'declined',
};
/** ICE mends itself where it can; after so long it is helped. */
const ICE_PATIENCE_MS = 4_000;
let made = 0;
const streams = new WeakMap<Session, MediaStream>();
/** The open microphone of a session, for who makes its offers and answers. */
export const streamOf = (session: Session): MediaStream => streams.get(session) ?? new MediaStream();

export function createSipCall(
  session: Inviter | Invitation,
  { number, name }: Pick<PhoneCall, 'number' | 'name'>,
  deps: SipCallDeps,
): SipCall {
  const id = `call-${(made += 1)}`;
  const incoming = session instanceof Invitation;
  const player = new Audio();
  player.autoplay = true;
  const meter = createQualityMeter();
  let own: MediaStream | null = null;
  let held = false;
  let doing: Promise<unknown> = Promise.resolve();
  let end: CallEnd | null = null;
  let heard = false;
  /** The other side is being passed on: the end of this side is no end of the call. */
  let passing = false;
  /** The engine says so of every ring that a queue takes back, also where nobody answered. */
  let maybeTaken = false;
  let shown: PhoneCall = {
    id,
    direction: incoming ? 'in' : 'out',
    number,
    name,
    state: incoming ? 'incoming' : 'dialing',
    began: serverNow(),
    answered: null,
    muted: false,
    mending: false,
    consultFor: null,
    quality: null,
    end: null,
    call_id: null,
    leg_id: null,
    placed: null,
    held_there: false,
    connected_at: null,
    there: null,
  };
  const show = (change: Partial<PhoneCall>): void => {
    shown = { ...shown, ...change };
    deps.onChange();
  };
  const handler = (): Handler | undefined => session.sessionDescriptionHandler as Handler | undefined;
  const connection = (): RTCPeerConnection | undefined => handler()?.peerConnection;
  const hasWay = (): boolean => /^(connected|completed)$/.test(connection()?.iceConnectionState ?? '');
  const sender = (): RTCRtpSender | undefined =>
    connection()
      ?.getSenders()
      .find((s) => s.track?.kind === 'audio');
  /** One thing after the other: SIP takes one offer of a side at a time. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = doing.then(work, work);
    doing = next.catch(() => undefined);
    return next;
  }
  /** Before anything is sent: a call is not begun, and not taken, without a microphone. */
  async function openOwn(): Promise<void> {
    own = await deps.microphone();
    streams.set(session, own);
    // It may have ended while the browser asked.
    if (session.state === SessionState.Terminated) stopStream(own);
  }
  function listen(): void {
    const peer = connection();
    if (peer === undefined) return;
    player.srcObject = new MediaStream(peer.getReceivers().map((receiver) => receiver.track));
    void playOn(player, deps.speaker());
    void player.play().catch(() => undefined);
    if (heard) return;
    heard = true;
    let patience: ReturnType<typeof setTimeout> | undefined;
    peer.addEventListener('iceconnectionstatechange', () => {
      clearTimeout(patience);
      const { iceConnectionState: ice } = peer;
      if (hasWay()) show({ mending: false });
      else if (ice === 'failed') void mend().catch(() => undefined);
      else if (ice === 'disconnected') {
        show({ mending: true });
        patience = setTimeout(() => void mend().catch(() => undefined), ICE_PATIENCE_MS);
      }
    });
  }
  function reinvite(options: Web.SessionDescriptionHandlerOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      session
        .invite({
          sessionDescriptionHandlerOptions: options,
          requestDelegate: {
            onAccept: () => resolve(),
            // The library makes up a 408 where nothing came back; only a message of the exchange has a Via.
            onReject: ({ message }) =>
              reject(new Error(message.hasHeader('via') ? `${message.statusCode ?? 0}` : 'unanswered')),
          },
        })
        .catch(reject);
    });
  }
  /** Resolves with the word that it is done or the end of our side of the call, whichever comes first. */
  function refer(target: URI | Session): Promise<void> {
    return new Promise((resolve, reject) => {
      session.stateChange.addListener((state) => {
        if (state === SessionState.Terminated) resolve();
      });
      session
        .refer(target, {
          requestDelegate: { onReject: ({ message }) => reject(new Error(`${message.statusCode ?? 0}`)) },
          onNotify: (notification) => {
            void notification.accept();
            const status = Number(/^SIP\/2\.0 (\d{3})/.exec(notification.request.body)?.[1] ?? 0);
            if (status >= 300) reject(new Error(`${status}`));
            else if (status >= 200) resolve();
          },
        })
        .catch(reject);
    });
  }
  async function mend(): Promise<void> {
    if (session.state !== SessionState.Established) return;
    const iceRestart = !hasWay();
    if (iceRestart) show({ mending: true });
    try {
      await inTurn(() => reinvite({ hold: held, offerOptions: { iceRestart } }));
      // A restart that the browser ends in the state it began in is no event.
      if (hasWay()) show({ mending: false });
    } catch (error) {
      // The exchange does not know the call any more, or could not be told.
      if (/^(481|408|404)$/.test((error as Error).message)) {
        end = 'lost';
        if (session.state === SessionState.Established) void session.bye().catch(() => undefined);
      }
      throw error;
    }
  }
  function hangUp(onHeard?: () => void): void {
    const quietly = (done: Promise<unknown>): void => void done.catch(() => undefined);
    switch (session.state) {
      case SessionState.Established:
        end ??= passing ? 'transferred' : 'over';
        return quietly(
          session.bye({
            requestDelegate: {
              onAccept: () => onHeard?.(),
              // The call is not there any more; what the library itself says where nothing was sent or answered, 503 or 408, is no word of the exchange.
              onReject: ({ message }) => message.statusCode === 481 && onHeard?.(),
            },
          }),
        );
      case SessionState.Initial:
      case SessionState.Establishing:
        end ??= incoming ? 'declined' : 'over';
        return quietly(
          session instanceof Invitation ? session.reject({ statusCode: 486 }) : session.cancel(),
        );
      default:
    }
  }
  /** What its state tells, where nothing else said why; null while it is open whether somebody else answered. */
  function endOf(): CallEnd | null {
    if (passing) return 'transferred';
    if (shown.answered !== null) return 'over';
    if (!incoming) return 'failed';
    return maybeTaken ? null : 'missed';
  }
  session.stateChange.addListener((state) => {
    switch (state) {
      case SessionState.Established:
        listen();
        show({ state: 'talking', answered: serverNow() });
        return;
      case SessionState.Terminated: {
        if (own !== null) stopStream(own);
        player.srcObject = null;
        show({ state: 'ended', end: end ?? endOf(), quality: null, mending: false });
        return;
      }
      default:
    }
  });
  if (incoming) {
    session.delegate = {
      onCancel: ({ request }) => {
        maybeTaken = /cause=200\b/.test(request.getHeader('reason') ?? '');
      },
    };
  }

  return {
    id,
    session,
    get shown() {
      return shown;
    },
    async place() {
      if (!(session instanceof Inviter)) return;
      await openOwn();
      await session.invite({
        requestDelegate: {
          onProgress: ({ message }) => {
            if (message.statusCode === 180) show({ state: 'ringing' });
            // Something is said before the call is answered: an announcement of the exchange.
            if (message.body !== '') listen();
          },
          onReject: ({ message }) => {
            // The library ends the call first, and says why after that.
            if (end === null) show({ end: ENDS[message.statusCode ?? 0] ?? 'failed' });
          },
        },
      });
    },
    async answer() {
      if (!(session instanceof Invitation)) return;
      await openOwn();
      show({ state: 'connecting' });
      await session.accept({ sessionDescriptionHandlerOptions: AUDIO });
    },
    hangUp,
    hold: (on) =>
      inTurn(async () => {
        if (session.state !== SessionState.Established || held === on) return;
        await reinvite({ hold: on });
        held = on;
        show({ state: on ? 'held' : 'talking' });
      }),
    mute(on) {
      for (const track of own?.getTracks() ?? []) track.enabled = !on;
      show({ muted: on });
    },
    tones(keys) {
      const dtmf = sender()?.dtmf;
      // What is still to be sent is not thrown away for what comes after it.
      dtmf?.insertDTMF(dtmf.toneBuffer + keys, 160, 70);
    },
    passing(on) {
      passing = on;
    },
    transfer: (to) =>
      inTurn(async () => {
        const other = typeof to === 'string' ? null : to;
        const host = session.userAgent.configuration.uri.host;
        const target =
          typeof to === 'string' ? UserAgent.makeURI(`sip:${encodeURIComponent(to)}@${host}`) : to.session;
        if (target === undefined) throw new Error('not a number');
        passing = true;
        other?.passing(true);
        try {
          await refer(target);
          // Where the engine leaves it to us, our sides end here.
          hangUp();
          other?.hangUp();
        } catch (error) {
          passing = false;
          other?.passing(false);
          throw error;
        }
      }),
    mend,
    know(matched) {
      const { call_id, leg_id, placed, there, held_there } = matched;
      const number = matched.number || shown.number;
      // Of somebody else than was shown before, nothing is left over.
      const name = matched.name || (placed === null || number === shown.number ? shown.name : '');
      const connected_at = matched.connected_at ?? shown.connected_at;
      const next = { call_id, leg_id, placed, there, held_there, connected_at, name, number };
      const keys = Object.keys(next) as (keyof typeof next)[];
      if (keys.some((key) => shown[key] !== next[key])) show(next);
    },
    taken() {
      if (maybeTaken && shown.state === 'ended' && shown.end !== 'answered_elsewhere')
        show({ end: 'answered_elsewhere' });
    },
    rangOut(reason) {
      if (!incoming || shown.state !== 'ended' || shown.answered !== null || end !== null) return;
      const known = reason === 'answered_elsewhere' ? 'answered_elsewhere' : 'missed';
      if (shown.end !== known) show({ end: known });
    },
    missed() {
      if (shown.state === 'ended' && shown.end === null) show({ end: 'missed' });
    },
    async useMicrophone() {
      if (own === null) return;
      const next = await deps.microphone();
      const [track] = next.getAudioTracks();
      for (const old of own.getTracks()) old.stop();
      own = next;
      if (track === undefined) return;
      track.enabled = !shown.muted;
      await sender()?.replaceTrack(track);
    },
    useSpeaker: () => void playOn(player, deps.speaker()),
    async measure(seconds) {
      const peer = connection();
      if (peer === undefined || shown.state !== 'talking') return;
      const counted = await countOf(peer).catch(() => null);
      if (counted === null) return;
      meter.add(counted, seconds);
      const quality: CallQuality | null = meter.now;
      if (shown.state === 'talking') show({ quality });
    },
    report: () => meter.report(),
    get consultFor() {
      return shown.consultFor;
    },
    set consultFor(other) {
      show({ consultFor: other });
    },
  };
}
