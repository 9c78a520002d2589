import type { SipRefusal } from '../../../ports/engine.ts';
import type { Frame } from '../ami/frame.ts';
import { header } from '../ami/frame.ts';
import { SECURITY_EVENTS, refusalOf } from './security.ts';
import { CHANGED } from '../conf/self-service-contexts.ts';

/*
 * FullyBooted  Status Uptime LastReload
 * Shutdown     Shutdown Restart
 * Reload       Module Status
 * UserEvent    UserEvent(OffhookFeatures) Extension
 *
 * Shutdown: Cleanly Uncleanly; Restart: True False. Reload's Status: 0 success, 1 queued, 2 no such module, 3 error,
 * 4 in progress, 5 uninitialised, 6 not supported.
 */
const restart = header('Restart');
const module = header('Module');
const status = header('Status');
const userEvent = header('UserEvent');
const extension = header('Extension');
const EXTENSION = /^[0-9]{1,20}$/;

/** Messages about the engine itself; they concern the connection and are no facts of the model. */
export type SystemEvent =
  | { readonly type: 'booted' }
  | { readonly type: 'shutdown'; readonly restart: boolean }
  | { readonly type: 'reload'; readonly module: string; readonly status: number }
  /** The engine rejected a SIP request. */
  | { readonly type: 'refusal'; readonly refusal: SipRefusal }
  /** A feature code changed settings of this extension; any dialplan step can send this event, so the store is read. */
  | { readonly type: 'features'; readonly extension: string };

export const SYSTEM_EVENTS: ReadonlySet<string> = new Set([
  'FullyBooted',
  'Shutdown',
  'Reload',
  'UserEvent',
  ...SECURITY_EVENTS,
]);

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
      const who = frame.get(extension) ?? '';
      return frame.get(userEvent) === CHANGED && EXTENSION.test(who)
        ? { type: 'features', extension: who }
        : null;
    }
    default: {
      const refusal = refusalOf(name, frame);
      return refusal === null ? null : { type: 'refusal', refusal };
    }
  }
};
