import type { FastifyRequest } from 'fastify';
import { BoardPath, BoardReply, BoardsReply, DisplayKeysReply, NewBoard } from '@offhook/contract/boards.ts';
import type { Board } from '@offhook/contract/boards.ts';
import { Done } from '@offhook/contract/session.ts';
import { entityTags } from '../../core/entity-tags.ts';
import type { App } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import { BOARD_ERRORS } from './operations.ts';
import type { Boards } from './service.ts';

const tags = ['boards'];
const actorOf = (request: FastifyRequest): Actor => ({ caller: request.person(), ip: request.ip });
/** Null where the header is not there, or is `*`. */
function versionsOf(request: FastifyRequest): readonly string[] | null {
  const wanted = entityTags(request.headers['if-match'], 'if-match');
  return wanted === '*' || wanted.length === 0 ? null : wanted;
}
const tagOf = ({ version }: Board): string => `"${version}"`;

/** Wallboards as people keep them: one's own and those that are shared. */
export function boardRoutes(app: App, boards: Boards): void {
  app.get(
    '/api/v1/boards',
    {
      config: { level: 'agent' },
      schema: { tags, summary: 'The wallboards the caller may see', response: { 200: BoardsReply } },
    },
    (request) => ({ success: true as const, boards: boards.list(request.person()) }),
  );
  app.get(
    '/api/v1/boards/:id',
    {
      config: {
        level: 'agent',
        scope: 'queues:read',
        etag: 'sent',
        errors: ['invalid_request', 'not_found'],
      },
      schema: {
        tags,
        summary: 'One wallboard; of keys only those made for its displays read it',
        params: BoardPath,
        response: { 200: BoardReply },
      },
    },
    (request, reply) => {
      const board = boards.one(request.person(), Number(request.params.id));
      reply.header('etag', tagOf(board));
      return { success: true as const, board };
    },
  );
  app.put(
    '/api/v1/boards/:id',
    {
      config: {
        level: 'agent',
        etag: 'match',
        errors: [...BOARD_ERRORS, 'not_found', 'precondition_failed'],
      },
      schema: {
        tags,
        summary: 'Replace a wallboard; displays that show it follow',
        params: BoardPath,
        body: NewBoard,
        response: { 200: BoardReply },
      },
    },
    async (request, reply) => {
      const id = Number(request.params.id);
      const board = await boards.replace(actorOf(request), id, request.body, versionsOf(request));
      reply.header('etag', tagOf(board));
      return { success: true as const, board };
    },
  );
  app.delete(
    '/api/v1/boards/:id',
    {
      config: {
        level: 'agent',
        errors: ['invalid_request', 'not_found', 'precondition_failed', 'store_unavailable'],
      },
      schema: {
        tags,
        summary: 'Delete a wallboard; its display keys are revoked',
        params: BoardPath,
        response: { 200: Done },
      },
    },
    async (request) => {
      await boards.remove(actorOf(request), Number(request.params.id), versionsOf(request));
      return { success: true as const };
    },
  );
  app.get(
    '/api/v1/boards/:id/display-keys',
    {
      config: { level: 'supervisor', errors: ['invalid_request', 'not_found'] },
      schema: {
        tags,
        summary: 'The keys by which displays show a wallboard',
        params: BoardPath,
        response: { 200: DisplayKeysReply },
      },
    },
    (request) => ({
      success: true as const,
      display_keys: boards.displayKeys(request.person(), Number(request.params.id)),
    }),
  );
}
