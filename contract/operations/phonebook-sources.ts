import {
  NewPhonebookSource,
  PhonebookSourceChange,
  PhonebookSourceId,
  PhonebookSourceReply,
  PhonebookSources,
} from '../phonebook-sources.ts';
import { Done } from '../session.ts';
import type { ErrorCode } from '../errors.ts';
import { area } from '../operation.ts';

const ERRORS = ['invalid_request', 'not_found', 'store_unavailable'] as const satisfies readonly ErrorCode[];

export const phonebookSources = area('phonebook', {
  list: {
    method: 'GET',
    path: '/api/v1/phonebook/sources',
    level: 'admin',
    reply: PhonebookSources,
    errors: ['store_unavailable'],
    summary: 'Address books on other servers that the phonebook follows, with their state',
  },
  create: {
    method: 'POST',
    path: '/api/v1/phonebook/sources',
    audit: 'phonebook_source.created',
    level: 'admin',
    confirm: true,
    body: NewPhonebookSource,
    reply: PhonebookSourceReply,
    status: 201,
    errors: ['invalid_request', 'webhook_target_refused', 'limit_reached', 'store_unavailable'],
    summary: 'Follow an address book on another server',
    description:
      'Its entries become shared customers with the source `source:<id>`, now and every hour. Note and owner of such a customer can be changed here, the rest and its deletion are those of the address book.',
  },
  change: {
    method: 'PATCH',
    path: '/api/v1/phonebook/sources/:id',
    audit: 'phonebook_source.changed',
    level: 'admin',
    confirm: true,
    params: PhonebookSourceId,
    body: PhonebookSourceChange,
    reply: PhonebookSourceReply,
    errors: [...ERRORS, 'webhook_target_refused'],
    summary: 'Change a source, enable or disable it; another address needs the password again',
  },
  remove: {
    method: 'DELETE',
    path: '/api/v1/phonebook/sources/:id',
    audit: 'phonebook_source.deleted',
    level: 'admin',
    params: PhonebookSourceId,
    reply: Done,
    errors: ERRORS,
    summary: 'Delete a source with its customers; the address book itself stays',
  },
  sync: {
    method: 'POST',
    path: '/api/v1/phonebook/sources/:id/sync',
    audit: 'phonebook_source.synced',
    level: 'admin',
    params: PhonebookSourceId,
    reply: PhonebookSourceReply,
    status: 202,
    errors: ERRORS,
    summary: 'Read the address book now; it is also read every hour',
  },
});
