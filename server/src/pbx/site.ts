import type { EndpointKind } from '../ports/directory.ts';
import type { SiteEvent } from '../ports/live.ts';
import { touchAgent } from './agent-state.ts';
import { agentOf } from './agents.ts';
import { ownerChanged, touchCall } from './calls.ts';
import { extensionOf, keepsPerson } from './channels.ts';
import { setChannel } from './leg-state.ts';
import { deviceSeen, dropExtension, refreshPresence } from './presence.ts';
import { followPhones, seatAll } from './shared-phones.ts';
import { addTo, emit, takeFrom } from './state.ts';
import { followTrunks } from './trunks.ts';
import type { SiteIndex, State, Turn } from './state.ts';

function indexOf(event: SiteEvent, signed: State['signed']): SiteIndex {
  const names = new Map<string, string>();
  const endpoints = new Map<string, { extension: string; kind: EndpointKind }>();
  const devices = new Map<string, { kind: EndpointKind; name: string }[]>();
  for (const person of event.extensions) {
    names.set(person.extension, person.name);
    devices.set(
      person.extension,
      person.endpoints.map(({ kind, name }) => ({ kind, name })),
    );
    for (const { kind, name } of person.endpoints) endpoints.set(name, { extension: person.extension, kind });
  }
  const index: SiteIndex = {
    names,
    endpoints,
    devices,
    agents: new Set(event.queues.flatMap((queue) => queue.agents)),
    queues: new Map(event.queues.map((queue) => [queue.name, queue])),
    longest: new Map(
      event.pause_reasons.flatMap(({ id, longest_seconds }) =>
        longest_seconds === null ? [] : [[id, longest_seconds] as const],
      ),
    ),
    services: new Set(event.services),
    trunks: new Map(event.trunks.map((trunk) => [trunk.endpoint, trunk])),
    shared: new Map((event.shared_phones ?? []).map(({ endpoint, name }) => [endpoint, name])),
  };
  seatAll(index, signed);
  return index;
}

/** Applies a changed directory: presence, legs and agents follow; the engine's facts are kept. */
export function applySite(s: State, t: Turn, event: SiteEvent): void {
  const before = s.site;
  s.site = indexOf(event, s.signed);
  // After a restart, the extensions of the former site are known only from the journal.
  for (const extension of new Set([...before.devices.keys(), ...s.publishedPresence.keys()])) {
    if (s.site.devices.has(extension)) continue;
    dropExtension(s, extension);
    emit(t, 'presence.removed', `presence/${extension}`, { extension });
  }
  for (const ch of s.channels.values()) {
    const extension = extensionOf(s, ch);
    if (ch.extension === extension || keepsPerson(s, ch)) continue;
    if (ch.extension !== null) takeFrom(s.legsOf, ch.extension, ch.id);
    if (extension !== null) addTo(s.legsOf, extension, ch.id);
    ownerChanged(s, setChannel(s, t, ch, { extension }));
  }
  // A leg shows the name from the directory.
  for (const call of s.calls.values()) touchCall(s, call.id);
  for (const endpoint of s.site.endpoints.keys()) {
    if (s.synced && !s.devices.has(endpoint)) deviceSeen(s, t.at, endpoint, 'UNAVAILABLE');
  }
  for (const extension of s.site.devices.keys()) refreshPresence(s, t, extension);
  followTrunks(s, t);
  followPhones(s, t);
  for (const extension of s.site.agents) agentOf(s, t, extension);
  for (const extension of s.agents.keys()) touchAgent(t, extension);
}
