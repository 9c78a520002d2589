import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startSystem } from '../../test/support/connector-rig.ts';
import { runConnectorCommand } from './connector-cli.ts';

const FILE = `connector: 1
name: Small CRM
settings: { address: { text: Address, url: true }, token: { text: Token, secret: true } }
base: '{{ set.address }}'
auth: { query: key, value: '{{ set.token }}' }
check: { get: /me }
customer: { id: '{{ string(row.id) }}', name: '{{ row.name }}' }
lookup: { number: { get: /people, query: { phone: '{{ number }}' }, formats: [e164], rows: '{{ answer }}' } }
entry:
  once: ledger
  create: { post: /notes, body: { text: '{{ call.text }}', of: '{{ customer.id }}' }, id: '{{ string(answer.id) }}' }
  update: { put: '/notes/{{ entry.id }}', body: { text: '{{ call.text }}' }, id: '{{ string(answer.id) }}' }
  remove: { delete: '/notes/{{ entry.id }}' }
  attach:
    once: ledger
    post: /files
    body: { note: '{{ entry.id }}', name: '{{ recording.name }}', data: '{{ recording.base64 }}' }
    id: '{{ string(answer.id) }}'
    remove: { delete: '/files/{{ attached.id }}' }
`;

test('npm run connector - checks a file, tries it, records what was asked, and shows no secret', async (t) => {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'connector-'));
  t.after(() => fs.rm(folder, { recursive: true }));
  const file = path.join(folder, 'small.yaml');
  await fs.writeFile(file, FILE);
  let answer = (method: string): unknown =>
    ({ POST: { id: 5 }, PUT: { id: 6 } })[method] ?? [{ id: 1, name: 'Anna' }];
  const system = await startSystem(t, ({ method, path: asked }) =>
    asked.startsWith('/me')
      ? { status: 401, json: { message: `bad key very-secret` } }
      : { json: answer(method) },
  );
  const env = { CONNECTOR_ADDRESS: system.url, CONNECTOR_TOKEN: 'very-secret' };
  const run = async (args: readonly string[], given: Record<string, string> = env) => {
    const lines: string[] = [];
    const code = await runConnectorCommand(args, { env: given, write: (line) => void lines.push(line) });
    const text = lines.join('\n');
    assert.ok(!text.includes('very-secret'), text);
    return { code, text };
  };
  const local = ['--allow', '127.0.0.1', '--record'];
  assert.match(
    (await run(['check', file])).text,
    /Small CRM: check, lookup, entry \(once: ledger\), entry\.attach \(once: ledger\)\nNo recorded pairs/,
  );
  const found = await run(['try', file, 'lookup', '+4930901820', ...local]);
  assert.deepEqual(
    [found.code, /→ GET .*phone=%2B4930901820&key=…/.test(found.text), /"name":"Anna"/.test(found.text)],
    [0, true, true],
  );
  assert.equal((await run(['try', file, 'entry', '--customer', '1', ...local])).code, 0);
  assert.deepEqual(
    system.asked.slice(-5).map(({ method, path: asked }) => `${method} ${asked.split('?')[0]}`),
    ['POST /notes', 'PUT /notes/5', 'POST /files', 'DELETE /files/5', 'DELETE /notes/6'],
  );
  const file_body = JSON.parse(system.asked.at(-3)!.body) as { data: string };
  assert.equal(Buffer.from(file_body.data, 'base64').subarray(0, 4).toString(), 'RIFF');
  const refused = await run(['try', file, 'check', '--allow', '127.0.0.1']);
  assert.deepEqual([refused.code, /disconnected/.test(refused.text)], [1, true]);
  assert.match((await run(['try', file, 'check'])).text, /not a public address[\s\S]*--allow <host>/);
  assert.match((await run(['check', file])).text, /recorded pairs are as they were/);
  assert.ok(!(await fs.readFile(path.join(folder, 'small.test.yaml'), 'utf8')).includes('very-secret'));
  answer = () => [];
  await fs.writeFile(file, FILE.replace('query: { phone', 'query: { fone'));
  const changed = await run(['check', file]);
  assert.deepEqual([changed.code, /step 1 \(lookup\): asks .*fone/.test(changed.text)], [1, true]);
  await fs.writeFile(file, FILE.replace('row.name', 'call.name'));
  assert.match(
    (await run(['check', file])).text,
    /small\.yaml:7: customer\.name: Unknown variable: call \[expression_name\]/,
  );
  assert.deepEqual(
    [(await run([])).code, (await run(['try', file, 'fly'])).code, (await run(['check', 'no.yaml'])).code],
    [2, 1, 1],
  );
  const missing = await run(['try', file, 'check'], {});
  assert.ok(missing.code !== 0);
});
