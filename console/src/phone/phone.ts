/**
 * The phone of this browser, for every part of the page. SIP and media load when it is switched on; one tab of a browser is the
 * phone, and the others show which one it is and pass calls to it.
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
/** Messages between tabs. */
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
/** True once the person switched the phone on, or tried it again, on this page. */
let startedHere = false;
/** Ends this tab's wait for the phone, or its phone. */
let ending: AbortController | null = null;
const listeners = new Set<Listener>();

const going = (): number => state.calls.filter(isLive).length;
function set(next: Partial<PhoneState>): void {
  const before = going();
  state = { ...state, ...next };
  for (const listener of listeners) listener();
  if (core !== null && going() !== before) sayHere();
}
function setStatus(status: PhoneStatus): void {
  if (status.is === 'ready') startedHere = false;
  set({ status });
}
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
      // A tab with a call keeps the phone.
      // A waiting tab requests the lock again, so that the asking tab is next.
      if (core === null || going() === 0) void restart();
      return;
    case 'call':
      if (core !== null) void core.call(data.number, data.name);
  }
}
/** Waits for the lock of the phone, and holds it until the end. */
function begin(): void {
  if (person === null || settings === null || ending !== null) return;
  // A page at a plain http address has neither a microphone nor locks.
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
    const { Softphone } = await import('./softphone.ts');
    if (end.signal.aborted) return;
    const topic = live.topic('calls', ['mine']);
    const own = new Softphone({
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
  // Without the lock at once, another tab has it, and answers `who` with its title.
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
/** Passes the lock to another tab, and requests it again. */
async function restart(): Promise<void> {
  finish();
  // The other tab's request is ahead of ours.
  await Promise.resolve();
  begin();
}
function change(next: Partial<PhoneSettings>): void {
  if (person === null || settings === null) return;
  settings = { ...settings, ...next };
  writeSettings(person.extension, settings);
  for (const listener of listeners) listener();
}

/** Requests permission once, at the click that switches the phone on, because a call may arrive while the page is hidden. */
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
  /** Null until a person is signed in. */
  get settings(): PhoneSettings | null {
    return settings;
  },
  subscribe: (listener: Listener): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  /** Sets the person of this page, and starts the phone if it was left switched on. */
  use(who: Person): void {
    if (person?.extension === who.extension && person.client === who.client) {
      core?.resume();
      if (settings?.on === true) begin();
      return;
    }
    finish();
    person = who;
    settings = readSettings(who.extension);
    set(OFF);
    if (settings.on) begin();
  },
  /** The session is over: no further calls arrive, running ones continue. */
  retire: (): void => core?.retire(),
  switchOn(): void {
    startedHere = true;
    change({ on: true });
    // Before any await, because browsers ask only during a click.
    void askToNotify();
    begin();
  },
  switchOff(): void {
    startedHere = false;
    change({ on: false });
    finish();
  },
  /** True if the person started the phone on this page: a refusal is shown at once. */
  get startedHere(): boolean {
    return startedHere;
  },
  /** Starts the phone again after a failure. */
  retry(): void {
    startedHere = true;
    finish();
    begin();
  },
  /** Asks the tab that is the phone to pass it to this one. */
  bringHere: (): void => say({ is: 'give' }),
  change,
  /** The softphone of this tab; null where another tab is the phone, or none. */
  get softphone(): Softphone | null {
    return core;
  },
  /** Calls from this browser's phone, in this tab or another. False where it is switched off or cannot be used. */
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
 * Calls a number, shown with `name`: from this browser where its phone is on, else the person's own devices ring first. Rejects
 * with the refusal of the service.
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
/** State of the phone of this browser; each change renders the component. */
export const usePhone = (): PhoneState => useSyncExternalStore(phone.subscribe, () => phone.state);
