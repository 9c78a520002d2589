import type { EngineTrunk } from '../../../ports/engine.ts';
import { header } from '../ami/frame.ts';
import type { Frame } from '../ami/frame.ts';
import type { EventDecoder } from './decoding.ts';
import { need } from './decoding.ts';

/*
 * ContactStatus  URI ContactStatus AOR EndpointName RoundtripUsec
 * Registry       ChannelType Username Domain Status
 *
 * ContactStatus: Reachable Unreachable NonQualified Created Removed; sent only when it changes.
 * Username: address of the registration, sip:user@host:port. Status: Registered Rejected Unregistered Stopped.
 * Rows of lists: ContactStatusDetail has Status and RoundtripUsec; OutboundRegistrationDetail has ObjectName, ClientUri and
 * Status.
 */
const contactStatus = header('ContactStatus');
const endpointName = header('EndpointName');
const roundTrip = header('RoundtripUsec');
const status = header('Status');
const channelType = header('ChannelType');
const username = header('Username');
const objectName = header('ObjectName');
const clientUri = header('ClientUri');

type Registration = NonNullable<EngineTrunk['registration']>;
export const isTrunk = (endpoint: string): boolean => endpoint.startsWith('trunk-');

const STATES: Readonly<Record<string, Registration['state']>> = {
  Registered: 'registered',
  Rejected: 'rejected',
  Stopped: 'rejected',
};
const stateOf = (word: string): Registration['state'] => STATES[word] ?? 'pending';
const msOf = (frame: Frame): number | null => {
  const usec = frame.int(roundTrip, 0);
  return usec > 0 ? usec / 1000 : null;
};
const reached = (word: string | undefined): boolean | null =>
  word === 'Reachable' ? true : word === 'Unreachable' ? false : null;

export const contactRow = (frame: Frame): Pick<EngineTrunk, 'reachable' | 'round_trip_ms'> => ({
  reachable: reached(frame.get(status)),
  round_trip_ms: msOf(frame),
});
export const registrationRow = (frame: Frame): readonly [endpoint: string, Registration] => [
  need(frame, objectName),
  { uri: need(frame, clientUri), state: stateOf(need(frame, status)) },
];

const contact: EventDecoder = (frame, at, d) => {
  const endpoint = frame.get(endpointName) ?? '';
  const reachable = reached(frame.get(contactStatus));
  if (reachable === null || !isTrunk(endpoint)) return;
  d.emit({ at, type: 'trunk.contact', endpoint, reachable, round_trip_ms: msOf(frame) });
};
const registry: EventDecoder = (frame, at, d) => {
  if (frame.get(channelType) !== 'PJSIP') return;
  d.emit({
    at,
    type: 'trunk.registration',
    uri: need(frame, username),
    state: stateOf(need(frame, status)),
  });
};

export const trunkEvents = { ContactStatus: contact, Registry: registry } satisfies Record<
  string,
  EventDecoder
>;
