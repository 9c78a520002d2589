import { Readable } from 'node:stream';
import { contacts as operations } from '@offhook/contract/operations/contacts.ts';
import { matchesTag } from '../../core/entity-tags.ts';
import { presenceOf } from '../../rights/rights.ts';
import type { Served } from '../../ports/operations.ts';
import type { ContactsBody } from './body.ts';

/** GET /api/mobile/contacts.php (wire.md section 3). */
export const contactOperations = (contacts: ContactsBody): Served<typeof operations> => ({
  operations,
  tags: { list: (caller) => contacts.etag(presenceOf(caller)) },
  handlers: {
    list({ caller, request, reply }, { query }) {
      const seen = presenceOf(caller);
      const etag = contacts.etag(seen);
      if (matchesTag(request.headers['if-none-match'], etag)) {
        reply.notModified(etag);
        return reply;
      }
      reply.header('etag', etag);
      reply.header('content-type', 'application/json; charset=utf-8');
      // The body is JSON already: buffers skip the serialiser.
      const pieces = contacts.body(query, seen);
      if (pieces.length === 1) return reply.send(pieces[0]);
      reply.header(
        'content-length',
        pieces.reduce((sum, piece) => sum + piece.length, 0),
      );
      return reply.send(Readable.from(pieces, { objectMode: false }));
    },
  },
});
