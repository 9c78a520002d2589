import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { ServiceError } from '../../core/errors.ts';
import { silent } from '../../core/log.ts';
import { extensionSubject, numberSubject } from '../../numbers/subject.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { KnownAbout } from '../../ports/privacy.ts';
import type { Voicemail, VoicemailItem, VoicemailMessage } from '../../ports/voicemail.ts';
import { VoicemailData } from './personal-data.ts';

const signal = new AbortController().signal;
const NUMBER = numberSubject('030 / 901820', 'DE')!;

function item(
  stem: string,
  mailbox: string,
  message: Partial<VoicemailMessage> | null,
  former_owner = 0,
): VoicemailItem {
  const whole = {
    folder: 'INBOX',
    left_for: mailbox,
    caller_number: null,
    caller_name: null,
    redirected_by: null,
    received_ms: 1_795_903_200_000,
    seconds: 7,
  };
  return {
    stem,
    mark: '',
    mailbox,
    former_owner: former_owner === 0 ? null : former_owner,
    message: message === null ? null : { ...whole, ...message },
  };
}
/** The voicemail of an engine in memory, a page for each item; `state.away` makes it unreachable, and `state.locked` has stems. */
function engine(items: VoicemailItem[]) {
  const state = {
    away: false,
    locked: new Set<string>(),
    read: [] as string[],
    code: 'engine_unavailable' as ErrorCode,
  };
  const reach = (): void => {
    if (state.away) throw new ServiceError(state.code, 'the engine b is away');
  };
  const voicemail: Voicemail = {
    async page(after) {
      reach();
      const at = Number(after);
      return { items: items.slice(at, at + 1), next: at + 1 < items.length ? String(at + 1) : null };
    },
    async audio({ stem }) {
      reach();
      state.read.push(stem);
      return state.locked.has(stem) ? null : [{ name: `${stem}.wav`, bytes: Buffer.from('audio') }];
    },
    async remove(wanted) {
      reach();
      for (const one of wanted) items.splice(items.indexOf(one), 1);
      return wanted.length;
    },
  };
  return { items, state, voicemail };
}
const ITEMS = (): VoicemailItem[] => [
  item('own', '1003', { caller_number: '1008' }),
  item('own greeting', '1003', null),
  item('former holder', '1003', {}, 5),
  item('earlier number', '1013', {}, 7),
  item('forwarded', '1004', { left_for: '1003' }),
  item('left by it', '1005', { caller_number: '1003', caller_name: 'Bea' }),
  item('redirected by it', '1005', { redirected_by: '1003' }),
  item('national', '1006', { caller_number: '030901820' }),
  item('international', '1006', { caller_number: '+4930901820' }),
  item('in a name', '1006', { caller_name: 'via 0049 30 901820' }),
  item('redirected outside', '1006', { redirected_by: '030901820' }),
  item('other number', '1006', { caller_number: '0309018201' }),
  item('other extension', '1006', { caller_number: '11003', caller_name: '1003' }, 8),
  item('other greeting', '1006', null),
];
const OF_1003 = [
  'own',
  'own greeting',
  'former holder',
  'earlier number',
  'forwarded',
  'left by it',
  'redirected by it',
];
const OF_NUMBER = ['national', 'international', 'in a name', 'redirected outside'];

function rig() {
  const [a, b] = [
    engine(ITEMS()),
    engine([item('at the other engine', '1006', { caller_number: '030901820' })]),
  ];
  const data = new VoicemailData({
    engines: async () => [
      { node: 'a', voicemail: a.voicemail },
      { node: 'b', voicemail: b.voicemail },
    ],
    ownerOf: (number) => (number === '1003' ? 7 : undefined),
    log: silent,
  });
  const collected = async (subject: Subject): Promise<KnownAbout[]> => {
    const found: KnownAbout[] = [];
    for await (const one of data.collect(subject, [], signal)) found.push(one);
    return found;
  };
  return { a, b, data, collected };
}

for (const [subject, wanted] of [
  [extensionSubject('1003'), OF_1003],
  [NUMBER, [...OF_NUMBER, 'at the other engine']],
] as const)
  test(`voicemail - erases what is about the ${subject.kind}, and nothing else`, async () => {
    const { a, b, data } = rig();
    const all = [...a.items, ...b.items];
    assert.deepEqual(await data.count(subject, signal), { voicemail: wanted.length });
    assert.deepEqual(await data.erase(subject, 'erased-1', signal), { voicemail: wanted.length });
    assert.deepEqual(
      [...a.items, ...b.items],
      all.filter(({ stem }) => !wanted.includes(stem)),
    );
    assert.deepEqual([await data.count(subject, signal), data.unreached()], [{}, []]);
  });

test('voicemail - an export has the messages of a mailbox with their audio, and names those of former holders', async () => {
  const { collected } = rig();
  const [own, greeting, former] = await collected(extensionSubject('1003'));
  assert.deepEqual(own, {
    kind: 'voicemail_message',
    value: {
      mailbox: '1003',
      former_holder: false,
      folder: 'INBOX',
      left_for: '1003',
      caller_number: '1008',
      caller_name: null,
      redirected_by: null,
      seconds: 7,
      received_at: '2026-11-28T22:00:00.000Z',
      audio: [{ name: 'own.wav', base64: 'YXVkaW8=' }],
    },
  });
  assert.deepEqual(greeting, {
    kind: 'voicemail_greeting',
    value: {
      mailbox: '1003',
      former_holder: false,
      audio: [{ name: 'own greeting.wav', base64: 'YXVkaW8=' }],
    },
  });
  assert.equal((former!.value as { former_holder: boolean }).former_holder, true);
  assert.equal((await collected(NUMBER)).length, OF_NUMBER.length + 1);
});

test('voicemail - an export has no audio of what was left for another holder, and counts the audio that it lacks', async () => {
  const { a, data, collected } = rig();
  a.state.locked.add('own').add('forwarded');
  const found = await collected(extensionSubject('1003'));
  assert.deepEqual(
    found.map(({ value }) => {
      const { audio } = value as { audio?: readonly unknown[] | null };
      return audio === undefined ? 'none' : (audio?.length ?? null);
    }),
    [null, 1, 'none', 1, null, 1, 1],
  );
  assert.ok(!a.state.read.includes('former holder'));
  assert.equal(data.lackingAudio(), 2);
  assert.equal(data.unreached().length, 0);
  a.state.locked.clear();
  await collected(extensionSubject('1003'));
  assert.equal(data.lackingAudio(), 0);
});

for (const code of ['internal', 'overloaded'] as const)
  test(`voicemail - an engine whose node answers ${code} is named`, async () => {
    const { b, data, collected } = rig();
    Object.assign(b.state, { away: true, code });
    assert.equal((await collected(NUMBER)).length, OF_NUMBER.length);
    assert.deepEqual([data.unreached(), data.lackingAudio()], [['b'], 0]);
    assert.deepEqual(await data.count(NUMBER, signal), { voicemail: OF_NUMBER.length });
  });

test('voicemail - an engine that is away is named, and searched again once it is back', async () => {
  const { b, data, collected } = rig();
  b.state.away = true;
  assert.equal((await collected(NUMBER)).length, OF_NUMBER.length);
  assert.deepEqual(data.unreached(), ['b']);
  assert.deepEqual(await data.erase(NUMBER, 'erased-1', signal), { voicemail: OF_NUMBER.length });
  assert.deepEqual([await data.count(NUMBER, signal), data.unreached()], [{}, ['b']]);
  b.state.away = false;
  assert.deepEqual([await data.count(NUMBER, signal), data.unreached()], [{ voicemail: 1 }, []]);
  assert.deepEqual(await data.erase(NUMBER, 'erased-1', signal), { voicemail: 1 });
});

test('voicemail - an engine that is lost after the search deleted nothing, and is named', async () => {
  const { b, data } = rig();
  const page = b.voicemail.page.bind(b.voicemail);
  Object.assign(b.voicemail, {
    async page(after: string | null) {
      const found = await page(after, signal);
      b.state.away = true;
      return found;
    },
  });
  assert.deepEqual(await data.erase(NUMBER, 'erased-1', signal), { voicemail: OF_NUMBER.length });
  assert.deepEqual([data.unreached(), b.items.length], [['b'], 1]);
});

test('voicemail - an engine whose files no node reads for others is named', async () => {
  const data = new VoicemailData({
    engines: async () => [{ node: 'c', voicemail: null }],
    ownerOf: () => undefined,
    log: silent,
  });
  assert.deepEqual([await data.count(NUMBER, signal), data.unreached()], [{}, ['c']]);
});

test('voicemail - the leading node is named for a file that it cannot read, and all others are exported and erased', async () => {
  const { a, data, collected } = rig();
  const page = a.voicemail.page.bind(a.voicemail);
  const audio = a.voicemail.audio.bind(a.voicemail);
  const denied = Object.assign(new Error('EACCES: permission denied'), { errno: -13, code: 'EACCES' });
  Object.assign(a.voicemail, {
    page: async (after: string | null) => ({
      ...(await page(after, signal)),
      unread: after === null ? 1 : 0,
    }),
    audio: (one: VoicemailItem) => (one.stem === 'national' ? Promise.reject(denied) : audio(one, signal)),
  });
  const found = await collected(NUMBER);
  assert.deepEqual(
    found.map(({ value }) => (value as { audio: readonly unknown[] | null }).audio?.length ?? null),
    [null, 1, 1, 1, 1],
  );
  assert.deepEqual([data.unreached(), data.lackingAudio()], [['a'], 1]);
  assert.deepEqual(await data.erase(NUMBER, 'erased-1', signal), { voicemail: OF_NUMBER.length + 1 });
  assert.deepEqual([await data.count(NUMBER, signal), data.unreached()], [{}, ['a']]);
  Object.assign(a.voicemail, { page: () => Promise.reject(denied) });
  assert.deepEqual([await data.count(NUMBER, signal), data.unreached()], [{}, ['a']]);
});

test('voicemail - an error that is none of an engine ends the search', async () => {
  const { a, data } = rig();
  Object.assign(a.voicemail, { remove: () => Promise.reject(new TypeError('no function')) });
  await assert.rejects(data.erase(NUMBER, 'erased-1', signal), /no function/);
});
