import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

const SOURCES = path.join(import.meta.dirname, '..');
const PLAIN = /<(?:Modal|Drawer)\b[\s\S]*?<\/(?:Modal|Drawer)>/g;
const TYPED = /<(?:ChangeForm|TextInput|Textarea|PasswordInput|NumberInput|TagsInput)\b/;

test('console - a dialog with fields asks before it drops what was typed', async () => {
  const found: string[] = [];
  let files = 0;
  for await (const file of glob('**/*.tsx', { cwd: SOURCES })) {
    const text = await readFile(path.join(SOURCES, file), 'utf8');
    files += 1;
    for (const [dialog] of text.matchAll(PLAIN)) if (TYPED.test(dialog)) found.push(file);
  }
  assert.ok(files > 100, `${files} files were read`);
  assert.deepEqual(found, []);
});
