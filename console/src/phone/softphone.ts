/** The phone of this page: its calls on a `Line`. Loaded once the phone is switched on. */
import { Inviter, SessionState, UserAgent } from 'sip.js';
import type { Invitation } from 'sip.js';
import type { Client } from '@offhook/client';
import { followCalls } from './follow-calls.ts';
import type { LiveCalls } from './follow-calls.ts';
import { holdingOthers } from './hold-others.ts';
import { MicrophoneError, openMicrophone } from './devices.ts';
import { Line } from './line.ts';
import { dialled, isTone } from './number.ts';
import { isLive, isUp } from './phone-state.ts';
import type { PhoneCall, PhoneState, PhoneTrouble } from './phone-state.ts';
import { beginNotices } from './notices.ts';
import { createReporter } from './reporter.ts';
import type { PhoneSettings } from './settings.ts';
import { SipCall } from './sip-call.ts';
import { createSounder, toneOf } from './tones.ts';
import type { Tone } from './tones.ts';

export interface SoftphoneDeps {
  readonly client: Client;
  readonly settings: () => PhoneSettings;
  readonly onChange: (state: Pick<PhoneState, 'status' | 'calls' | 'trouble'>) => void;
  /** The calls of this person by the events of the exchange. */
  readonly liveCalls: LiveCalls;
}
const MEASURE_MS = 2_000;
/** Time an ended call stays visible with its reason. */
const ENDED_MS = 5_000;
/** Wait for the event of an answer elsewhere, which arrives well within it. */
const BYID_MS = 1_500;
/** A person cannot handle more calls at once. */
const MOST_CALLS = 4;

export class Softphone {
  readonly #deps: SoftphoneDeps;
  readonly #calls: SipCall[] = [];
  readonly #sounder = createSounder();
  readonly #reporter: ReturnType<typeof createReporter>;
  readonly #notices = beginNotices();
  readonly #line: Line;
  /** Reads the state of the calls from the stream. */
  readonly #follow: ReturnType<typeof followCalls>;
  readonly #measuring: ReturnType<typeof setInterval>;
  /** Calls hung up here whose end the exchange has not confirmed. */
  readonly #unheard = new Set<PhoneCall>();
  #trouble: PhoneTrouble | null = null;
  #endTone: { readonly name: string; readonly end: () => void } | null = null;

  constructor(deps: SoftphoneDeps) {
    const { client, settings, liveCalls } = deps;
    this.#deps = deps;
    this.#reporter = createReporter(client);
    this.#line = new Line({
      client,
      settings,
      liveCalls,
      onInvite: (invitation) => this.#take(invitation),
      onStatus: () => {
        if (this.#line.status.is === 'ready' && this.#trouble === 'away') this.#trouble = null;
        this.#changed();
      },
      onReady: () => this.#onReady(),
    });
    this.#measuring = setInterval(() => {
      for (const call of this.#calls) void call.measure(MEASURE_MS / 1000);
    }, MEASURE_MS);
    this.#follow = followCalls(client, liveCalls, () => {
      const { endpoint } = this.#line;
      return endpoint === null ? null : { calls: this.#calls, endpoint };
    });
  }

  async start(): Promise<void> {
    addEventListener('pagehide', this.#onPageHide);
    addEventListener('beforeunload', this.#onBeforeUnload);
    await this.#line.start();
  }
  /** Accepts no further calls; running ones continue. */
  retire(): void {
    this.#line.retire();
  }
  /** Accepts calls again after `retire`. */
  resume(): void {
    this.#line.resume();
  }
  /** Hangs up and unregisters. */
  async stop(): Promise<void> {
    clearInterval(this.#measuring);
    this.#follow.end();
    for (const call of this.#calls) call.hangUp();
    this.#endTone?.end();
    this.#notices.close();
    removeEventListener('pagehide', this.#onPageHide);
    removeEventListener('beforeunload', this.#onBeforeUnload);
    await this.#line.stop();
    this.#sounder.close();
  }

  /** `name`: name of the called person, if known. */
  call(number: string, name: string): Promise<void> {
    return this.#place(number, name, null);
  }
  answer(id: string): Promise<void> {
    return this.#steered(async () => {
      const call = this.#find(id);
      if (call === undefined) return;
      await holdingOthers(this.#calls, call, () => call.answer());
    }, 'failed');
  }
  hangUp(id: string): void {
    const call = this.#find(id);
    if (call === undefined) return;
    const was = call.shown;
    if (isUp(was)) this.#unheard.add(was);
    call.hangUp(() => this.#unheard.delete(was));
  }
  hold(id: string, on: boolean): Promise<void> {
    return this.#steered(async () => {
      const call = this.#find(id);
      if (call === undefined) return;
      if (on) await call.hold(true);
      else await holdingOthers(this.#calls, call, () => call.hold(false));
    }, 'hold_refused');
  }
  mute(id: string, on: boolean): void {
    this.#find(id)?.mute(on);
  }
  tones(id: string, keys: string): void {
    for (const key of keys) {
      if (!isTone(key)) continue;
      this.#find(id)?.tones(key);
      this.#sounder.key(key, this.#deps.settings().speaker);
    }
  }
  /** Blind transfer. */
  async transfer(id: string, number: string): Promise<void> {
    const to = dialled(number);
    if (to === null) return this.#setTrouble('not_a_number');
    return await this.#steered(() => this.#find(id)?.transfer(to), 'transfer_refused');
  }
  /** Holds the call and calls a number first; `join` completes the transfer, hanging up returns to the call. */
  async consult(id: string, number: string, name: string): Promise<void> {
    if (this.#find(id) !== undefined) await this.#place(number, name, id);
  }
  /** Connects the other sides of two calls and leaves both. */
  async join(id: string, other: string): Promise<void> {
    const [first, second] = [this.#find(id), this.#find(other)];
    if (first === undefined || second === undefined) return;
    await this.#steered(() => first.transfer(second), 'transfer_refused');
  }
  /** The settings changed: running calls use the new devices. */
  async devicesChanged(): Promise<void> {
    for (const call of this.#calls) {
      if (!isLive(call.shown)) continue;
      call.useSpeaker();
      await this.#attempted(call.useMicrophone(), 'device_gone');
    }
  }
  test(tone: 'ring' | 'test'): void {
    const { ringer, speaker } = this.#deps.settings();
    this.#playOnce(tone, tone === 'ring' ? ringer : speaker);
  }
  dismiss(): void {
    this.#setTrouble(null);
  }

  #shown(): readonly PhoneCall[] {
    return this.#calls.map((call) => call.shown);
  }
  #find(id: string): SipCall | undefined {
    return this.#calls.find((call) => call.id === id && isLive(call.shown));
  }
  #isFull(): boolean {
    return this.#calls.filter((call) => isLive(call.shown)).length >= MOST_CALLS;
  }
  #changed(): void {
    this.#sound();
    this.#notices.show(this.#shown(), this.#deps.settings().notify);
    this.#deps.onChange({ status: this.#line.status, calls: this.#shown(), trouble: this.#trouble });
  }
  #setTrouble(next: PhoneTrouble | null): void {
    this.#trouble = next;
    this.#changed();
  }
  #sound(): void {
    const { ringer, speaker } = this.#deps.settings();
    const wanted = toneOf(this.#shown());
    if (this.#endTone?.name === wanted) return;
    this.#endTone?.end();
    this.#endTone =
      wanted === null
        ? null
        : { name: wanted, end: this.#sounder.play(wanted, wanted === 'ring' ? ringer : speaker) };
  }
  #playOnce(tone: Tone, device: string): void {
    const end = this.#sounder.play(tone, device);
    setTimeout(() => end(), 2_500);
  }
  #fail(error: unknown, otherwise: PhoneTrouble): void {
    this.#setTrouble(error instanceof MicrophoneError ? error.problem : otherwise);
  }
  /** The next step clears the trouble of the one before. */
  async #attempted(work: Promise<void> | undefined, otherwise: PhoneTrouble): Promise<void> {
    if (this.#trouble !== null) this.#setTrouble(null);
    await work?.catch((error: unknown) => this.#fail(error, otherwise));
  }
  /** Fails immediately while the exchange is unreachable: a delayed step could end the call. */
  async #steered(work: () => Promise<void> | undefined, otherwise: PhoneTrouble): Promise<void> {
    if (this.#line.status.is === 'away') return this.#setTrouble('away');
    await this.#attempted(work(), otherwise);
  }

  #onReady(): void {
    for (const call of this.#calls) void call.mend().catch(() => undefined);
    for (const { call_id, leg_id } of this.#unheard) {
      // Ends only this leg, because the state of the call is unknown; sent over the stream, which is known to be live.
      if (leg_id !== null)
        void this.#deps.client.command('calls.hangup', { id: call_id, leg_id }).catch(() => undefined);
    }
    this.#unheard.clear();
  }
  #add(session: Inviter | Invitation, number: string, name: string): SipCall {
    const { settings } = this.#deps;
    const call = new SipCall(
      session,
      { number, name },
      {
        microphone: () => openMicrophone(settings().microphone),
        speaker: () => settings().speaker,
        onMicrophoneLost: (error) => this.#fail(error, 'device_gone'),
        iceServers: () => this.#line.iceServers(),
        onChange: () => this.#changed(),
      },
    );
    // A new call replaces the ended ones: two cards of one person would be confusing.
    for (const old of this.#calls.filter((other) => !isLive(other.shown))) this.#remove(old);
    this.#calls.push(call);
    session.stateChange.addListener((state) => {
      if (state === SessionState.Established) this.#follow.learn();
      if (state === SessionState.Terminated) this.#over(call);
    });
    return call;
  }
  #remove(call: SipCall): void {
    const at = this.#calls.indexOf(call);
    if (at >= 0) this.#calls.splice(at, 1);
  }
  #over(call: SipCall): void {
    // The event of the end may have arrived before the SIP message.
    this.#follow.learn();
    const { end, consultFor, call_id } = call.shown;
    const report = call.report();
    if (report !== null) this.#reporter.send(call_id, report);
    if (end === 'busy' || end === 'failed' || end === 'not_found' || end === 'not_allowed') {
      this.#playOnce('busy', this.#deps.settings().speaker);
    }
    if (end === null) {
      setTimeout(() => {
        if (!this.#deps.liveCalls.isStale()) call.missed();
      }, BYID_MS);
    }
    // The consulted party is gone: resume the call the consultation was for.
    const first = consultFor === null ? undefined : this.#find(consultFor);
    const passedOn = end === 'transferred' || first === undefined || !isUp(first.shown);
    if (!passedOn) void first.hold(false).catch(() => undefined);
    for (const other of this.#calls) if (other.consultFor === call.id) other.consultFor = null;
    setTimeout(() => {
      this.#remove(call);
      this.#changed();
    }, ENDED_MS);
  }
  #take(invitation: Invitation): void {
    if (this.#line.retired || this.#isFull())
      return void invitation.reject({ statusCode: 486 }).catch(() => undefined);
    const { uri, displayName } = invitation.remoteIdentity;
    const number = uri.user ?? '';
    this.#add(invitation, number, displayName === number ? '' : displayName);
    this.#changed();
  }
  async #place(number: string, name: string, consultFor: string | null): Promise<void> {
    const { agent, status } = this.#line;
    const wanted = dialled(number);
    if (wanted === null) return this.#setTrouble('not_a_number');
    if (agent === null || status.is !== 'ready')
      return this.#setTrouble(status.is === 'refused' ? status.problem : 'away');
    if (this.#isFull()) return this.#setTrouble('too_many_calls');
    const target = UserAgent.makeURI(`sip:${encodeURIComponent(wanted)}@${agent.configuration.uri.host}`);
    if (target === undefined) return this.#setTrouble('not_a_number');
    this.#setTrouble(null);
    const place = async (): Promise<void> => {
      const session = new Inviter(agent, target, {
        earlyMedia: true,
        sessionDescriptionHandlerOptions: { constraints: { audio: true, video: false } } as object,
      });
      const call = this.#add(session, wanted, name);
      try {
        await call.place();
        // Not before: until then, `holdingOthers` alone resumes the call before it.
        if (isLive(call.shown)) call.consultFor = consultFor;
      } catch (error) {
        this.#remove(call);
        this.#fail(error, 'failed');
      }
    };
    await holdingOthers(this.#calls, null, place).catch(() => this.#setTrouble('hold_refused'));
  }
  /** The page closes: the peer does not wait for a phone that is gone. */
  readonly #onPageHide = (): void => {
    for (const call of this.#calls) {
      if (!isLive(call.shown)) continue;
      const report = call.report();
      if (report !== null) this.#reporter.sendLast(call.shown.call_id, report);
      call.hangUp();
    }
  };
  readonly #onBeforeUnload = (event: BeforeUnloadEvent): void => {
    if (this.#calls.some((call) => isUp(call.shown))) event.preventDefault();
  };
}
