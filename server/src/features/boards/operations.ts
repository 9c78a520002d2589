import { boards as operations } from '@offhook/contract/operations/boards.ts';
import type { Board } from '@offhook/contract/boards.ts';
import { versionsOf } from '../../core/entity-tags.ts';
import type { Served } from '../../ports/operations.ts';
import type { Boards } from './service.ts';

const tagOf = ({ version }: Board): string => `"${version}"`;

/** Wallboards of the caller, and shared ones. */
export const boardOperations = (boards: Boards): Served<typeof operations> => ({
  operations,
  handlers: {
    list: ({ caller }) => ({ boards: boards.list(caller) }),
    get({ caller, reply }, { params }) {
      const board = boards.one(caller, Number(params.id));
      reply.header('etag', tagOf(board));
      return { board };
    },
    create: async (actor, { body }) => ({ board: await boards.create(actor, body) }),
    async replace(exchange, { params, body }) {
      const board = await boards.replace(
        exchange,
        Number(params.id),
        body,
        versionsOf(exchange.request.headers['if-match']),
      );
      exchange.reply.header('etag', tagOf(board));
      return { board };
    },
    remove: (exchange, { params }) =>
      boards.remove(exchange, Number(params.id), versionsOf(exchange.request.headers['if-match'])),
    displayKeys: ({ caller }, { params }) => ({
      display_keys: boards.displayKeys(caller, Number(params.id)),
    }),
    createDisplayKey: (actor, { params, body }) => boards.createDisplayKey(actor, Number(params.id), body),
    revokeDisplayKey: (actor, { params }) =>
      boards.revokeDisplayKey(actor, Number(params.id), Number(params.key)),
  },
});
