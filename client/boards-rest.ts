/** Typed requests of wallboards and the keys of their displays. */
import type { z } from 'zod';
import type {
  BoardReply,
  BoardsReply,
  DisplayKeyCreated,
  DisplayKeysReply,
  NewBoard,
  NewDisplayKey,
} from '@offhook/contract/boards.ts';
import type { Done } from '@offhook/contract/session.ts';
import { at } from './rest.ts';
import type { Request, RequestOptions } from './rest.ts';

type Reply<S extends z.ZodType> = Promise<z.output<S>>;
type Body<S extends z.ZodType> = Readonly<z.input<S>>;
export interface BoardWriteOptions extends RequestOptions {
  /** The `version` it was read with: refused with `precondition_failed` when it changed meanwhile. */
  readonly if_match?: number | undefined;
}
const held = ({ if_match, ...rest }: BoardWriteOptions): RequestOptions => ({
  ...rest,
  ...(if_match === undefined ? {} : { headers: { 'if-match': `"${if_match}"` } }),
});

export function createBoardsRest(request: Request) {
  const one = (id: number): string => at`/api/v1/boards/${id}`;
  return {
    list: (signal?: AbortSignal): Reply<typeof BoardsReply> =>
      request('GET', '/api/v1/boards', undefined, { signal }),
    get: (id: number, signal?: AbortSignal): Reply<typeof BoardReply> =>
      request('GET', one(id), undefined, { signal }),
    create: (board: Body<typeof NewBoard>, options?: RequestOptions): Reply<typeof BoardReply> =>
      request('POST', '/api/v1/boards', board, options),
    replace: (
      id: number,
      board: Body<typeof NewBoard>,
      options: BoardWriteOptions = {},
    ): Reply<typeof BoardReply> => request('PUT', one(id), board, held(options)),
    remove: (id: number, options: BoardWriteOptions = {}): Reply<typeof Done> =>
      request('DELETE', one(id), undefined, held(options)),
    displayKeys: (id: number, signal?: AbortSignal): Reply<typeof DisplayKeysReply> =>
      request('GET', `${one(id)}/display-keys`, undefined, { signal }),
    /** The key is shown this once; it opens this board and nothing else. */
    createDisplayKey: (
      id: number,
      key: Body<typeof NewDisplayKey>,
      options?: RequestOptions,
    ): Reply<typeof DisplayKeyCreated> => request('POST', `${one(id)}/display-keys`, key, options),
    revokeDisplayKey: (id: number, key: number): Reply<typeof Done> =>
      request('DELETE', one(id) + at`/display-keys/${key}`),
  };
}
export type BoardsRest = ReturnType<typeof createBoardsRest>;
