import { Contacts, ContactsQuery } from '@offhook/contract/extensions.ts';
import { presenceOf } from '../../core/rights.ts';
import type { App } from '../../ports/http.ts';
import { matchesTag } from './body.ts';
import type { ContactsBody } from './body.ts';

/** GET /api/mobile/contacts.php (wire.md section 3). */
export function contactRoutes(app: App, contacts: ContactsBody): void {
  app.get(
    '/api/mobile/contacts.php',
    {
      config: { level: 'user', scope: 'directory:read' },
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
      reply.header('etag', etag);
      if (matchesTag(request.headers['if-none-match'], etag)) {
        // Not null, which would be serialised and announce a body that a 304 does not have.
        void reply.code(304 as 200).send(undefined as never);
        return;
      }
      reply.header('content-type', 'application/json; charset=utf-8');
      // The body is JSON already: a buffer passes the serialiser by.
      void reply.send(contacts.body(request.query, seen) as never);
    },
  );
}
