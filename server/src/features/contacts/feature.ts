import { createContactsBody } from './body.ts';
import type { ContactsBody } from './body.ts';
import type { Common } from '../../ports/common.ts';

export type ContactsDeps = Common<'clock' | 'directory' | 'live'>;
/** The contacts feature only reads, from memory: it has no tables and handles no events. */
export const createContacts = ({ directory, live, clock }: ContactsDeps): ContactsBody =>
  createContactsBody(directory, live, clock.now());
