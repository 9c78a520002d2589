/** Microphones and speakers of this browser. */
import type { PhoneProblem } from './phone-state.ts';

export interface DeviceChoice {
  readonly id: string;
  readonly label: string;
}
export interface Devices {
  readonly microphones: readonly DeviceChoice[];
  /** Empty where the browser offers no choice. */
  readonly speakers: readonly DeviceChoice[];
}
/** The microphone could not be opened. */
export class MicrophoneError extends Error {
  readonly problem: PhoneProblem;
  constructor(problem: PhoneProblem, cause: unknown) {
    super(problem, { cause });
    this.problem = problem;
  }
}
const PROBLEMS: Readonly<Record<string, PhoneProblem>> = {
  NotAllowedError: 'microphone_refused',
  SecurityError: 'microphone_refused',
  NotFoundError: 'no_microphone',
  OverconstrainedError: 'no_microphone',
  NotReadableError: 'microphone_busy',
  AbortError: 'microphone_busy',
};
const sound = (id: string): MediaTrackConstraints => ({
  echoCancellation: true,
  noiseSuppression: true,
  autoGainControl: true,
  ...(id === '' ? {} : { deviceId: { exact: id } }),
});

/** Opens the chosen microphone, or the default where that one is gone. Throws `MicrophoneError`. */
export async function openMicrophone(id: string): Promise<MediaStream> {
  if (!isSecureContext) throw new MicrophoneError('insecure', null);
  // Undefined in spite of its type, for example where a policy disables it.
  const media = navigator.mediaDevices as MediaDevices | undefined;
  if (media === undefined || typeof RTCPeerConnection === 'undefined') {
    throw new MicrophoneError('unsupported', null);
  }
  const ask = (which: string): Promise<MediaStream> => media.getUserMedia({ audio: sound(which) });
  try {
    return await ask(id).catch((error: unknown) => {
      if (id === '' || !(error instanceof DOMException) || error.name !== 'OverconstrainedError') throw error;
      return ask('');
    });
  } catch (error) {
    const name = error instanceof DOMException ? error.name : '';
    throw new MicrophoneError(PROBLEMS[name] ?? 'failed', error);
  }
}
export function stopStream(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}
/** Checks for a microphone, without opening it where permission is granted already. Throws `MicrophoneError`. */
export async function checkMicrophone(id: string): Promise<void> {
  const known = await navigator.permissions.query({ name: 'microphone' as PermissionName }).catch(() => null);
  if (known?.state === 'granted' && isSecureContext) {
    const all = await navigator.mediaDevices.enumerateDevices();
    if (all.some((device) => device.kind === 'audioinput')) return;
  }
  stopStream(await openMicrophone(id));
}

/** Labels are empty until a microphone was allowed. */
export async function listDevices(): Promise<Devices> {
  const all = await navigator.mediaDevices.enumerateDevices();
  const of = (kind: MediaDeviceKind): DeviceChoice[] =>
    all
      .filter((d) => d.kind === kind && d.deviceId !== 'default' && d.deviceId !== '')
      .map((d, i) => ({ id: d.deviceId, label: d.label === '' ? `${i + 1}` : d.label }));
  return { microphones: of('audioinput'), speakers: of('audiooutput') };
}
/** Plays on a speaker; on the default one if it is gone or the browser offers no choice. */
export async function playOn(player: HTMLAudioElement, speaker: string): Promise<void> {
  if (!('setSinkId' in player)) return;
  await player.setSinkId(speaker).catch(() => player.setSinkId(''));
}

/** Reports the level of a stream, 0 to 1, until the returned function is called. */
export function levelOf(stream: MediaStream, onLevel: (level: number) => void): () => void {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  analyser.fftSize = 1_024;
  context.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const timer = setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, s) => sum + s * s, 0) / samples.length;
    // From -60 dB, a whisper, to full scale, a shout.
    onLevel(Math.min(1, Math.max(0, (10 * Math.log10(power + 1e-9) + 60) / 60)));
  }, 80);
  return () => {
    clearInterval(timer);
    void context.close();
  };
}
