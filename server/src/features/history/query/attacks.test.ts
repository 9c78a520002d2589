import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STARTED, recordOf } from '../../../../test/support/conversation-record.ts';
import { conversationsRig } from '../../../../test/support/conversations-rig.ts';
import type { ConversationsRig } from '../../../../test/support/conversations-rig.ts';

const PATH = '/api/v1/conversations';
const url = (query: Record<string, string>, path = PATH): string =>
  `${path}?${new URLSearchParams(query).toString()}`;
const NAMES = [
  "'; drop table conversations; --",
  '<script>alert(1)</script>',
  '\u202Etxt.exe\u202C',
  '%',
  '_',
  '\\',
  '" onload="x',
  'a\nb\tc',
  '👩‍👩‍👧 Ünïcødé',
  '=cmd|calc',
  '$(reboot) ${x} {{7*7}}',
  'x'.repeat(10_240),
];
const refused = async (
  rig: ConversationsRig,
  address: string,
  field: RegExp,
  who?: string,
): Promise<void> => {
  const { status, body } = await rig.get(address, who);
  assert.deepEqual([status, body.code], [400, 'invalid_request'], address.slice(0, 200));
  assert.match(body.detail, field, address.slice(0, 200));
};

test('conversation attacks - names and numbers are data: shown as received, found literally', async () => {
  await using rig = await conversationsRig();
  await rig.put([
    ...NAMES.map((name, i) =>
      recordOf({ id: `ast1:${i}.1`, started: STARTED + i, called: { number: `${name}${i}`, name } }),
    ),
    recordOf({
      id: 'ast1:99.1',
      caller: { number: '1', name: 'plain' },
      called: { number: '2', name: 'plain' },
    }),
  ]);
  const { body: everything } = await rig.get(url({ limit: '200' }));
  assert.equal(everything.conversations.length, NAMES.length + 1);
  for (const [i, name] of NAMES.entries()) {
    const { body } = await rig.get(`${PATH}/ast1:${i}.1`);
    assert.equal(body.conversation.parties[1].name, name, 'unchanged');
    if (name.length > 64 || name.includes('\n')) continue;
    const found = await rig.get(url({ q: name }));
    const ids = found.body.conversations.map((c: { id: string }) => c.id);
    assert.ok(ids.includes(`ast1:${i}.1`), name);
    assert.ok(!ids.includes('ast1:99.1'), `${name} is no pattern`);
    const by = await rig.get(url({ number: `${name}${i}`.slice(0, 64) }));
    assert.deepEqual(
      by.body.conversations.map((c: { id: string }) => c.id),
      [`ast1:${i}.1`],
    );
  }
});

test('conversation attacks - an invalid query is refused with the name of its field', async () => {
  await using rig = await conversationsRig();
  const long = 'x'.repeat(10_240);
  const wrong: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ limit: '0' }, /limit/],
    [{ limit: '201' }, /limit/],
    [{ limit: '1e9' }, /limit/],
    [{ limit: '1000000000' }, /limit/],
    [{ limit: '-1' }, /limit/],
    [{ q: 'x'.repeat(65) }, /q/],
    [{ q: '' }, /q/],
    [{ q: 'a\u0000b' }, /q/],
    [{ number: long.slice(0, 100) }, /number/],
    [{ person: "1001' or 1=1--" }, /person/],
    [{ agent: '1'.repeat(21) }, /agent/],
    [{ queue: '../etc' }, /queue/],
    [{ direction: 'sideways' }, /direction/],
    [{ disposition: 'DROP' }, /disposition/],
    [{ state: 'none' }, /state/],
    [{ outcome: 'a b' }, /outcome/],
    [{ has_recording: '1' }, /has_recording/],
    [{ from: 'yesterday' }, /from/],
    [{ to: '10000-01-01T00:00:00Z' }, /to/],
    [{ from: '2026-11-21T10:00:00Z', to: '2026-11-21T09:00:00Z' }, /to/],
    [{ sort: 'id;drop' }, /sort/],
    [{ offset: '5' }, /offset/],
    [{ cursor: 'x'.repeat(300) }, /cursor/],
    [{ cursor: 'nonsense' }, /cursor/],
  ];
  for (const [query, field] of wrong) await refused(rig, url(query), field);
  await refused(rig, `${PATH}?limit=5&limit=6`, /limit/);
  await refused(rig, url({ since: '-1' }, `${PATH}/changes`), /since/);
  await refused(rig, url({ since: '1e3' }, `${PATH}/changes`), /since/);
  await refused(rig, url({ limit: '501' }, `${PATH}/changes`), /limit/);
  await refused(rig, url({ detail: 'yes' }, `${PATH}/changes`), /detail/);
  await refused(rig, url({ person: '1001' }, `${PATH}/changes`), /person/);
  for (const id of ["x' or 1=1--", 'ast1', '%25', 'ast1:..%2f1'])
    await refused(rig, `${PATH}/${encodeURIComponent(id)}`, /id/);
  assert.equal((await rig.get(`${PATH}/ast1:${'1'.repeat(200)}`)).status, 404);
  const ages = await rig.get(url({ from: '1926-11-21T10:00:00Z', to: '2026-11-21T09:00:00Z' }));
  assert.equal(ages.status, 200, 'a hundred years are no more work than a day');
  const beyond = await rig.get(url({ since: String(Number.MAX_SAFE_INTEGER) }, `${PATH}/changes`));
  assert.deepEqual([beyond.status, beyond.body.code], [409, 'position_unknown']);
});

test('conversation attacks - a cursor of another filter or reader, or a forged one, is refused', async () => {
  await using rig = await conversationsRig({
    a: { id: 1, scopes: ['history:read'] },
    b: { id: 2, scopes: ['history:read'] },
  });
  await rig.put(
    Array.from({ length: 6 }, (_, i) =>
      recordOf({ id: `ast1:${i}.1`, started: STARTED + i, caller: { extension: '1005' } }),
    ),
  );
  const cursorOf = async (query: Record<string, string>, who: string): Promise<string> =>
    (await rig.get(url(query), who)).body.next_cursor;
  const cursor = await cursorOf({ limit: '2', person: '1005' }, 'admin');
  assert.equal((await rig.get(url({ limit: '3', person: '1005', cursor }))).status, 200);
  await refused(rig, url({ cursor }), /cursor/);
  await refused(rig, url({ person: '1002', cursor }), /cursor/);
  await refused(rig, url({ person: '1005', q: 'a', cursor }), /cursor/);
  await refused(rig, url({ person: '1005', cursor }), /cursor/, 'supervisor');
  await refused(rig, url({ person: '1005', cursor }), /cursor/, 'key-a');
  await refused(rig, url({ cursor: await cursorOf({ limit: '2' }, 'key-a') }), /cursor/, 'key-b');
  for (let i = 0; i < cursor.length; i += 1) {
    const other = cursor[i] === 'A' ? 'B' : 'A';
    const changed = cursor.slice(0, i) + other + cursor.slice(i + 1);
    await refused(rig, url({ person: '1005', cursor: changed }), /cursor/);
  }
  await refused(rig, url({ person: '1005', cursor: `${cursor}A` }), /cursor/);
});
