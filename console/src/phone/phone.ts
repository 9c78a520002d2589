/**
 * The phone of this browser, for every part of the page. SIP and media are loaded once it is switched on; one tab of a browser is
 * the phone, the others say where it is and pass calls on to it.
 */
import { useCallback, useSyncExternalStore } from 'react';
import type { Client } from '@offhook/client';
import type { Live } from '../app/live.ts';
import { useClient } from '../app/session.tsx';
import { isLive } from './phone-state.ts';
import type { PhoneState, PhoneStatus } from './phone-state.ts';
import { readSettings, settingsName, writeSettings } from './settings.ts';
import type { PhoneSettings } from './settings.ts';
import type { Softphone } from './softphone.ts';

type Listener = () => void;
/** What tabs tell each other. */
type Word =
  | { readonly is: 'who' }
  | { readonly is: 'here'; readonly page: string; readonly calls: number }
  | { readonly is: 'give' }
  | { readonly is: 'call'; readonly number: string; readonly name: string };
interface Person {
  readonly extension: string;
  readonly client: Client;
  readonly live: Live;
}
const OFF: PhoneState = { status: { is: 'off' }, calls: [], trouble: null };

let state = OFF;
let settings: PhoneSettings | null = null;
let person: Person | null = null;
let core: Softphone | null = null;
let channel: BroadcastChannel | null = null;
/** Ends what this tab waits for, or is. */
let ending: AbortController | null = null;
const listeners = new Set<Listener>();

const going = (): number => state.calls.filter(isLive).length;
function set(next: Partial<PhoneState>): void {
  const before = going();
  state = { ...state, ...next };
  for (const listener of listeners) listener();
  if (core !== null && going() !== before) sayHere();
}
const setStatus = (status: PhoneStatus): void => set({ status });
const say = (word: Word): void => channel?.postMessage(word);
const sayHere = (): void => say({ is: 'here', page: document.title, calls: going() });

function hear({ data }: MessageEvent<Word>): void {
  switch (data.is) {
    case 'who':
      if (core !== null) sayHere();
      return;
    case 'here':
      if (core === null) setStatus({ is: 'elsewhere', page: data.page, calls: data.calls });
      return;
    case 'give':
      // A call is not torn from where its sound is.
      // Who only waits asks again too, so that the one who asked is next.
      if (core === null || going() === 0) void restart();
      return;
    case 'call':
      if (core !== null) void core.call(data.number, data.name);
  }
}
/** Waits to be the tab that is the phone, and is it until the end. */
function begin(): void {
  if (person === null || settings === null || ending !== null) return;
  // A page on a plain http address has neither a microphone nor locks.
  if (!isSecureContext) return setStatus({ is: 'refused', problem: 'insecure' });
  const { extension, client, live } = person;
  const end = new AbortController();
  ending = end;
  channel = new BroadcastChannel(`offhook.phone.${extension}`);
  channel.addEventListener('message', hear);
  setStatus({ is: 'starting' });
  say({ is: 'who' });
  const be = async (): Promise<void> => {
    if (end.signal.aborted) return;
    const { createSoftphone } = await import('./softphone.ts');
    if (end.signal.aborted) return;
    const topic = live.topic('calls', ['mine']);
    const own = createSoftphone({
      client,
      settings: () => settings!,
      onChange: (next) => {
        if (core === own) set(next);
      },
      liveCalls: {
        now: () => topic.records.values(),
        isStale: () => topic.state.stale,
        subscribe: (listener) => topic.subscribe(listener),
        onEvent: (listener) => topic.onEvent(listener),
      },
    });
    core = own;
    sayHere();
    await own.start();
    await new Promise<void>((resolve) =>
      end.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    core = null;
    await own.stop();
  };
  const name = `offhook.phone.${extension}`;
  // Without the lock at once, another tab has it: it answers `who` with where it is.
  void navigator.locks
    .request(name, { ifAvailable: true }, async (lock) => {
      if (lock !== null) return be();
      if (state.status.is === 'starting') setStatus({ is: 'elsewhere', page: null, calls: 0 });
      void navigator.locks.request(name, { signal: end.signal }, be).catch(failed);
    })
    .catch(failed);
  function failed(error: unknown): void {
    if (end.signal.aborted) return;
    console.error(error);
    setStatus({ is: 'refused', problem: 'failed' });
  }
}
function finish(): void {
  ending?.abort();
  ending = null;
  channel?.close();
  channel = null;
  set(OFF);
}
/** Lets another tab be the phone, and waits for the next turn. */
async function restart(): Promise<void> {
  finish();
  // The other one has asked first: its request is ahead of ours.
  await Promise.resolve();
  begin();
}
function change(next: Partial<PhoneSettings>): void {
  if (person === null || settings === null) return;
  settings = { ...settings, ...next };
  writeSettings(person.extension, settings);
  for (const listener of listeners) listener();
}

/** At the press that switches the phone on, once: from then on a call may come while nobody looks at the page. */
async function askToNotify(): Promise<void> {
  if (settings === null || settings.asked || !isSecureContext || typeof Notification === 'undefined') return;
  const who = person;
  change({ asked: true });
  const { permission } = Notification;
  const now = permission === 'default' ? await Notification.requestPermission() : permission;
  if (now === 'granted' && person === who) change({ notify: true });
}

/** Switched on or off in another tab of this browser. */
function follow({ key }: StorageEvent): void {
  if (person === null || settings === null || key !== settingsName(person.extension)) return;
  const was = settings.on;
  settings = readSettings(person.extension);
  if (settings.on === was) return;
  if (settings.on) begin();
  else finish();
}
addEventListener('storage', follow);

export const phone = {
  get state(): PhoneState {
    return state;
  },
  /** Null before somebody is signed in. */
  get settings(): PhoneSettings | null {
    return settings;
  },
  subscribe: (listener: Listener): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  /** Who uses this page; their phone begins where it was left on. */
  use(who: Person): void {
    if (person?.extension === who.extension && person.client === who.client) {
      if (settings?.on === true) begin();
      return;
    }
    finish();
    person = who;
    settings = readSettings(who.extension);
    set(OFF);
    if (settings.on) begin();
  },
  /** The session is over: no calls come any more, those that go on are finished. */
  retire: (): void => core?.retire(),
  switchOn(): void {
    change({ on: true });
    // Before anything is waited for: browsers only ask at a press.
    void askToNotify();
    begin();
  },
  switchOff(): void {
    change({ on: false });
    finish();
  },
  /** After trouble: from the beginning. */
  retry(): void {
    finish();
    begin();
  },
  /** Asks the tab that is the phone to let it go. */
  bringHere: (): void => say({ is: 'give' }),
  change,
  /** What the panel steers; null where the phone is not in this tab. */
  get softphone(): Softphone | null {
    return core;
  },
  /** Calls from this browser's phone, or from the tab that is it. False where it is switched off or cannot be used. */
  call(number: string, name = ''): boolean {
    const { is } = state.status;
    if (core !== null && is !== 'refused') {
      void core.call(number, name);
      return true;
    }
    if (is !== 'elsewhere') return false;
    say({ is: 'call', number, name });
    return true;
  },
};

/**
 * Calls a number, and says `name` of it: from this browser where its phone is on, else the person's own devices ring first. Rejects with what the
 * service says where it refuses.
 */
export function useCalling(): (number: string, name?: string) => Promise<'browser' | 'devices'> {
  const client = useClient();
  return useCallback(
    async (number, name) => {
      if (phone.call(number, name)) return 'browser';
      await client.calls.originate({ to: number });
      return 'devices';
    },
    [client],
  );
}
/** What the phone of this browser is and does; drawn anew with every word of it. */
export const usePhone = (): PhoneState => useSyncExternalStore(phone.subscribe, () => phone.state);
