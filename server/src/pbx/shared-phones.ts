/** Sign-ins at shared phones: the phone is then a device of the person. */
import type { EventData } from '@offhook/contract/events.ts';
import { rfc3339 } from '../core/clock.ts';
import type { EngineEventOf } from '../ports/engine-events.ts';
import type { EngineSnapshot, SignedIn } from '../ports/engine-state.ts';
import { refreshPresence } from './presence.ts';
import { emit } from './state.ts';
import type { SiteIndex, State, Turn } from './state.ts';

type Why = EventData<'phone.signed_out'>['reason'];

/** Adds the phones at which people are signed in to the devices of a new index. */
export function seatAll({ endpoints, devices, shared }: SiteIndex, signed: State['signed']): void {
  for (const [endpoint, { extension }] of signed) {
    const own = devices.get(extension);
    if (own === undefined || !shared.has(endpoint)) continue;
    endpoints.set(endpoint, { extension, kind: 'sip' });
    devices.set(extension, [...own, { kind: 'sip', name: endpoint }]);
  }
}
function signOut(s: State, t: Turn, endpoint: string, reason: Why): void {
  const before = s.signed.get(endpoint);
  if (before === undefined) return;
  s.signed.delete(endpoint);
  const { extension } = before;
  if (s.site.endpoints.delete(endpoint)) {
    const own = s.site.devices.get(extension) ?? [];
    s.site.devices.set(
      extension,
      own.filter(({ name }) => name !== endpoint),
    );
    refreshPresence(s, t, extension);
  }
  tell(s, t, s.site.shared.get(endpoint), null, reason);
}
function signIn(s: State, t: Turn, endpoint: string, now: SignedIn, reason: Why): void {
  const before = s.signed.get(endpoint);
  if (before?.extension === now.extension && before.since === now.since) return;
  for (const [other, { extension }] of s.signed)
    if (other !== endpoint && extension === now.extension) signOut(s, t, other, 'elsewhere');
  signOut(s, t, endpoint, reason);
  s.signed.set(endpoint, now);
  seatAll(s.site, new Map([[endpoint, now]]));
  refreshPresence(s, t, now.extension);
  tell(s, t, s.site.shared.get(endpoint), now, reason);
}
/** Emits `phone.signed_out` and `phone.signed_in` where this phone differs from its state in the journal. */
function tell(s: State, t: Turn, phone: string | undefined, now: SignedIn | null, reason: Why): void {
  if (phone === undefined) return;
  const published = s.publishedSigned.get(phone);
  const since = now === null ? '' : rfc3339(now.since);
  if (published !== undefined && (published.extension !== now?.extension || published.since !== since)) {
    s.publishedSigned.delete(phone);
    const { extension, name } = published;
    emit(t, 'phone.signed_out', `phones/${phone}`, { phone, extension, name, reason });
  }
  if (now === null || s.publishedSigned.has(phone)) return;
  const { extension } = now;
  const data = { phone, extension, name: s.site.names.get(extension) ?? '', since };
  s.publishedSigned.set(phone, data);
  emit(t, 'phone.signed_in', `phones/${phone}`, data);
}

export function phoneSigned(s: State, t: Turn, event: EngineEventOf<'phone.signed'>): void {
  if (event.now === null) signOut(s, t, event.endpoint, event.by);
  else signIn(s, t, event.endpoint, event.now, 'taken_over');
}
export function pinRefused(s: State, t: Turn, event: EngineEventOf<'phone.pin_refused'>): void {
  const phone = s.site.shared.get(event.endpoint);
  if (phone === undefined) return;
  emit(t, 'phone.sign_in_refused', `phones/${phone}`, { phone, extension: event.extension });
}
export function seeSigned(s: State, t: Turn, signed: EngineSnapshot['signed']): void {
  if (signed === undefined) return;
  for (const endpoint of s.signed.keys()) if (!signed.has(endpoint)) signOut(s, t, endpoint, 'unknown');
  for (const [endpoint, now] of signed) signIn(s, t, endpoint, now, 'unknown');
  closePublished(s, t);
}
/** Closes the sign-ins that the journal has open and that no longer exist, after a snapshot or a changed directory. */
function closePublished(s: State, t: Turn): void {
  const open = new Map<string, SignedIn>();
  for (const [endpoint, now] of s.signed) {
    const phone = s.site.shared.get(endpoint);
    if (phone !== undefined) open.set(phone, now);
  }
  for (const [phone, { extension, name }] of s.publishedSigned) {
    if (open.has(phone)) continue;
    s.publishedSigned.delete(phone);
    emit(t, 'phone.signed_out', `phones/${phone}`, { phone, extension, name, reason: 'unknown' });
  }
}
export function followPhones(s: State, t: Turn): void {
  if (!s.synced) return;
  for (const [endpoint, now] of s.signed) tell(s, t, s.site.shared.get(endpoint), now, 'unknown');
  closePublished(s, t);
}
