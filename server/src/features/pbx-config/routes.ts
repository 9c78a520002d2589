import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest, FastifySchemaCompiler } from 'fastify';
import {
  CONFIG_SCHEMAS,
  ConfigChangesReply,
  ConfigDocument,
  ConfigKeyPath,
  ConfigListQuery,
  ConfigUsesReply,
  ConfigViewQuery,
  DraftQuery,
  DraftReply,
  ImportQuery,
  MAX_CONFIG_BYTES,
} from '@offhook/contract/config.ts';
import type { ConfigChange } from '@offhook/contract/config.ts';
import { CONFIG_KINDS, CONFIG_SECRETS, KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { Done } from '@offhook/contract/session.ts';
import { z } from 'zod';
import { checkInput, inputValidator } from '../../core/check-input.ts';
import { entityTags } from '../../core/entity-tags.ts';
import { ServiceError } from '../../core/errors.ts';
import type { App } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import { toDocument } from './document.ts';
import { checkWholeSite } from './draft.ts';
import type { Draft } from './draft.ts';
import { ownKey } from './edit.ts';
import { WRITE_ERRORS, changesReply } from './operations.ts';
import { makesSecrets, setsSecrets } from './secrets.ts';
import { createReader } from './view.ts';
import type { ConfigReader } from './view.ts';
import { toYaml } from './yaml-text.ts';

const tags = ['config'];
const read = { level: 'admin', scope: 'config:read' } as const;
const write = { level: 'admin', scope: 'config:write', errors: WRITE_ERRORS } as const;

/** Bodies are checked by the draft, which names the object and the field of each thing that is wrong. */
// oxlint-disable-next-line typescript/no-explicit-any -- it serves routes of every shape
const checkedLater: FastifySchemaCompiler<any> = (route) =>
  route.httpPart === 'body' ? (value) => ({ value }) : inputValidator(route);
const quoted = (etag: string): string => `"${etag}"`;
const tagsOf = (request: FastifyRequest, name: 'if-match' | 'if-none-match'): readonly string[] | '*' =>
  entityTags(request.headers[name], name);
const actorOf = (request: FastifyRequest): Actor => ({ caller: request.person(), ip: request.ip });
function fieldsOf(body: unknown): Record<string, unknown> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body))
    return body as Record<string, unknown>;
  throw new ServiceError('invalid_request', 'body: expected an object');
}

/** The paths of every kind, of the draft, and of the whole as one document. */
export function configRoutes(app: App, draft: Draft): void {
  const reader = createReader(draft);
  for (const kind of KINDS) kindRoutes(app, draft, reader, kind);
  app.get(
    '/api/v1/config/draft',
    {
      config: { ...read, etag: 'sent', errors: ['invalid_request', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'What the draft differs in from what is applied',
        querystring: DraftQuery,
        response: { 200: DraftReply },
      },
    },
    (request, reply) => {
      checkWholeSite(request.person());
      reply.header('etag', quoted(draft.etag()));
      return reader.draft(request.query);
    },
  );
  app.get(
    '/api/v1/config/export',
    {
      config: { ...read, etag: 'sent', errors: ['invalid_request'] },
      schema: {
        tags,
        summary:
          'The whole configuration as one document, without secrets; as YAML for `Accept: application/yaml`',
        querystring: ConfigViewQuery,
        response: { 200: ConfigDocument },
      },
    },
    (request, reply) => {
      checkWholeSite(request.person());
      const { view = 'draft' } = request.query;
      const document = toDocument(view === 'draft' ? draft.objects.draft() : draft.objects.applied());
      if (view === 'draft') reply.header('etag', quoted(draft.etag()));
      reply.serializer((value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)));
      const yaml = /\byaml\b/.test(request.headers.accept ?? '');
      reply.type(`application/${yaml ? 'yaml' : 'json'}; charset=utf-8`);
      return (yaml ? toYaml(document) : document) as never;
    },
  );
  app.post(
    '/api/v1/config/import',
    {
      config: { ...write, confirm: true, bodyBytes: MAX_CONFIG_BYTES },
      validatorCompiler: checkedLater,
      schema: {
        tags,
        summary: 'Make the draft what a document says; secrets it does not name stay',
        querystring: ImportQuery,
        body: ConfigDocument,
        response: { 200: ConfigChangesReply },
      },
    },
    async (request) => {
      const { mode = 'replace', if_match, dry_run } = request.query as z.output<typeof ImportQuery>;
      const how = { mode, ifMatch: if_match, dry: dry_run === 'true' };
      return changesReply(draft, await draft.take(actorOf(request), wholeDocument(request.body), how));
    },
  );
}
/** The lists of a document; what is in them is checked by the draft. */
function wholeDocument(body: unknown): ConfigDocument {
  const lists = Object.fromEntries(
    Object.keys(ConfigDocument.shape).map((name) => [
      name,
      name === 'offhook' ? z.literal(1) : z.array(z.unknown()).optional(),
    ]),
  );
  return checkInput(z.strictObject(lists), body, 'body') as unknown as ConfigDocument;
}

function kindRoutes(app: App, draft: Draft, reader: ConfigReader, kind: ConfigKind): void {
  const { path, schema } = CONFIG_KINDS[kind];
  const schemas = CONFIG_SCHEMAS[kind];
  const url = `/api/v1/config/${path}`;
  const one = `${url}/:key`;
  const hasSecrets = CONFIG_SECRETS[kind].length > 0;
  const many = path.replaceAll('-', ' ');
  const single = kind.replaceAll('_', ' ');
  const keyOf = (request: FastifyRequest): string => (request.params as { key: string }).key;

  app.get(
    url,
    {
      config: { ...read, errors: ['invalid_request'] },
      schema: {
        tags,
        summary: `The ${many}`,
        querystring: ConfigListQuery,
        response: { 200: schemas.list },
      },
    },
    (request) => {
      checkWholeSite(request.person());
      return { success: true as const, ...reader.page(kind, request.query) };
    },
  );
  app.get(
    one,
    {
      config: { ...read, etag: 'held', errors: ['invalid_request', 'not_found'] },
      schema: {
        tags,
        summary: `One of the ${many}`,
        params: ConfigKeyPath,
        querystring: ConfigViewQuery,
        response: { 200: schemas.reply },
      },
    },
    (request, reply) => {
      checkWholeSite(request.person());
      const shown = reader.one({ kind, key: keyOf(request) }, request.query.view);
      const held = tagsOf(request, 'if-none-match');
      if (held === '*' || held.includes(shown.etag)) {
        reply.notModified(quoted(shown.etag));
        return reply as never;
      }
      reply.header('etag', quoted(shown.etag));
      return { success: true as const, ...shown };
    },
  );
  app.get(
    `${one}/uses`,
    {
      config: { ...read, errors: ['invalid_request', 'not_found'] },
      schema: {
        tags,
        summary: `What uses this ${single}, and what it uses`,
        params: ConfigKeyPath,
        response: { 200: ConfigUsesReply },
      },
    },
    (request) => {
      checkWholeSite(request.person());
      const { used_by, uses } = reader.uses({ kind, key: keyOf(request) });
      return { success: true as const, used_by: [...used_by], uses: [...uses] };
    },
  );

  /** One change, and the object as it then is. */
  async function perform(request: FastifyRequest, reply: FastifyReply, change: ConfigChange) {
    const { made } = await draft.change(actorOf(request), [change]);
    const key = change.op === 'create' ? ownKey(kind, change.object) : change.key;
    const shown = reader.one({ kind, key });
    reply.header('etag', quoted(shown.etag));
    return { success: true as const, ...shown, secrets: made[0]?.secrets ?? {} };
  }
  /** What `If-Match` asks for, against what is there now; it is looked at again when the change is made. */
  function matched(request: FastifyRequest): { if_match?: string } {
    const wanted = tagsOf(request, 'if-match');
    if (wanted === '*' || wanted.length === 0) return {};
    const now = draft.objects.draft().of(kind).get(keyOf(request));
    const held = now === undefined ? undefined : wanted.find((etag) => etag === draft.etags.of(now));
    return { if_match: held ?? wanted[0]! };
  }
  app.post(
    url,
    {
      config: {
        ...write,
        etag: 'sent',
        ...(hasSecrets ? { confirm: (given: unknown) => makesSecrets(kind, given) } : {}),
      },
      validatorCompiler: checkedLater,
      schema: {
        tags,
        summary: `Make a ${single}, in the draft`,
        body: schema as z.ZodType,
        response: { 201: schemas.reply },
      },
    },
    async (request, reply) => {
      const answer = await perform(request, reply, { op: 'create', kind, object: fieldsOf(request.body) });
      reply.code(201).header('location', `${url}/${encodeURIComponent(answer.key)}`);
      return answer;
    },
  );
  app.put(
    one,
    {
      config: {
        ...write,
        etag: 'replace',
        ...(hasSecrets
          ? {
              confirm: (given: unknown, headers: IncomingHttpHeaders = {}) =>
                headers['if-none-match'] === undefined ? setsSecrets(kind, given) : makesSecrets(kind, given),
            }
          : {}),
      },
      validatorCompiler: checkedLater,
      schema: {
        tags,
        summary: `Replace a ${single}, or with \`If-None-Match: *\` make it; secrets that are left out stay`,
        params: ConfigKeyPath,
        body: schema as z.ZodType,
        response: { 200: schemas.reply },
      },
    },
    (request, reply) =>
      perform(request, reply, {
        op: 'put',
        kind,
        key: keyOf(request),
        object: fieldsOf(request.body),
        create: tagsOf(request, 'if-none-match') === '*',
        ...matched(request),
      }),
  );
  app.patch(
    one,
    {
      config: {
        ...write,
        etag: 'match',
        body: 'merge_patch',
        ...(hasSecrets ? { confirm: (patch: unknown) => setsSecrets(kind, patch) } : {}),
      },
      validatorCompiler: checkedLater,
      schema: {
        tags,
        summary: `Change a ${single} by a merge patch; a secret that is null is made up anew or taken away`,
        params: ConfigKeyPath,
        body: schemas.patch,
        response: { 200: schemas.reply },
      },
    },
    (request, reply) =>
      perform(request, reply, {
        op: 'patch',
        kind,
        key: keyOf(request),
        patch: fieldsOf(request.body),
        ...matched(request),
      }),
  );
  app.delete(
    one,
    {
      config: { ...write, etag: 'match' },
      schema: {
        tags,
        summary: `Delete a ${single}, in the draft`,
        params: ConfigKeyPath,
        response: { 200: Done },
      },
    },
    async (request) => {
      await draft.change(actorOf(request), [
        { op: 'delete', kind, key: keyOf(request), ...matched(request) },
      ]);
      return { success: true as const };
    },
  );
}
