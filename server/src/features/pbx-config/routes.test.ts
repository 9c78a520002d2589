import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configRig } from '../../../test/support/config-rig.ts';

test('config routes - an object is made, read, changed, listed and deleted in the draft', async (t) => {
  const { ask, objects } = await configRig(t);
  const person = { extension: '1050', username: 'ada', name: 'Ada Lovelace' };
  const made = await ask('POST', 'extensions', person);
  assert.equal(made.status, 201, made.text);
  assert.equal(made.headers.location, '/api/v1/config/extensions/1050');
  assert.equal(made.headers.etag, `"${made.body.etag}"`);
  assert.equal(made.body.pending, 'added');
  assert.match(made.body.secrets.sip_password, /^[A-Za-z0-9_-]{32}$/);
  assert.match(made.body.secrets.voicemail_pin, /^\d{6}$/);
  assert.deepEqual(made.body.secrets_set, ['voicemail_pin', 'sip_password']);
  assert.equal(made.body.object.sip_password, undefined);

  const read = await ask('GET', 'extensions/1050');
  assert.equal(read.status, 200, read.text);
  assert.equal(read.body.etag, made.body.etag);
  assert.equal(read.body.object.level, 'user');
  assert.ok(!read.text.includes(made.body.secrets.sip_password));
  const held = { headers: { 'if-none-match': `"${made.body.etag}"` } };
  assert.equal((await ask('GET', 'extensions/1050', undefined, held)).status, 304);

  const patched = await ask('PATCH', 'extensions/1050', { department: 'IT', level: 'agent' });
  assert.equal(patched.status, 200, patched.text);
  assert.deepEqual([patched.body.object.department, patched.body.object.level], ['IT', 'agent']);
  assert.deepEqual(patched.body.secrets, {});
  assert.notEqual(patched.body.etag, made.body.etag);

  const list = await ask('GET', 'extensions?q=LOVE');
  assert.deepEqual(
    list.body.objects.map((o: { key: string }) => o.key),
    ['1050'],
  );
  assert.equal(objects.applied().of('extension').has('1050'), false);
  assert.equal((await ask('GET', 'extensions/1050?view=applied')).status, 404);
  assert.equal((await ask('DELETE', 'extensions/1050')).status, 200);
  assert.equal((await ask('GET', 'extensions/1050')).status, 404);
  const { body } = await ask('GET', 'draft');
  assert.equal(body.total, 0);
});
