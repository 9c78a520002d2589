import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { CallSettings } from '@offhook/contract/call-settings.ts';
import { ContactsQuery } from '@offhook/contract/extensions.ts';
import { HistoryQuery } from '@offhook/contract/history.ts';
import { CLOSE_CODES, ClientFrame, ServerFrame } from '@offhook/contract/stream.ts';
import { contractDocument } from '../../tools/contract-documents.ts';

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly description?: string }[];
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
}
const { paths } = await contractDocument<{ paths: Record<string, { get?: Operation }> }>('openapi');
const describedAs = (path: string, name: string): string =>
  paths[path]?.get?.parameters?.find((one) => one.name === name)?.description ?? '';

test('documents - what may be refused and within which limits is said', () => {
  assert.match(paths['/api/mobile/contacts.php']?.get?.responses['400']?.$ref ?? '', /\/InvalidRequest/);
  assert.match(describedAs('/api/v1/events/poll', 'wait'), /from 0 to 60\b/);
  for (const path of ['/api/v1/wallboard', '/api/v1/queues/{name}/stats']) {
    for (const name of ['threshold_seconds', 'short_abandon_seconds']) {
      assert.match(describedAs(path, name), /from 0 to 7200\b/, `${path} ${name}`);
    }
  }
});

test('documents - what is wrong with a value is said in words, not as an expression', () => {
  for (const { error } of [
    ContactsQuery.safeParse({ limit: 'x', offset: '1.5' }),
    HistoryQuery.safeParse({ q: '\n', limit: 'x', offset: '-1', extension: 'x' }),
    CallSettings.safeParse({
      caller_ids: ['x'],
      emergency: ['x'],
      prefixes: [{ prefix: 'x', destination: 'mobile' }],
    }),
  ]) {
    assert.ok(error !== undefined);
    for (const { message } of error.issues) assert.doesNotMatch(message, /[\^\\]|pattern/, message);
  }
  for (const name of fs.readdirSync(new URL('../../contract/', import.meta.url))) {
    if (!name.endsWith('.ts')) continue;
    const text = fs.readFileSync(new URL(`../../contract/${name}`, import.meta.url), 'utf8');
    assert.doesNotMatch(text, /\.regex\(\s*\/[^\n]*\/u?\s*,?\s*\)/, name);
  }
});

test('documents - wire.md has every frame and close code of the WebSocket', () => {
  const text = fs.readFileSync(new URL('../../docs/wire.md', import.meta.url), 'utf8');
  const frames = [...text.matchAll(/^\| (`[^|]*`) \| (?:server|client|both) \|/gm)].map(
    ([, names]) => names!,
  );
  for (const { shape } of [...ServerFrame.options, ...ClientFrame.options]) {
    const name = `\`${shape.op.value}\``;
    assert.ok(
      frames.some((names) => names.split(' / ').includes(name)),
      name,
    );
  }
  const codes = /^Close codes: .*$/m.exec(text)?.[0] ?? '';
  for (const code of [1009, ...Object.values(CLOSE_CODES)])
    assert.ok(codes.includes(String(code)), `${code}`);
});
