import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { LiveView } from '../../ports/live.ts';
import { createContactsBody } from './body.ts';
import type { ContactsBody } from './body.ts';

export interface ContactsDeps {
  readonly directory: Directory;
  readonly live: LiveView;
  readonly clock: Clock;
}
/** The contacts feature only reads, from memory: it has no tables and handles no events. */
export const createContacts = ({ directory, live, clock }: ContactsDeps): ContactsBody =>
  createContactsBody(directory, live, clock.now());
