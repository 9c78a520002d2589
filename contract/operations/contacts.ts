import { Contacts, ContactsQuery } from '../extensions.ts';
import { area } from '../operation.ts';

export const contacts = area({
  list: {
    method: 'GET',
    path: '/api/mobile/contacts.php',
    tag: 'contacts',
    level: 'user',
    scope: 'directory:read',
    query: ContactsQuery,
    reply: Contacts,
    etag: 'held',
    errors: ['invalid_request'],
    summary: 'The corporate directory with real-time presence',
  },
});
