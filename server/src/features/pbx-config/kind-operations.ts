import type { ConfigChange } from '@offhook/contract/config.ts';
import { KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { kindOperations } from '@offhook/contract/operations/config.ts';
import { entityTags } from '../../core/entity-tags.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Exchange } from '../../ports/http.ts';
import type { Served } from '../../ports/operations.ts';
import type { Draft } from './draft.ts';
import { ownKey } from './edit.ts';
import { createReader } from './view.ts';
import type { ConfigReader } from './view.ts';

type Operations = ReturnType<typeof kindOperations>;

const quoted = (etag: string): string => `"${etag}"`;
const tagsOf = ({ request }: Exchange, name: 'if-match' | 'if-none-match'): readonly string[] | '*' =>
  entityTags(request.headers[name], name);
function fieldsOf(body: unknown): Record<string, unknown> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body))
    return body as Record<string, unknown>;
  throw new ServiceError('invalid_request', 'body: expected an object');
}

/**
 * Operations for the objects of every kind. On the stream, the one command `config.change` covers all kinds, because
 * separate commands would offer a client nothing more.
 */
export function allKindOperations(draft: Draft): Served<Operations>[] {
  const reader = createReader(draft);
  return KINDS.map((kind) => ofKind(draft, reader, kind));
}

function ofKind(draft: Draft, reader: ConfigReader, kind: ConfigKind): Served<Operations> {
  const operations = kindOperations(kind);
  /** Performs one change; returns the resulting object. */
  async function perform(exchange: Exchange, change: ConfigChange) {
    const { made } = await draft.change(exchange, [change]);
    const key = change.op === 'create' ? ownKey(kind, change.object) : change.key;
    const shown = reader.one({ kind, key });
    exchange.reply.header('etag', quoted(shown.etag));
    return { ...shown, secrets: made[0]?.secrets ?? {} };
  }
  /** Selects the etag of `If-Match` that matches the present object, else the first; the change compares it again. */
  function matched(exchange: Exchange, key: string): { if_match?: string } {
    const wanted = tagsOf(exchange, 'if-match');
    if (wanted === '*' || wanted.length === 0) return {};
    const now = draft.objects.draft().of(kind).get(key);
    const held = now === undefined ? undefined : wanted.find((etag) => etag === draft.etags.of(now));
    return { if_match: held ?? wanted[0]! };
  }
  return {
    operations,
    handlers: {
      list: (_actor, { query }) => reader.page(kind, query),
      get(exchange, { params: { key }, query }) {
        const { reply } = exchange;
        const shown = reader.one({ kind, key }, query.view);
        const held = tagsOf(exchange, 'if-none-match');
        if (held === '*' || held.includes(shown.etag)) {
          reply.notModified(quoted(shown.etag));
          return reply;
        }
        reply.header('etag', quoted(shown.etag));
        return shown;
      },
      uses(_actor, { params: { key } }) {
        const { used_by, uses } = reader.uses({ kind, key });
        return { used_by: [...used_by], uses: [...uses] };
      },
      async create(exchange, { body }) {
        const answer = await perform(exchange, { op: 'create', kind, object: fieldsOf(body) });
        exchange.reply.header('location', `${operations.create.path}/${encodeURIComponent(answer.key)}`);
        return answer;
      },
      put: (exchange, { params: { key }, body }) =>
        perform(exchange, {
          op: 'put',
          kind,
          key,
          object: fieldsOf(body),
          create: tagsOf(exchange, 'if-none-match') === '*',
          ...matched(exchange, key),
        }),
      patch: (exchange, { params: { key }, body }) =>
        perform(exchange, { op: 'patch', kind, key, patch: fieldsOf(body), ...matched(exchange, key) }),
      async remove(exchange, { params: { key } }) {
        await draft.change(exchange, [{ op: 'delete', kind, key, ...matched(exchange, key) }]);
      },
    },
  };
}
