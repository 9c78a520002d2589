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
/** The contacts feature: reads only, from memory; it owns no tables and reacts to nothing. */
export const createContacts = ({ directory, live, clock }: ContactsDeps): ContactsBody =>
  createContactsBody(directory, live, clock.now());
