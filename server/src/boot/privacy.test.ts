import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import type { SeenNode } from '../ports/site-nodes.ts';
import type { Voicemail } from '../ports/voicemail.ts';
import { enginesOf, recordingNodesOf } from './privacy.ts';

const voicemailOf = (node: string): Voicemail => ({
  page: () =>
    Promise.resolve({
      items: [{ stem: node, mark: '', mailbox: '1003', former_owner: null, message: null }],
      next: null,
    }),
  audio: () => Promise.resolve(null),
  remove: () => Promise.resolve(0),
});
const engineSite = { node: nodeId('a'), voicemail: voicemailOf('a'), otherVoicemail: voicemailOf };
/** The node of each engine, and the node whose files are read for it. */
async function shown(of: ReturnType<typeof enginesOf>): Promise<(string | null)[][]> {
  const all: (string | null)[][] = [];
  for (const { node, voicemail } of await of) {
    const page = await voicemail?.page(null, new AbortController().signal);
    all.push([node, page?.items[0]?.stem ?? null]);
  }
  return all;
}

const list = async () =>
  [
    { name: 'a', role: 'active' },
    { name: 'b', role: 'home' },
    { name: 'c', role: 'standby' },
    { name: 'w', role: 'web' },
    { name: 'x', role: 'home' },
  ] as unknown as SeenNode[];

test('privacy - a site of one node searches the voicemail of its engine', async () => {
  assert.deepEqual(await shown(enginesOf(engineSite, [], null)), [['a', 'a']]);
});

test('privacy - voicemail is read at home nodes, also silent ones; that of a standby is not', async () => {
  assert.deepEqual(await shown(enginesOf(engineSite, ['b', 'silent'], { list })), [
    ['a', 'a'],
    ['b', 'b'],
    ['silent', 'silent'],
    ['x', 'x'],
    ['c', null],
  ]);
});

test('privacy - home nodes keep recordings for themselves where no folder is shared', async () => {
  const configured = ['silent', 'b'];
  const [own, shared] = [
    { node: 'a', sharedFiles: null },
    { node: 'a', sharedFiles: '/shared' },
  ];
  assert.deepEqual(await recordingNodesOf(own, configured, { list }), ['b', 'silent', 'x']);
  assert.deepEqual(await recordingNodesOf(own, [], null), []);
  assert.deepEqual(await recordingNodesOf(shared, configured, { list }), []);
});
