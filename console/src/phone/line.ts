/** The phone's connection to the exchange: registration, and reconnecting after the network was away. */
import { UserAgent, Web } from 'sip.js';
import type { Invitation } from 'sip.js';
import type { Client, LoginResult } from '@offhook/client';
import { serverNow } from '../app/now.ts';
import { microphoneOf } from './call-audio.ts';
import { MicrophoneError, checkMicrophone } from './devices.ts';
import type { LiveCalls } from './follow-calls.ts';
import type { PhoneProblem, PhoneStatus } from './phone-state.ts';
import { RegistrationRefused, createRegistration } from './registration.ts';
import type { Registration } from './registration.ts';
import type { PhoneSettings } from './settings.ts';

export interface LineDeps {
  readonly client: Client;
  readonly settings: () => PhoneSettings;
  readonly liveCalls: LiveCalls;
  readonly onInvite: (invitation: Invitation) => void;
  readonly onStatus: () => void;
  /** Called after each registration. */
  readonly onReady: () => void;
}
const BACKOFF_MS = [500, 1_000, 2_000, 4_000];
/** Well below the hour for which TURN credentials are valid. */
const CREDENTIALS_MS = 20 * 60_000;

/** Limit for the first ICE candidate of an offer or answer. */
const FIRST_CANDIDATE_MS = 4_000;
const CANDIDATE = 'a=candidate:';
/** The own description once it has a candidate; null where none was found in time. */
async function sdpWithCandidate(peer: RTCPeerConnection | undefined): Promise<string | null> {
  if (peer === undefined) return null;
  const now = (): string | null => {
    const sdp = peer.localDescription?.sdp;
    return sdp?.includes(CANDIDATE) === true ? sdp : null;
  };
  if (now() !== null || peer.iceGatheringState === 'complete') return now();
  return await new Promise((resolve) => {
    const look = (): void => {
      if (now() !== null || peer.iceGatheringState === 'complete') done();
    };
    const kinds = ['icecandidate', 'icegatheringstatechange'];
    const done = (): void => {
      clearTimeout(timer);
      for (const kind of kinds) peer.removeEventListener(kind, look);
      resolve(now());
    };
    const timer = setTimeout(done, FIRST_CANDIDATE_MS);
    for (const kind of kinds) peer.addEventListener(kind, look);
  });
}

export class SoundHandler extends Web.SessionDescriptionHandler {
  /**
   * An offer without an ICE candidate is not sent: the exchange's answer would end the call. A machine under load may need longer than
   * the usual limit for its first one.
   */
  override async getDescription(
    ...args: Parameters<Web.SessionDescriptionHandler['getDescription']>
  ): ReturnType<Web.SessionDescriptionHandler['getDescription']> {
    const found = await super.getDescription(...args);
    if (found.body.includes(CANDIDATE)) return found;
    const body = await sdpWithCandidate(this.peerConnection);
    if (body === null) throw new Error('no ICE candidate was found for the audio');
    return { ...found, body };
  }
  /** Without it, the connection keeps an offer that was refused or not sent, and refuses every later one. */
  async rollbackDescription(): Promise<void> {
    const peer = this.peerConnection;
    if (peer?.signalingState === 'have-local-offer') await peer.setLocalDescription({ type: 'rollback' });
    else if (peer?.signalingState === 'have-remote-offer')
      await peer.setRemoteDescription({ type: 'rollback' });
  }
}

export class Line {
  readonly #deps: LineDeps;
  readonly #stopping = new AbortController();
  readonly #unwatch: () => void;
  #status: PhoneStatus = { is: 'starting' };
  #agent: UserAgent | null = null;
  #registration: Registration | null = null;
  #sip: LoginResult['sip'] | null = null;
  #retired = false;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #renewing: ReturnType<typeof setInterval> | undefined;
  #attempt = 0;
  #connecting: Promise<void> | null = null;

  constructor(deps: LineDeps) {
    this.#deps = deps;
    this.#unwatch = this.#watchStream();
  }
  get status(): PhoneStatus {
    return this.#status;
  }
  /** Null until the first connection. */
  get agent(): UserAgent | null {
    return this.#agent;
  }
  /** SIP user of this browser; null until the first connection. */
  get endpoint(): string | null {
    return this.#sip?.webrtc_username ?? null;
  }
  /** ICE servers with new credentials; the known ones while the service is unreachable. */
  async iceServers(): Promise<RTCIceServer[]> {
    await this.#readSip().catch(() => undefined);
    return this.#known;
  }
  get retired(): boolean {
    return this.#retired;
  }
  async start(): Promise<void> {
    addEventListener('online', this.#onOnline);
    addEventListener('offline', this.#onOffline);
    this.#deps.onStatus();
    this.#renewing = setInterval(() => void this.iceServers(), CREDENTIALS_MS);
    await this.#connect();
  }
  /** Takes no further calls. */
  retire(): void {
    this.#retired = true;
    this.#registration?.end();
  }
  /** Takes calls again after `retire`. */
  resume(): void {
    if (!this.#retired) return;
    this.#retired = false;
    this.#setStatus({ is: 'starting' });
    void this.#connect();
  }
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#retry);
    clearInterval(this.#renewing);
    this.#unwatch();
    removeEventListener('online', this.#onOnline);
    removeEventListener('offline', this.#onOffline);
    await this.#agent?.stop().catch(() => undefined);
  }

  #setStatus(next: PhoneStatus): void {
    this.#status = next;
    this.#deps.onStatus();
  }
  #refuse(problem: PhoneProblem): void {
    this.#setStatus({ is: 'refused', problem });
  }
  get #known(): RTCIceServer[] {
    const turn = this.#sip?.turn ?? null;
    return turn === null ? [] : [{ ...turn }];
  }
  async #readSip(): Promise<LoginResult['sip']> {
    const { sip } = await this.#deps.client.session.sip(this.#stopping.signal);
    this.#sip = sip;
    return sip;
  }
  #connect(): Promise<void> {
    clearTimeout(this.#retry);
    this.#connecting ??= this.#attemptOnce().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }
  async #attemptOnce(): Promise<void> {
    if (this.#stopping.signal.aborted || this.#retired) return;
    try {
      if (this.#registration === null) await this.#begin();
      else await this.#renew(this.#registration);
      this.#attempt = 0;
      if (this.#status.is === 'ready') return;
      this.#setStatus({ is: 'ready' });
      this.#deps.onReady();
    } catch (error) {
      if (this.#status.is === 'refused' || this.#stopping.signal.aborted) return;
      if (error instanceof MicrophoneError) return this.#refuse(error.problem);
      if (error instanceof RegistrationRefused) return this.#refuse('sign_in_refused');
      if (this.#status.is !== 'away') this.#setStatus({ is: 'away', since: serverNow() });
      const wait = BACKOFF_MS[Math.min(this.#attempt, BACKOFF_MS.length - 1)]!;
      this.#attempt += 1;
      // Jitter, so that the pages of an office do not return at the same moment.
      this.#connectIn(wait * (0.75 + Math.random() / 2));
    }
  }
  #connectIn(ms: number): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#connect(), ms);
  }
  /** A session that replaced another one, as after a new password, has another SIP password. */
  async #renew(on: Registration): Promise<void> {
    try {
      await on.renew();
    } catch (error) {
      if (!(error instanceof RegistrationRefused) || this.#agent === null) throw error;
      const before = this.#sip?.sip_password;
      const sip = await this.#readSip();
      if (sip.sip_password === before) throw error;
      this.#agent.configuration.authorizationPassword = sip.sip_password;
      await on.renew();
    }
  }
  async #begin(): Promise<void> {
    const { settings, onInvite } = this.#deps;
    await checkMicrophone(settings().microphone);
    // The SIP password is read for each connection and stored nowhere else.
    const sip = await this.#readSip();
    const uri = UserAgent.makeURI(`sip:${sip.webrtc_username}@${sip.domain}`);
    if (uri === undefined) throw new Error('no address to register');
    const fresh = new UserAgent({
      uri,
      authorizationUsername: sip.webrtc_username,
      authorizationPassword: sip.sip_password,
      userAgentString: 'Offhook console',
      logBuiltinEnabled: false,
      transportOptions: { server: sip.ws_url, connectionTimeout: 5, keepAliveInterval: 0 },
      sessionDescriptionHandlerFactory: (session) =>
        new SoundHandler(session.userAgent.getLogger('media'), () => Promise.resolve(microphoneOf(session)), {
          iceGatheringTimeout: 500,
          peerConnectionConfiguration: { iceServers: this.#known },
        }),
      delegate: { onInvite, onDisconnect: () => this.#lost() },
    });
    await fresh.start();
    this.#agent = fresh;
    this.#registration = createRegistration(fresh, () => {
      if (this.#status.is === 'ready') this.#lost();
    });
    await this.#registration.renew();
  }
  #lost(): void {
    if (this.#stopping.signal.aborted || this.#retired) return;
    if (this.#status.is === 'away' || this.#status.is === 'refused') return;
    this.#setStatus({ is: 'away', since: serverNow() });
    this.#attempt = 0;
    this.#connectIn(BACKOFF_MS[0]! * Math.random());
  }
  /** The socket may belong to the previous network: it is opened again. */
  readonly #onOnline = (): void => {
    this.#attempt = 0;
    this.#registration?.drop();
    void this.#connect();
  };
  readonly #onOffline = (): void => {
    if (this.#status.is === 'ready') this.#setStatus({ is: 'away', since: serverNow() });
  };
  /** The stream and the SIP socket share a network: where the stream is lost or returns, the registration is checked. */
  #watchStream(): () => void {
    const { liveCalls } = this.#deps;
    let heard = !liveCalls.isStale();
    return liveCalls.subscribe(() => {
      const hears = !liveCalls.isStale();
      if (hears === heard) return;
      heard = hears;
      if (this.#registration === null || (hears && this.#status.is === 'ready')) return;
      this.#attempt = 0;
      void this.#connect();
    });
  }
}
