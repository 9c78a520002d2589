import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CONFIG_KINDS, CONFIG_SECRETS, KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { configRig } from '../../../test/support/config-rig.ts';
import { EVERYTHING, modelOf } from '../../../test/support/config-company.ts';
import { shownBody } from './document.ts';
import { Edit } from './edit.ts';
import { mergePatch } from './merge-patch.ts';
import { allObjects } from './model.ts';
import { movedTo } from './secrets.ts';

const model = modelOf(EVERYTHING);
const objects = [...allObjects(model)];
const etag = (o: { readonly etag: string }): string => o.etag;

test('configuration - an object read and written back is unchanged, in any order of fields', () => {
  assert.equal(new Set(objects.map((o) => o.kind)).size, KINDS.length);
  fc.assert(
    fc.property(
      fc.constantFrom(...objects).chain((object) =>
        fc.tuple(
          fc.constant(object),
          fc.shuffledSubarray(Object.entries(shownBody(object)), {
            minLength: Object.keys(shownBody(object)).length,
          }),
        ),
      ),
      ([object, fields]) => {
        const edit = new Edit(model, etag);
        const { kind, key } = object;
        edit.apply({ op: 'put', kind, key, object: Object.fromEntries(fields), create: false });
        edit.apply({ op: 'patch', kind, key, patch: {} });
        edit.apply({
          op: 'patch',
          kind,
          key,
          patch: Object.fromEntries(fields.filter(([, v]) => v !== null)),
        });
        assert.deepEqual([edit.findings, edit.changes(), edit.made], [[], [], []]);
      },
    ),
  );
});

test('configuration - a merge patch equals merging the stored object and parsing it by its schema', () => {
  const patchOf = (object: (typeof objects)[number]) =>
    fc.dictionary(
      fc.constantFrom(...Object.keys(CONFIG_KINDS[object.kind].schema.shape)),
      fc.oneof(
        fc.constant(null),
        fc.boolean(),
        fc.integer({ min: 0, max: 700 }),
        fc.constantFrom('x', '4711', []),
        fc.jsonValue(),
      ),
    );
  let kept = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(...objects).chain((object) => fc.tuple(fc.constant(object), patchOf(object))),
      ([object, patch]) => {
        const { kind, key, body } = object;
        const edit = new Edit(model, etag);
        edit.apply({ op: 'patch', kind, key, patch });
        const wanted = CONFIG_KINDS[kind].schema.safeParse(mergePatch(body, patch));
        const renamed =
          wanted.success && (wanted.data as Record<string, unknown>)[CONFIG_KINDS[kind].key] !== key;
        // A trunk's password must be given again for another address.
        const strands =
          kind === 'trunk' &&
          wanted.success &&
          !('password' in patch) &&
          'password' in wanted.data &&
          movedTo(body as ConfigBody<'trunk'>, wanted.data as ConfigBody<'trunk'>) !== null;
        assert.equal(edit.findings.length > 0, !wanted.success || renamed || strands);
        if (strands) return;
        if (!wanted.success || renamed) return assert.deepEqual(edit.changes(), []);
        kept += 1;
        const [change] = edit.changes();
        // Required secrets that were removed are generated again.
        const plain = (value: object) =>
          Object.fromEntries(Object.entries(value).filter(([name]) => !CONFIG_SECRETS[kind].includes(name)));
        assert.deepEqual(plain(change === undefined ? body : change.object!.body), plain(wanted.data));
      },
    ),
    { numRuns: 500 },
  );
  assert.ok(kept > 20, `only ${kept} patches were kept`);
});

test('configuration - an object of every kind is created by its path, read, and written back to the same etag', async (t) => {
  const { ask, objects: stored } = await configRig(t);
  const changes = KINDS.flatMap((kind) =>
    (EVERYTHING[kind] as readonly object[])
      .filter(
        (_, i) =>
          i === 0 &&
          !['settings', 'service', 'pause_reason', 'parking_lot', 'feature_code', 'extension'].includes(kind),
      )
      .map((object) => ({
        op: 'create',
        kind,
        object: { ...object, ...(kind === 'queue' ? { name: 'other', number: '501' } : {}) },
      })),
  );
  const all = [...changes].map(
    (c) => JSON.parse(JSON.stringify(c).replaceAll('"key":"support"', '"key":"other"')) as object,
  );
  const made = await ask('POST', 'draft/changes', { changes: all });
  assert.equal(made.status, 200, made.text);
  for (const { kind, key } of allObjects(stored.draft())) {
    const path = `${CONFIG_KINDS[kind].path}/${encodeURIComponent(key)}`;
    const { body: read, text, status } = await ask('GET', path);
    assert.equal(status, 200, text);
    for (const secret of CONFIG_SECRETS[kind])
      assert.equal(read.object[secret], undefined, `${path} ${secret}`);
    const put = await ask('PUT', path, read.object, { headers: { 'if-match': `"${read.etag}"` } });
    assert.equal(put.status, 200, `${path}: ${put.text}`);
    assert.equal(put.body.etag, read.etag, path);
  }
});
