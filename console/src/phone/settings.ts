/** What this browser remembers of a person's phone. */
export interface PhoneSettings {
  readonly on: boolean;
  /** Ids of devices as the browser gives them; empty for the system's own choice. */
  readonly microphone: string;
  readonly speaker: string;
  readonly ringer: string;
  /** Tell of calls while the page is hidden. */
  readonly notify: boolean;
  /** Whether the browser was asked for notices by itself; it is once. */
  readonly asked: boolean;
  readonly shortcuts: boolean;
}
const FIRST: PhoneSettings = {
  on: false,
  microphone: '',
  speaker: '',
  ringer: '',
  notify: false,
  asked: false,
  shortcuts: true,
};
export const settingsName = (extension: string): string => `offhook.phone.${extension}`;

export function readSettings(extension: string): PhoneSettings {
  try {
    const kept = JSON.parse(localStorage.getItem(settingsName(extension)) ?? '{}') as Partial<PhoneSettings>;
    return { ...FIRST, ...kept };
  } catch {
    return FIRST;
  }
}
export const writeSettings = (extension: string, settings: PhoneSettings): void =>
  localStorage.setItem(settingsName(extension), JSON.stringify(settings));
