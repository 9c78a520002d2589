import { Contacts, ContactsQuery } from '@offhook/contract/extensions.ts';
import { matchesTag } from '../../core/entity-tags.ts';
import { presenceOf } from '../../core/rights.ts';
import type { App } from '../../ports/http.ts';
import type { ContactsBody } from './body.ts';

/** GET /api/mobile/contacts.php (wire.md section 3). */
export function contactRoutes(app: App, contacts: ContactsBody): void {
  app.get(
    '/api/mobile/contacts.php',
    {
      config: { level: 'user', scope: 'directory:read', etag: 'held', errors: ['invalid_request'] },
      schema: {
        summary: 'The corporate directory with real-time presence',
        tags: ['contacts'],
        querystring: ContactsQuery,
        response: { 200: Contacts },
      },
    },
    (request, reply) => {
      const seen = presenceOf(request.person());
      const etag = contacts.etag(seen);
      if (matchesTag(request.headers['if-none-match'], etag)) return reply.notModified(etag);
      reply.header('etag', etag);
      reply.header('content-type', 'application/json; charset=utf-8');
      // The body is JSON already: a buffer passes the serialiser by.
      void reply.send(contacts.body(request.query, seen) as never);
    },
  );
}
