import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSources } from '../../../server/test/support/sources.ts';

const PLAIN = /<(?:Modal|Drawer)\b[\s\S]*?<\/(?:Modal|Drawer)>/g;
const TYPED = /<(?:ChangeForm|TextInput|Textarea|PasswordInput|NumberInput|TagsInput)\b/;

test('console - a dialog with fields asks before it drops what was typed', async () => {
  const found: string[] = [];
  const files = await readSources(['console/src'], /\.tsx$/);
  for (const { path: file, text } of files)
    for (const [dialog] of text.matchAll(PLAIN)) if (TYPED.test(dialog)) found.push(file);
  assert.ok(files.length > 100, `${files.length} files were read`);
  assert.deepEqual(found, []);
});
