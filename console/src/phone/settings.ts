/** Settings of a person's phone, stored in this browser. */
export interface PhoneSettings {
  readonly on: boolean;
  /** Device ids of the browser; empty for the default. */
  readonly microphone: string;
  readonly speaker: string;
  readonly ringer: string;
  /** Notify of calls while the page is hidden. */
  readonly notify: boolean;
  /** Whether permission for notifications was requested; the phone does so once. */
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
