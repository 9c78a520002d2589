/** One call of this page: a SIP session, its sound and its shown state. */
import { Invitation, Inviter, SessionState, UserAgent } from 'sip.js';
import type { Web } from 'sip.js';
import { serverNow } from '../app/now.ts';
import { CallAudio } from './call-audio.ts';
import type { CallAudioDeps } from './call-audio.ts';
import type { LeftReason } from './follow-calls.ts';
import type { Matched } from './match-legs.ts';
import type { CallEnd, PhoneCall } from './phone-state.ts';
import { countOf, createQualityMeter } from './quality.ts';
import type { QualityReport } from './quality.ts';
import { bye, refer, reinvite, repeatAck, untilEnded } from './sip-requests.ts';

export interface SipCallDeps extends Omit<CallAudioDeps, 'onPath'> {
  readonly onChange: () => void;
  readonly iceServers: () => Promise<RTCIceServer[]>;
}
/** Pauses before the path of the sound is repaired again; the exchange ends a call without sound after two minutes. */
const MEND_MS = [2_000, 4_000, 8_000];
const AUDIO: Web.SessionDescriptionHandlerOptions = { constraints: { audio: true, video: false } };
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
let created = 0;

export class SipCall {
  readonly id = `call-${(created += 1)}`;
  readonly session: Inviter | Invitation;
  readonly #onChange: () => void;
  readonly #iceServers: SipCallDeps['iceServers'];
  readonly #audio: CallAudio;
  readonly #meter = createQualityMeter();
  #shown: PhoneCall;
  #held = false;
  #mends = false;
  #working: Promise<unknown> = Promise.resolve();
  #answering: Promise<void> | null = null;
  #end: CallEnd | null = null;
  /** The other side is being transferred: the end of this side is not the end of the call. */
  #transferring = false;
  /**
   * The CANCEL had cause 200, which the engine sends for every ring that a queue cancels, answered elsewhere or not.
   */
  #maybeTaken = false;

  constructor(
    session: Inviter | Invitation,
    peer: Pick<PhoneCall, 'number' | 'name'>,
    { onChange, iceServers, ...audio }: SipCallDeps,
  ) {
    this.session = session;
    this.#onChange = onChange;
    this.#iceServers = iceServers;
    this.#shown = {
      id: this.id,
      ...(session instanceof Invitation
        ? { direction: 'in', state: 'incoming' }
        : { direction: 'out', state: 'dialing' }),
      number: peer.number,
      name: peer.name,
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
      held_since: null,
      connected_at: null,
      there: null,
    };
    this.#audio = new CallAudio(session, { ...audio, onPath: (path) => this.#onPath(path) });
    session.stateChange.addListener((state) => this.#onState(state));
    if (session instanceof Invitation) {
      session.delegate = {
        onCancel: ({ request }) => {
          this.#maybeTaken = /cause=200\b/.test(request.getHeader('reason') ?? '');
        },
      };
    }
  }
  get shown(): PhoneCall {
    return this.#shown;
  }
  get consultFor(): string | null {
    return this.#shown.consultFor;
  }
  set consultFor(other: string | null) {
    this.#show({ consultFor: other });
  }

  /** Sends the INVITE of an outgoing call; ends also where the person hangs up meanwhile. Throws `MicrophoneError`. */
  place(): Promise<void> {
    return untilEnded(this.session, this.#place());
  }
  async #place(): Promise<void> {
    const { session } = this;
    if (!(session instanceof Inviter)) return;
    await this.#openMicrophone();
    // The person may have hung up while the browser opened the microphone.
    if (session.state !== SessionState.Initial) return;
    await session.invite({
      requestDelegate: {
        onProgress: ({ message }) => {
          if (message.statusCode === 180) this.#show({ state: 'ringing' });
          // Early media: an announcement of the exchange before the call is answered.
          if (message.body !== '') this.#audio.play();
        },
        onReject: ({ message }) => {
          // SIP.js ends the session before it reports the reason.
          if (this.#end === null) this.#show({ end: ENDS[message.statusCode ?? 0] ?? 'failed' });
        },
      },
    });
  }
  /** Ends also where the caller hangs up meanwhile. Throws `MicrophoneError`. */
  answer(): Promise<void> {
    // A second click would open another microphone, which the first one's mute would not reach.
    this.#answering ??= untilEnded(this.session, this.#answer()).finally(() => {
      this.#answering = null;
    });
    return this.#answering;
  }
  async #answer(): Promise<void> {
    const { session } = this;
    if (!(session instanceof Invitation) || session.state !== SessionState.Initial) return;
    await this.#openMicrophone();
    // Read again: the call may have ended while the browser opened the microphone.
    if ((session.state as SessionState) !== SessionState.Initial) return;
    this.#show({ state: 'connecting' });
    try {
      await session.accept({ sessionDescriptionHandlerOptions: AUDIO });
    } catch (error) {
      if ((session.state as SessionState) !== SessionState.Terminated) throw error;
    }
  }
  /** `onConfirmed`: the exchange has confirmed the end of a call that was established. */
  hangUp(onConfirmed?: () => void): void {
    const { session } = this;
    if (session.state === SessionState.Established) {
      this.#end ??= this.#transferring ? 'transferred' : 'over';
      bye(session, onConfirmed);
    } else if (session.state === SessionState.Initial || session.state === SessionState.Establishing) {
      const incoming = session instanceof Invitation;
      this.#end ??= incoming ? 'declined' : 'over';
      void (incoming ? session.reject({ statusCode: 486 }) : session.cancel()).catch(() => undefined);
    }
  }
  /** Rejects where the exchange refuses. */
  hold(on: boolean): Promise<void> {
    return this.#inOrder(async () => {
      if (this.session.state !== SessionState.Established || this.#held === on) return;
      await reinvite(this.session, { hold: on });
      if ((this.session.state as SessionState) !== SessionState.Established) return;
      this.#held = on;
      this.#meter.skip();
      this.#show({ state: on ? 'held' : 'talking', quality: null });
    });
  }
  mute(on: boolean): void {
    this.#audio.mute(on);
    this.#show({ muted: on });
  }
  tones(keys: string): void {
    this.#audio.sendTones(keys);
  }
  /** Transfers the other side to a number, or to the other side of another call. Rejects where that is refused. */
  transfer(to: string | SipCall): Promise<void> {
    return this.#inOrder(async () => {
      const other = typeof to === 'string' ? null : to;
      const { host } = this.session.userAgent.configuration.uri;
      const target =
        typeof to === 'string' ? UserAgent.makeURI(`sip:${encodeURIComponent(to)}@${host}`) : to.session;
      if (target === undefined) throw new Error('not a number');
      this.#transferring = true;
      if (other !== null) other.#transferring = true;
      try {
        await refer(this.session, target);
        // Ends our sides if the engine does not.
        this.hangUp();
        other?.hangUp();
      } catch (error) {
        this.#transferring = false;
        if (other !== null) other.#transferring = false;
        throw error;
      }
    });
  }
  /** After the network was away: sends our new address to the exchange and repairs the path of the sound. */
  async mend(): Promise<void> {
    if (this.session.state !== SessionState.Established) return;
    repeatAck(this.session);
    const iceRestart = !this.#audio.connected;
    if (iceRestart) this.#show({ mending: true });
    try {
      // Credentials of the TURN server may have ended since the call began.
      if (iceRestart) this.#audio.useServers(await this.#iceServers());
      await this.#inOrder(() => {
        // Again, because the first one is not sent while a re-INVITE waits for its response.
        repeatAck(this.session);
        return reinvite(this.session, { hold: this.#held, offerOptions: { iceRestart } });
      });
      // An ICE restart that ends in the state it began in emits no event.
      if (this.#audio.connected) this.#show({ mending: false });
    } catch (error) {
      // The exchange no longer has the call, or is unreachable.
      if (/^(481|408|404)$/.test((error as Error).message)) {
        this.#end = 'lost';
        if (this.session.state === SessionState.Established) bye(this.session);
      }
      throw error;
    }
  }
  know(matched: Matched): void {
    const { call_id, leg_id, placed, there, held_there, held_since } = matched;
    const shown = this.#shown;
    const number = matched.number || shown.number;
    // The name of a peer that was replaced is dropped.
    const name = matched.name || (placed === null || number === shown.number ? shown.name : '');
    const connected_at = matched.connected_at ?? shown.connected_at;
    const next = { call_id, leg_id, placed, there, held_there, held_since, connected_at, name, number };
    const keys = Object.keys(next) as (keyof typeof next)[];
    if (keys.some((key) => shown[key] !== next[key])) this.#show(next);
  }
  /** The call rang here and another device answered it. */
  taken(): void {
    if (this.#maybeTaken && this.#shown.state === 'ended' && this.#shown.end !== 'answered_elsewhere')
      this.#show({ end: 'answered_elsewhere' });
  }
  /** The call rang here and ended for this reason, by the event `call.left` of its leg. */
  rangOut(reason: LeftReason): void {
    const { direction, state, answered, end } = this.#shown;
    if (direction === 'out' || state !== 'ended' || answered !== null || this.#end !== null) return;
    const known = reason === 'answered_elsewhere' ? 'answered_elsewhere' : 'missed';
    if (end !== known) this.#show({ end: known });
  }
  /** The call rang here without an answer. */
  missed(): void {
    if (this.#shown.state === 'ended' && this.#shown.end === null) this.#show({ end: 'missed' });
  }
  /** Throws `MicrophoneError`. */
  useMicrophone(): Promise<void> {
    return this.#audio.replaceMicrophone();
  }
  useSpeaker(): void {
    this.#audio.useSpeaker();
  }
  async measure(seconds: number): Promise<void> {
    const { connection } = this.#audio;
    if (connection === undefined || this.#shown.state !== 'talking') return;
    const counted = await countOf(connection).catch(() => null);
    if (counted === null) return;
    this.#meter.add(counted, seconds);
    if (this.#shown.state === 'talking') this.#show({ quality: this.#meter.now });
  }
  report(): QualityReport | null {
    return this.#meter.report();
  }

  #show(change: Partial<PhoneCall>): void {
    this.#shown = { ...this.#shown, ...change };
    this.#onChange();
  }
  /** In sequence: SIP accepts one offer of a side at a time. */
  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#working.then(work, work);
    this.#working = next.catch(() => undefined);
    return next;
  }
  /** Before sending: without a microphone a call is neither placed nor answered. */
  async #openMicrophone(): Promise<void> {
    await this.#audio.openMicrophone();
    // The call may have ended while the browser asked.
    if (this.session.state === SessionState.Terminated) this.#audio.stopMicrophone();
  }
  #onPath(path: 'connected' | 'interrupted' | 'failed'): void {
    if (path === 'failed') void this.#mendUntilConnected();
    else this.#show({ mending: path === 'interrupted' });
  }
  /** Repeats the repair until the path is connected, because the repair may need a server that is unreachable, too. */
  async #mendUntilConnected(): Promise<void> {
    if (this.#mends) return;
    this.#mends = true;
    for (let attempt = 0; this.session.state === SessionState.Established; attempt += 1) {
      await this.mend().catch(() => undefined);
      const pause = MEND_MS[Math.min(attempt, MEND_MS.length - 1)]!;
      await new Promise((resolve) => setTimeout(resolve, pause));
      if (this.#audio.connected) break;
    }
    this.#mends = false;
  }
  #onState(state: SessionState): void {
    if (state === SessionState.Established) {
      this.#audio.play();
      this.#show({ state: 'talking', answered: serverNow() });
    } else if (state === SessionState.Terminated) {
      this.#audio.stop();
      this.#show({ state: 'ended', end: this.#end ?? this.#endByState(), quality: null, mending: false });
    }
  }
  /** The end where no other reason is known; null until it is known whether another device answered. */
  #endByState(): CallEnd | null {
    if (this.#transferring) return 'transferred';
    if (this.#shown.answered !== null) return 'over';
    if (this.#shown.direction === 'out') return 'failed';
    return this.#maybeTaken ? null : 'missed';
  }
}
