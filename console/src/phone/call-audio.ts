/** Sound of one SIP session: its microphone, its player and the network path between the two sides. */
import { SessionState } from 'sip.js';
import type { Session, Web } from 'sip.js';
import { playOn, stopStream } from './devices.ts';

export interface CallAudioDeps {
  /** Opens the microphone. Throws `MicrophoneError`. */
  readonly microphone: () => Promise<MediaStream>;
  readonly speaker: () => string;
  /** The open microphone is gone, e.g. unplugged, and no other could be opened. */
  readonly onMicrophoneLost: (error: unknown) => void;
  /** `failed` also where an interruption lasts longer than ICE needs to repair itself. */
  readonly onPath: (path: 'connected' | 'interrupted' | 'failed') => void;
}
/** Time in which ICE repairs a path by itself. */
const ICE_PATIENCE_MS = 4_000;
const microphones = new WeakMap<Session, MediaStream>();
/** The open microphone of a session, for the offers and answers of SIP.js. */
export const microphoneOf = (session: Session): MediaStream => microphones.get(session) ?? new MediaStream();

export class CallAudio {
  readonly #session: Session;
  readonly #deps: CallAudioDeps;
  readonly #player = new Audio();
  #microphone: MediaStream | null = null;
  #muted = false;
  #watched = false;

  constructor(session: Session, deps: CallAudioDeps) {
    this.#session = session;
    this.#deps = deps;
    this.#player.autoplay = true;
  }
  get connection(): RTCPeerConnection | undefined {
    const handler = this.#session.sessionDescriptionHandler as Web.SessionDescriptionHandler | undefined;
    return handler?.peerConnection;
  }
  get connected(): boolean {
    return /^(connected|completed)$/.test(this.connection?.iceConnectionState ?? '');
  }
  get #sender(): RTCRtpSender | undefined {
    return this.connection?.getSenders().find(({ track }) => track?.kind === 'audio');
  }
  /** Throws `MicrophoneError`. */
  async openMicrophone(): Promise<void> {
    this.#microphone = await this.#deps.microphone();
    microphones.set(this.#session, this.#microphone);
    this.#watchMicrophone(this.#microphone);
  }
  /** Changes to the microphone of the settings during the call. Throws `MicrophoneError`. */
  async replaceMicrophone(): Promise<void> {
    if (this.#microphone === null) return;
    const next = await this.#deps.microphone();
    // The call may have ended while the browser asked.
    if (this.#session.state === SessionState.Terminated) return stopStream(next);
    const [track] = next.getAudioTracks();
    stopStream(this.#microphone);
    this.#microphone = next;
    this.#watchMicrophone(next);
    if (track === undefined) return;
    track.enabled = !this.#muted;
    await this.#sender?.replaceTrack(track);
  }
  mute(on: boolean): void {
    this.#muted = on;
    for (const track of this.#microphone?.getTracks() ?? []) track.enabled = !on;
  }
  /** Plays the other side, as soon as the session has a connection. */
  play(): void {
    const peer = this.connection;
    if (peer === undefined) return;
    this.#player.srcObject = new MediaStream(peer.getReceivers().map((receiver) => receiver.track));
    this.useSpeaker();
    void this.#player.play().catch(() => undefined);
    if (this.#watched) return;
    this.#watched = true;
    this.#watch(peer);
  }
  useSpeaker(): void {
    void playOn(this.#player, this.#deps.speaker());
  }
  /** Sets the ICE servers of the next ICE restart. */
  useServers(iceServers: RTCIceServer[]): void {
    const peer = this.connection;
    peer?.setConfiguration({ ...peer.getConfiguration(), iceServers });
  }
  sendTones(keys: string): void {
    const dtmf = this.#sender?.dtmf;
    // Inserted tones replace the buffer, so the tones not yet sent are repeated.
    dtmf?.insertDTMF(dtmf.toneBuffer + keys, 160, 70);
  }
  stop(): void {
    this.stopMicrophone();
    this.#player.srcObject = null;
  }
  stopMicrophone(): void {
    if (this.#microphone !== null) stopStream(this.#microphone);
  }
  /** A stopped track ends without an event, so the event means that the device is gone. */
  #watchMicrophone(stream: MediaStream): void {
    stream.getAudioTracks()[0]?.addEventListener('ended', () => {
      if (this.#microphone === stream) void this.replaceMicrophone().catch(this.#deps.onMicrophoneLost);
    });
  }
  #watch(peer: RTCPeerConnection): void {
    const { onPath } = this.#deps;
    let patience: ReturnType<typeof setTimeout> | undefined;
    peer.addEventListener('iceconnectionstatechange', () => {
      clearTimeout(patience);
      if (this.connected) onPath('connected');
      else if (peer.iceConnectionState === 'failed') onPath('failed');
      else if (peer.iceConnectionState === 'disconnected') {
        onPath('interrupted');
        patience = setTimeout(() => onPath('failed'), ICE_PATIENCE_MS);
      }
    });
  }
}
