import assert from 'node:assert/strict';
import { test } from 'node:test';
import '../../test/english-words.ts';
import { notificationsStore } from '@mantine/notifications';

const { loadWords } = await import('./words.ts');
const { copyText } = await import('./copy.ts');

test('copy - a browser without a clipboard, as at a plain http address, is reported, and so is a copy', async (t) => {
  await loadWords();
  const shown = (): unknown[] => notificationsStore.getState().notifications.map(({ message }) => message);
  assert.equal('clipboard' in navigator, false);
  await copyText('1003');
  const refused = 'Your browser did not allow copying. Select the text and copy it yourself.';
  assert.deepEqual(shown(), [refused]);
  const copied: string[] = [];
  const clipboard = { writeText: async (text: string) => void copied.push(text) };
  Object.defineProperty(navigator, 'clipboard', { configurable: true, value: clipboard });
  t.after(() => Reflect.deleteProperty(navigator, 'clipboard'));
  await copyText('1003');
  assert.deepEqual([copied, shown()], [['1003'], [refused, 'Copied']]);
});
