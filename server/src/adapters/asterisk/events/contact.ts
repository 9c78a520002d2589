import type { EndpointContact } from '../../../ports/engine.ts';
import type { Frame } from '../ami/frame.ts';
import { header } from '../ami/frame.ts';
import type { EventDecoder } from './decoding.ts';
import { need } from './decoding.ts';

/*
 * ContactStatus                          URI ContactStatus AOR EndpointName [RoundtripUsec]
 * ContactList (a row of PJSIPShowContacts)  ObjectType ObjectName ViaAddr ... Endpoint ViaPort ... Uri ... Status RoundtripUsec
 *
 * ContactStatus: Unknown Unreachable Reachable NonQualified Removed Updated Created
 * A contact that nobody asks (NonQualified) or that was not asked yet (Unknown) counts as reachable: it registered.
 */
const uri = header('URI');
const contactStatus = header('ContactStatus');
const endpointName = header('EndpointName');
const endpoint = header('Endpoint');
const rowUri = header('Uri');
const status = header('Status');

const reachable = (word: string): boolean => word !== 'Unreachable' && word !== 'Removed';

/** One row of `PJSIPShowContacts`; null where the address belongs to no endpoint. */
export const contactRow = (frame: Frame): EndpointContact | null => {
  const owner = frame.get(endpoint);
  if (owner === undefined || owner === '') return null;
  const address = need(frame, rowUri);
  return { endpoint: owner, address, reachable: reachable(frame.get(status) ?? '') };
};

const change: EventDecoder = (frame, at, d) => {
  const address = need(frame, uri);
  const word = need(frame, contactStatus);
  const owner = frame.get(endpointName);
  if (owner === undefined || owner === '') return;
  d.emit({
    at,
    type: 'endpoint.contact',
    contact: { endpoint: owner, address, reachable: reachable(word) },
    removed: word === 'Removed',
  });
};

export const contactEvents = { ContactStatus: change } satisfies Record<string, EventDecoder>;
