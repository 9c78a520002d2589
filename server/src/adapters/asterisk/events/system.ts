import type { EngineEventOf } from '../../../ports/engine-events.ts';
import type { WakeRequest } from '../../../ports/engine-verbs.ts';
import type { SipRefusal } from '../../../ports/engine.ts';
import type { Frame } from '../ami/frame.ts';
import { header } from '../ami/frame.ts';
import { SECURITY_EVENTS, refusalOf } from './security.ts';
import { CHANGED } from '../conf/self-service-contexts.ts';
import { SHARED_PHONE, SIGNED, SIGNED_BY, WRONG_PIN } from '../conf/shared-phone-contexts.ts';
import { SWITCHED } from '../conf/switch-contexts.ts';
import { WAKE, WAKING_CHANNEL } from '../conf/wake-contexts.ts';

/*
 * FullyBooted  Status Uptime LastReload
 * Shutdown     Shutdown Restart
 * Reload       Module Status
 * UserEvent    UserEvent(OffhookFeatures) Extension
 * UserEvent    UserEvent(OffhookPhone) Phone Extension Since(ms) Reason     UserEvent(OffhookWrongPin) Phone Extension
 * UserEvent    UserEvent(OffhookSwitch) Switch To By
 * UserEvent    UserEvent(OffhookWake) Extension Waits(name of the channel) Call
 *
 * Shutdown: Cleanly Uncleanly; Restart: True False. Reload's Status: 0 success, 1 queued, 2 no such module, 3 error,
 * 4 in progress, 5 uninitialised, 6 not supported.
 */
const restart = header('Restart');
const module = header('Module');
const status = header('Status');
const userEvent = header('UserEvent');
const extension = header('Extension');
const waits = header('Waits');
const call = header('Call');
const EXTENSION = /^[0-9]{1,20}$/;
const phone = header('Phone');
const since = header('Since');
const reason = header('Reason');
const switchName = header('Switch');
const switchTo = header('To');
const switchBy = header('By');
type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never;
export type PhoneFact = WithoutTime<EngineEventOf<'phone.signed' | 'phone.pin_refused'>>;
const CALL = /^[A-Za-z0-9.-]{1,80}$/;

/** Messages about the engine itself; they concern the connection and are no facts of the model. */
export type SystemEvent =
  | { readonly type: 'booted' }
  | { readonly type: 'shutdown'; readonly restart: boolean }
  | { readonly type: 'reload'; readonly module: string; readonly status: number }
  /** The engine rejected a SIP request. */
  | { readonly type: 'refusal'; readonly refusal: SipRefusal }
  /** A feature code changed settings of this extension; any dialplan step can send this event, so the store is read. */
  | { readonly type: 'features'; readonly extension: string }
  /** The dialplan signed a person in at a shared phone, or out, or refused to. */
  | { readonly type: 'phone'; readonly fact: PhoneFact }
  /** The dialplan switched a time condition. */
  | { readonly type: 'switch'; readonly fact: SwitchFact }
  /** The dialplan holds a call for an app. */
  | { readonly type: 'wake'; readonly request: WakeRequest };

export const SYSTEM_EVENTS: ReadonlySet<string> = new Set([
  'FullyBooted',
  'Shutdown',
  'Reload',
  'UserEvent',
  ...SECURITY_EVENTS,
]);

const without = (frame: Frame, signed: EngineEventOf<'phone.signed'>['now']): PhoneFact | null => {
  const by = SIGNED_BY.find((one) => one === frame.get(reason));
  const endpoint = frame.get(phone) ?? '';
  return by === undefined ? null : { type: 'phone.signed', endpoint, now: signed, by };
};
function phoneFact(frame: Frame): PhoneFact | null {
  const [name, endpoint = '', who = ''] = [frame.get(userEvent), frame.get(phone), frame.get(extension)];
  if (!SHARED_PHONE.test(endpoint)) return null;
  if (name === WRONG_PIN)
    return { type: 'phone.pin_refused', endpoint, extension: EXTENSION.test(who) ? who : null };
  if (name !== SIGNED) return null;
  if (who === '') return without(frame, null);
  const [at = ''] = /^[0-9]{10,16}$/.exec(frame.get(since) ?? '') ?? [];
  return EXTENSION.test(who) && at !== '' ? without(frame, { extension: who, since: Number(at) }) : null;
}

export type SwitchFact = WithoutTime<EngineEventOf<'night_switch.changed'>>;
function switchFact(frame: Frame): SwitchFact | null {
  const name = frame.get(switchName) ?? '';
  const [to, by] = [frame.get(switchTo) ?? '', frame.get(switchBy) ?? ''];
  if (frame.get(userEvent) !== SWITCHED || !/^[a-z0-9_-]{1,64}$/.test(name)) return null;
  if (to !== '' && to !== 'open' && to !== 'closed') return null;
  return { type: 'night_switch.changed', name, to: to || null, by: EXTENSION.test(by) ? by : null };
}

/** Null for any other event. */
export const systemEvent = (name: string, frame: Frame): SystemEvent | null => {
  switch (name) {
    case 'FullyBooted':
      return { type: 'booted' };
    case 'Shutdown':
      return { type: 'shutdown', restart: frame.get(restart) === 'True' };
    case 'Reload':
      return { type: 'reload', module: frame.get(module) ?? '', status: frame.int(status, 0) };
    case 'UserEvent': {
      const fact = phoneFact(frame);
      if (fact !== null) return { type: 'phone', fact };
      const switched = switchFact(frame);
      if (switched !== null) return { type: 'switch', fact: switched };
      const who = frame.get(extension) ?? '';
      if (!EXTENSION.test(who)) return null;
      const name = frame.get(userEvent);
      if (name === CHANGED) return { type: 'features', extension: who };
      const request = { extension: who, channel: frame.get(waits) ?? '', call: frame.get(call) ?? '' };
      const known = WAKING_CHANNEL.exec(request.channel)?.[1] === who && CALL.test(request.call);
      return name === WAKE && known ? { type: 'wake', request } : null;
    }
    default: {
      const refusal = refusalOf(name, frame);
      return refusal === null ? null : { type: 'refusal', refusal };
    }
  }
};
