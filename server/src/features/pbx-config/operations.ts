import { ConfigDocument, MAX_NAMED } from '@offhook/contract/config.ts';
import { config as operations } from '@offhook/contract/operations/config.ts';
import { z } from 'zod';
import { checkInput } from '../../core/check-input.ts';
import type { Served } from '../../ports/operations.ts';
import type { Credentials } from './credentials.ts';
import { toDocument } from './document.ts';
import type { Draft, Written } from './draft.ts';
import { sentFinding } from './findings.ts';
import { createReader } from './view.ts';
import { toYaml } from './yaml-text.ts';

/** Checks that a document has lists only; the draft checks their objects. */
function wholeDocument(body: unknown): ConfigDocument {
  const lists = Object.fromEntries(
    Object.keys(ConfigDocument.shape).map((name) => [
      name,
      name === 'offhook' ? z.literal(1) : z.array(z.unknown()).optional(),
    ]),
  );
  return checkInput(z.strictObject(lists), body, 'body') as unknown as ConfigDocument;
}

/** The draft, and the whole configuration as one document; kind-operations.ts has the operations for single objects. */
export function configOperations({
  draft,
  credentials,
}: {
  readonly draft: Draft;
  readonly credentials: Credentials;
}): Served<typeof operations> {
  const reader = createReader(draft);
  const tag = (): string => `"${draft.etag()}"`;
  const changed = ({ differs, made }: Written) => ({
    etag: draft.etag(),
    differs,
    secrets: made.map(({ kind, key, secrets }) => ({ kind, key, secrets })),
  });
  return {
    operations,
    handlers: {
      draft({ reply }, { query }) {
        reply.header('etag', tag());
        return reader.draft(query);
      },
      change: async (actor, { body }) => changed(await draft.change(actor, body.changes, body.if_match)),
      async validate(actor, { body }) {
        const findings = await draft.findings(actor, body.changes);
        return {
          valid: findings.length === 0,
          findings: findings.slice(0, MAX_NAMED).map((finding) => sentFinding(finding, actor.language)),
          findings_total: findings.length,
        };
      },
      async discard(actor) {
        const discarded = await draft.discard(actor);
        return { etag: draft.etag(), discarded };
      },
      async discardObject(actor, { params }) {
        const discarded = await draft.discard(actor, params);
        return { etag: draft.etag(), discarded };
      },
      setCredentials: (actor, { params: { extension }, body }) =>
        credentials.give(actor, extension, body ?? {}),
      export({ request, reply }, { query: { view = 'draft' } }) {
        const document = toDocument(view === 'draft' ? draft.objects.draft() : draft.objects.applied());
        if (view === 'draft') reply.header('etag', tag());
        reply.serializer((value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)));
        const yaml = /\byaml\b/.test(request.headers.accept ?? '');
        reply.type(`application/${yaml ? 'yaml' : 'json'}; charset=utf-8`);
        return reply.send(yaml ? toYaml(document) : document);
      },
      async import(actor, { query: { mode = 'replace', if_match, dry_run }, body }) {
        const how = { mode, ifMatch: if_match, dry: dry_run === 'true' };
        return changed(await draft.take(actor, wholeDocument(body), how));
      },
    },
  };
}
