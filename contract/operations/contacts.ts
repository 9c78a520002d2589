import { Contacts, ContactsQuery } from '../extensions.ts';
import { area } from '../operation.ts';

export const contacts = area('contacts', {
  list: {
    method: 'GET',
    path: '/api/mobile/contacts.php',
    level: 'user',
    scope: 'directory:read',
    query: ContactsQuery,
    reply: Contacts,
    etag: 'held',
    errors: ['invalid_request'],
    summary: 'The corporate directory with real-time presence',
  },
});
