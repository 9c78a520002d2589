import type { EngineTrunkServer } from '../../../ports/engine-state.ts';
import { header } from '../ami/frame.ts';
import type { Frame } from '../ami/frame.ts';
import type { EventDecoder } from './decoding.ts';
import { need } from './decoding.ts';

/*
 * ContactStatus  URI ContactStatus AOR EndpointName RoundtripUsec
 * Registry       ChannelType Username Domain Status
 *
 * ContactStatus: Reachable Unreachable NonQualified Created Removed; sent only when it changes.
 * URI: of the server, sip:host:port;transport=tls. Username: address of the registration, sip:user@host:port. Domain: URI of
 * its server. Status: Registered Rejected Unregistered Stopped.
 * Rows of lists: ContactStatusDetail has URI, Status and RoundtripUsec; OutboundRegistrationDetail has ObjectName, ClientUri,
 * ServerUri and Status.
 */
const contactStatus = header('ContactStatus');
const endpointName = header('EndpointName');
const roundTrip = header('RoundtripUsec');
const status = header('Status');
const channelType = header('ChannelType');
const username = header('Username');
const domain = header('Domain');
const contactUri = header('URI');
const objectName = header('ObjectName');
const clientUri = header('ClientUri');
const serverUri = header('ServerUri');

type Registration = NonNullable<EngineTrunkServer['registration']>;
/** Host and port of `sip:host:port;transport=tls`. */
const serverOf = (uri: string): string => uri.replace(/^sip:/, '').split(';', 1)[0]!;
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

export const contactRow = (frame: Frame): Omit<EngineTrunkServer, 'registration'> => ({
  server: serverOf(need(frame, contactUri)),
  reachable: reached(frame.get(status)),
  round_trip_ms: msOf(frame),
});
/** A registration with a further server of a trunk has a name of its own, `server2-trunk-north`. */
export const registrationRow = (
  frame: Frame,
): readonly [endpoint: string, server: string, registration: Registration] => [
  need(frame, objectName).replace(/^server\d+-/, ''),
  serverOf(need(frame, serverUri)),
  { uri: need(frame, clientUri), state: stateOf(need(frame, status)) },
];

const contact: EventDecoder = (frame, at, d) => {
  const endpoint = frame.get(endpointName) ?? '';
  const word = frame.get(contactStatus);
  const reachable = reached(word);
  if ((reachable === null && word !== 'Removed') || !isTrunk(endpoint)) return;
  const server = serverOf(need(frame, contactUri));
  d.emit({ at, type: 'trunk.contact', endpoint, server, reachable, round_trip_ms: msOf(frame) });
};
const registry: EventDecoder = (frame, at, d) => {
  if (frame.get(channelType) !== 'PJSIP') return;
  d.emit({
    at,
    type: 'trunk.registration',
    server: serverOf(need(frame, domain)),
    uri: need(frame, username),
    state: stateOf(need(frame, status)),
  });
};

export const trunkEvents = { ContactStatus: contact, Registry: registry } satisfies Record<
  string,
  EventDecoder
>;
