/** Registration, calls, and coming back after the network was away. Loaded once the phone is switched on. */
import { Inviter, SessionState, UserAgent, Web } from 'sip.js';
import type { Invitation } from 'sip.js';
import type { Client, LoginResult } from '@offhook/client';
import { serverNow } from '../app/now.ts';
import { followCalls } from './follow-calls.ts';
import type { LiveCalls } from './follow-calls.ts';
import { MicrophoneError, checkMicrophone, openMicrophone } from './devices.ts';
import { dialled, isTone } from './number.ts';
import { isLive, isUp } from './phone-state.ts';
import type { PhoneCall, PhoneProblem, PhoneState, PhoneStatus, PhoneTrouble } from './phone-state.ts';
import { beginNotices } from './notices.ts';
import { RegistrationRefused, createRegistration } from './registration.ts';
import type { Registration } from './registration.ts';
import { createReporter } from './reporter.ts';
import type { PhoneSettings } from './settings.ts';
import { createSipCall, streamOf } from './sip-call.ts';
import type { SipCall } from './sip-call.ts';
import { createSounder, toneOf } from './tones.ts';
import type { Tone } from './tones.ts';

export interface SoftphoneDeps {
  readonly client: Client;
  readonly settings: () => PhoneSettings;
  readonly onChange: (state: Pick<PhoneState, 'status' | 'calls' | 'trouble'>) => void;
  /** The calls of this person as the exchange sees them. */
  readonly liveCalls: LiveCalls;
}
export interface Softphone {
  start(): Promise<void>;
  /** `name`: whose number it is, as far as that is known. */
  call(number: string, name: string): Promise<void>;
  answer(id: string): Promise<void>;
  hangUp(id: string): void;
  hold(id: string, on: boolean): Promise<void>;
  mute(id: string, on: boolean): void;
  tones(id: string, keys: string): void;
  /** Passes the other side on at once. */
  transfer(id: string, number: string): Promise<void>;
  /** Puts the call on hold and asks there first; `join` passes it on, hanging up goes back to it. */
  consult(id: string, number: string, name: string): Promise<void>;
  /** Connects the other sides of two calls, and leaves both. */
  join(id: string, other: string): Promise<void>;
  /** The settings were changed: the calls that go on use the other devices. */
  devicesChanged(): Promise<void>;
  test(tone: 'ring' | 'test'): void;
  dismiss(): void;
  /** No further calls are taken; what goes on is finished. */
  retire(): void;
  /** Hangs up and unregisters. */
  stop(): Promise<void>;
}
type Sip = LoginResult['sip'];
const MEASURE_MS = 2_000;
/** How long an ended call is shown, with why it ended. */
const ENDED_MS = 5_000;
/** Events tell of an answer well before that. */
const TOLD_MS = 1_500;
/** More than these at once nobody can tell apart. */
const MOST_CALLS = 4;
const BACKOFF_MS = [500, 1_000, 2_000, 4_000];

export function createSoftphone({ client, settings, onChange, liveCalls }: SoftphoneDeps): Softphone {
  const calls: SipCall[] = [];
  const sounder = createSounder();
  const reporter = createReporter(client);
  const notices = beginNotices();
  const stopping = new AbortController();
  let status: PhoneStatus = { is: 'starting' };
  let trouble: PhoneTrouble | null = null;
  let agent: UserAgent | null = null;
  let registration: Registration | null = null;
  /** Hung up here and, for all that is known, not there: somebody listens to silence. */
  const unheard = new Set<PhoneCall>();
  let sip: Sip | null = null;
  let retired = false;
  let endTone: { readonly name: string; readonly end: () => void } | null = null;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let attempt = 0;

  const shown = (): readonly PhoneCall[] => calls.map((call) => call.shown);
  const find = (id: string): SipCall | undefined =>
    calls.find((call) => call.id === id && isLive(call.shown));
  function tell(): void {
    sound();
    notices.show(shown(), settings().notify);
    onChange({ status, calls: shown(), trouble });
  }
  function setStatus(next: PhoneStatus): void {
    status = next;
    if (status.is === 'ready' && trouble === 'away') trouble = null;
    tell();
  }
  function setTrouble(next: PhoneTrouble | null): void {
    trouble = next;
    tell();
  }
  function sound(): void {
    const { ringer, speaker } = settings();
    const wanted = toneOf(shown());
    if (endTone?.name === wanted) return;
    endTone?.end();
    endTone =
      wanted === null
        ? null
        : { name: wanted, end: sounder.play(wanted, wanted === 'ring' ? ringer : speaker) };
  }
  function playOnce(tone: Tone, device: string): void {
    const end = sounder.play(tone, device);
    setTimeout(() => end(), 2_500);
  }
  function fail(error: unknown, otherwise: PhoneTrouble): void {
    setTrouble(error instanceof MicrophoneError ? error.problem : otherwise);
  }
  function refuse(problem: PhoneProblem): void {
    setStatus({ is: 'refused', problem });
  }

  // Registration and its coming back.
  let connecting: Promise<void> | null = null;
  function connect(): Promise<void> {
    clearTimeout(retry);
    connecting ??= attemptOnce().finally(() => {
      connecting = null;
    });
    return connecting;
  }
  async function attemptOnce(): Promise<void> {
    if (stopping.signal.aborted || retired) return;
    try {
      if (registration === null) await begin();
      else await renew(registration);
      attempt = 0;
      if (status.is === 'ready') return;
      setStatus({ is: 'ready' });
      for (const call of calls) void call.mend().catch(() => undefined);
      for (const { call_id, leg_id } of unheard) {
        // Only this leg: what became of the call is not known. By the stream, which is known to live.
        if (leg_id !== null)
          void client.command('calls.hangup', { id: call_id, leg_id }).catch(() => undefined);
      }
      unheard.clear();
    } catch (error) {
      if (status.is === 'refused' || stopping.signal.aborted) return;
      if (error instanceof MicrophoneError) return refuse(error.problem);
      if (error instanceof RegistrationRefused) return refuse('sign_in_refused');
      if (status.is !== 'away') setStatus({ is: 'away', since: serverNow() });
      const wait = BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length - 1)]!;
      attempt += 1;
      // Not all pages of an office at the same moment.
      clearTimeout(retry);
      retry = setTimeout(() => void connect(), wait * (0.75 + Math.random() / 2));
    }
  }
  /** A session that took the place of another, as after a new password, has another SIP password. */
  async function renew(on: Registration): Promise<void> {
    try {
      await on.renew();
    } catch (error) {
      if (!(error instanceof RegistrationRefused) || agent === null) throw error;
      const before = sip?.sip_password;
      ({ sip } = await client.session.sip(stopping.signal));
      if (sip.sip_password === before) throw error;
      agent.configuration.authorizationPassword = sip.sip_password;
      await on.renew();
    }
  }
  async function begin(): Promise<void> {
    await checkMicrophone(settings().microphone);
    // Asked for each time, and kept nowhere but here.
    ({ sip } = await client.session.sip(stopping.signal));
    const uri = UserAgent.makeURI(`sip:${sip.webrtc_username}@${sip.domain}`);
    if (uri === undefined) throw new Error('no address to register');
    const iceServers: RTCIceServer[] = sip.turn === null ? [] : [{ ...sip.turn }];
    const fresh = new UserAgent({
      uri,
      authorizationUsername: sip.webrtc_username,
      authorizationPassword: sip.sip_password,
      userAgentString: 'Offhook console',
      logBuiltinEnabled: false,
      transportOptions: { server: sip.ws_url, connectionTimeout: 5, keepAliveInterval: 0 },
      sessionDescriptionHandlerFactory: (session) =>
        new Web.SessionDescriptionHandler(
          session.userAgent.getLogger('media'),
          () => Promise.resolve(streamOf(session)),
          { iceGatheringTimeout: 500, peerConnectionConfiguration: { iceServers } },
        ),
      delegate: { onInvite: take, onDisconnect: lost },
    });
    await fresh.start();
    agent = fresh;
    registration = createRegistration(fresh, () => {
      if (status.is === 'ready') lost();
    });
    await registration.renew();
  }
  function lost(): void {
    if (stopping.signal.aborted || retired || status.is === 'away' || status.is === 'refused') return;
    setStatus({ is: 'away', since: serverNow() });
    attempt = 0;
    clearTimeout(retry);
    retry = setTimeout(() => void connect(), BACKOFF_MS[0]! * Math.random());
  }
  /** Another network may be under the same socket: it is opened anew. */
  function onOnline(): void {
    attempt = 0;
    registration?.drop();
    void connect();
  }
  /** What the page hears goes the same way: where it stops, and where it goes on, the socket of the phone must show that it lives. */
  let heard = !liveCalls.isStale();
  const unwatch = liveCalls.subscribe(() => {
    const hears = !liveCalls.isStale();
    if (hears === heard) return;
    heard = hears;
    if (registration === null || (hears && status.is === 'ready')) return;
    attempt = 0;
    void connect();
  });
  function onOffline(): void {
    if (status.is === 'ready') setStatus({ is: 'away', since: serverNow() });
  }

  // Calls.
  function add(session: Inviter | Invitation, number: string, name: string): SipCall {
    const call: SipCall = createSipCall(
      session,
      { number, name },
      {
        microphone: () => openMicrophone(settings().microphone),
        speaker: () => settings().speaker,
        onChange: () => {
          tell();
        },
      },
    );
    // What is over makes room for what comes: two cards of one person are one too many.
    for (const old of calls.filter((other) => !isLive(other.shown))) remove(old);
    calls.push(call);
    session.stateChange.addListener((state) => {
      if (state === SessionState.Established) learn();
      if (state !== SessionState.Terminated) return;
      over(call);
    });
    return call;
  }
  function remove(call: SipCall): void {
    const at = calls.indexOf(call);
    if (at >= 0) calls.splice(at, 1);
  }
  function over(call: SipCall): void {
    // The event of the end may have come before the phone heard of it.
    learn();
    const { end, consultFor, call_id } = call.shown;
    const report = call.report();
    if (report !== null) reporter.send(call_id, report);
    if (end === 'busy' || end === 'failed' || end === 'not_found' || end === 'not_allowed') {
      playOnce('busy', settings().speaker);
    }
    if (end === null) {
      setTimeout(() => {
        if (!liveCalls.isStale()) call.missed();
      }, TOLD_MS);
    }
    // Who was asked is gone: back to whom it was asked for.
    const first = consultFor === null ? undefined : find(consultFor);
    const passedOn = end === 'transferred' || first === undefined || !isUp(first.shown);
    if (!passedOn) void first.hold(false).catch(() => undefined);
    for (const other of calls) if (other.consultFor === call.id) other.consultFor = null;
    setTimeout(() => {
      remove(call);
      tell();
    }, ENDED_MS);
  }
  function take(invitation: Invitation): void {
    const tooMany = calls.filter((call) => isLive(call.shown)).length >= MOST_CALLS;
    if (retired || tooMany) return void invitation.reject({ statusCode: 486 }).catch(() => undefined);
    const { uri, displayName } = invitation.remoteIdentity;
    const number = uri.user ?? '';
    add(invitation, number, displayName === number ? '' : displayName);
    tell();
  }
  /** One of them is talked to; the others wait. */
  async function onlyThis(call: SipCall | null): Promise<void> {
    const others = calls.filter((other) => other !== call && other.shown.state === 'talking');
    await Promise.all(others.map((other) => other.hold(true)));
  }
  async function place(number: string, name: string, consultFor: string | null): Promise<void> {
    const wanted = dialled(number);
    if (wanted === null) return setTrouble('not_a_number');
    if (agent === null || status.is !== 'ready')
      return setTrouble(status.is === 'refused' ? status.problem : 'away');
    if (calls.filter((call) => isLive(call.shown)).length >= MOST_CALLS) return setTrouble('too_many_calls');
    const target = UserAgent.makeURI(`sip:${encodeURIComponent(wanted)}@${agent.configuration.uri.host}`);
    if (target === undefined) return setTrouble('not_a_number');
    setTrouble(null);
    try {
      await onlyThis(null);
    } catch {
      return setTrouble('hold_refused');
    }
    const session = new Inviter(agent, target, {
      earlyMedia: true,
      sessionDescriptionHandlerOptions: { constraints: { audio: true, video: false } } as object,
    });
    const call = add(session, wanted, name);
    call.consultFor = consultFor;
    try {
      await call.place();
    } catch (error) {
      remove(call);
      fail(error, 'failed');
      const first = consultFor === null ? undefined : find(consultFor);
      if (first !== undefined) void first.hold(false).catch(() => undefined);
    }
  }
  const measuring = setInterval(() => {
    for (const call of calls) void call.measure(MEASURE_MS / 1000);
  }, MEASURE_MS);
  const { learn, end: unlearn } = followCalls(client, liveCalls, () =>
    sip === null ? null : { calls, endpoint: sip.webrtc_username },
  );
  /** The page goes: the other side does not wait for somebody who is not there any more. */
  function onPageHide(): void {
    for (const call of calls) {
      if (!isLive(call.shown)) continue;
      const report = call.report();
      if (report !== null) reporter.sendLast(call.shown.call_id, report);
      call.hangUp();
    }
  }
  function onBeforeUnload(event: BeforeUnloadEvent): void {
    if (calls.some((call) => isUp(call.shown))) event.preventDefault();
  }
  async function stop(): Promise<void> {
    stopping.abort();
    clearTimeout(retry);
    clearInterval(measuring);
    unlearn();
    unwatch();
    for (const call of calls) call.hangUp();
    endTone?.end();
    notices.close();
    removeEventListener('online', onOnline);
    removeEventListener('offline', onOffline);
    removeEventListener('pagehide', onPageHide);
    removeEventListener('beforeunload', onBeforeUnload);
    if (agent !== null) await agent.stop().catch(() => undefined);
    sounder.close();
  }
  /** Trouble of an earlier step is over with the next. */
  const attempted = async (work: Promise<void> | undefined, otherwise: PhoneTrouble): Promise<void> => {
    if (trouble !== null) setTrouble(null);
    await work?.catch((error: unknown) => fail(error, otherwise));
  };

  /** What nobody can be told now must not be done later, nor end the call for want of an answer. */
  const steered = (work: () => Promise<void> | undefined, otherwise: PhoneTrouble): Promise<void> => {
    if (status.is !== 'away') return attempted(work(), otherwise);
    setTrouble('away');
    return Promise.resolve();
  };

  return {
    async start() {
      addEventListener('online', onOnline);
      addEventListener('offline', onOffline);
      addEventListener('pagehide', onPageHide);
      addEventListener('beforeunload', onBeforeUnload);
      tell();
      await connect();
    },
    call: (number, name) => place(number, name, null),
    answer: (id) =>
      steered(async () => {
        const call = find(id);
        if (call === undefined) return;
        await onlyThis(call);
        await call.answer();
      }, 'failed'),
    hangUp(id) {
      const call = find(id);
      if (call === undefined) return;
      const was = call.shown;
      if (isUp(was)) unheard.add(was);
      call.hangUp(() => unheard.delete(was));
    },
    hold: (id, on) =>
      steered(async () => {
        const call = find(id);
        if (call === undefined) return;
        if (!on) await onlyThis(call);
        await call.hold(on);
      }, 'hold_refused'),
    mute: (id, on) => find(id)?.mute(on),
    tones(id, keys) {
      for (const key of keys) {
        if (!isTone(key)) continue;
        find(id)?.tones(key);
        sounder.key(key, settings().speaker);
      }
    },
    transfer: (id, number) => {
      const to = dialled(number);
      if (to === null) {
        setTrouble('not_a_number');
        return Promise.resolve();
      }
      return steered(() => find(id)?.transfer(to), 'transfer_refused');
    },
    consult: (id, number, name) => (find(id) === undefined ? Promise.resolve() : place(number, name, id)),
    join: (id, other) => {
      const [first, second] = [find(id), find(other)];
      if (first === undefined || second === undefined) return Promise.resolve();
      return steered(() => first.transfer(second), 'transfer_refused');
    },
    async devicesChanged() {
      for (const call of calls) {
        if (!isLive(call.shown)) continue;
        call.useSpeaker();
        await attempted(call.useMicrophone(), 'device_gone');
      }
    },
    test(tone) {
      const { ringer, speaker } = settings();
      playOnce(tone, tone === 'ring' ? ringer : speaker);
    },
    dismiss: () => setTrouble(null),
    retire() {
      retired = true;
      registration?.end();
    },
    stop,
  };
}
