import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KINDS } from '@offhook/contract/config-objects.ts';
import de from '../../locales/de/fields.json' with { type: 'json' };
import en from '../../locales/en/fields.json' with { type: 'json' };
import tr from '../../locales/tr/fields.json' with { type: 'json' };
import { LAYOUTS } from './layout.ts';
import { formOf, inWordsOf, initialOf, mistakesOf, newOf, rebased } from './schema.ts';
import type { Field, Shape } from './schema.ts';

const has = (key: string): boolean => Object.hasOwn(en, key);
function* inner(shape: Shape): Generator<Field> {
  if (shape.is === 'list') yield* inner(shape.item);
  if (shape.is === 'object')
    for (const field of shape.fields) {
      yield field;
      yield* inner(field.shape);
    }
}
test('admin schema - every field of every kind is once in its form, with a label, and every option has one', () => {
  const missing: string[] = [];
  for (const kind of KINDS) {
    const fields = formOf(kind);
    const laid = LAYOUTS[kind].groups.flatMap(([, ...names]) => names);
    assert.deepEqual(laid.toSorted(), fields.map((f) => f.name).toSorted(), kind);
    for (const column of LAYOUTS[kind].columns) assert.ok(laid.includes(column), `${kind}.${column}`);
    for (const { name, shape } of fields.flatMap((f) => [f, ...inner(f.shape)])) {
      if (!has(`l_${kind}_${name}`) && !has(`l_${name}`)) missing.push(`${kind}.${name}`);
      const options = shape.is === 'choice' || shape.is === 'choices' ? shape.options : [];
      for (const option of options)
        if (!has(`o_${name}_${option}`) && !has(`o_${option}`)) missing.push(`${kind}.${name}=${option}`);
    }
    for (const word of [`k_${kind}`, `ks_${kind}`]) if (!has(word)) missing.push(word);
    for (const [group] of LAYOUTS[kind].groups) if (!has(`g_${group}`)) missing.push(group);
  }
  assert.deepEqual(missing, []);
});
test('admin schema - a hint that several kinds share is true of each of them', () => {
  const kinds = new Map<string, Set<string>>();
  for (const kind of KINDS)
    for (const { name } of formOf(kind).flatMap((f) => [f, ...inner(f.shape)]))
      if (has(`h_${name}`) && !has(`h_${kind}_${name}`))
        kinds.set(name, (kinds.get(name) ?? new Set()).add(kind));
  const shared = [...kinds]
    .filter(([, of]) => of.size > 1)
    .map(([name, of]) => `${name}: ${[...of].join(' ')}`);
  // A new one is read with each of its kinds before it is added here.
  assert.deepEqual(shared, [
    'sip_password: extension phone',
    'recording: extension queue ring_group',
    'location: extension network',
    'media_address: extension trunk',
    'name: queue ring_group menu time_condition holidays conference parking_lot music_class prompt trunk inbound_route outbound_route call_limit phone phone_layout',
    'number: queue ring_group conference',
    'title: queue ring_group menu time_condition conference mailbox parking_lot music_class prompt trunk inbound_route outbound_route call_limit service phone phone_layout engine',
    'key: queue menu',
    'pin: conference mailbox',
  ]);
});
test('admin schema - a class of calls has the same word in every form, not that of a device', () => {
  const classes = KINDS.flatMap((kind) => formOf(kind)).flatMap(({ name, shape }) =>
    (shape.is === 'choice' || shape.is === 'choices') && shape.options.includes('premium') ? [name] : [],
  );
  assert.deepEqual(new Set(classes), new Set(['class', 'classes', 'call_permission']));
  for (const words of [en, de, tr]) {
    const word = (key: string): string | undefined => (words as Readonly<Record<string, string>>)[key];
    const said = classes.map((name) => word(`o_${name}_mobile`) ?? word('o_mobile'));
    assert.equal(new Set(said).size, 1, said.join(', '));
  }
});
test('admin schema - a field follows its schema: references, destinations, sounds, bounds, secrets, initial value', () => {
  const queue = new Map(formOf('queue').map((f) => [f.name, f]));
  assert.deepEqual(queue.get('ring_seconds')?.shape, { is: 'number', min: 1, max: 600 });
  assert.equal(queue.get('ring_seconds')?.initial, 15);
  assert.equal(queue.get('otherwise')?.shape.is, 'destination');
  assert.equal(queue.get('announcement')?.shape.is, 'sound');
  assert.deepEqual(queue.get('music_class')?.shape, { is: 'reference', kind: 'music_class' });
  const members = queue.get('members')?.shape;
  assert.ok(members?.is === 'list' && members.most === 1000 && members.item.is === 'object');
  assert.deepEqual(members.item.fields[0]?.shape, { is: 'reference', kind: 'extension' });
  const secrets = formOf('extension').filter((f) => f.shape.is === 'secret');
  assert.deepEqual(
    secrets.map((f) => f.name),
    ['voicemail_pin', 'sip_password'],
  );
  assert.ok(!('sip_password' in initialOf(formOf('extension'))));
  assert.deepEqual(
    formOf('settings').map((f) => f.name),
    ['recording_announcement', 'language', 'customer_languages', 'sign_out_hours'],
  );
});
test('admin schema - errors are reported by field: missing, out of bounds, or malformed', () => {
  const found = mistakesOf('queue', {
    ...initialOf(formOf('queue')),
    number: '5',
    ring_seconds: 900,
    name: '',
  });
  assert.deepEqual(
    found.map(({ path, text, values }) => [path, text, values ?? null]),
    [
      ['name', 'missing', null],
      ['number', 'wrong_form', null],
      ['title', 'missing', null],
      ['ring_seconds', 'between', { min: 1, max: 600 }],
    ],
  );
  assert.deepEqual(mistakesOf('queue', { name: 'a', number: '500', title: 'A' }), []);
});
test('admin schema - the text of a rule is that of the service, in its language; other errors keep their words', () => {
  const own = mistakesOf('queue', { ...initialOf(formOf('queue')), name: 'a', number: '5', title: '' });
  const detail = 'muss 2 bis 10 Ziffern haben, die erste nicht 0';
  const findings = ['number', 'title', 'name'].map((path) => ({ path, detail }));
  assert.deepEqual(
    inWordsOf(own, findings).map((mistake) => [mistake.path, mistake.text, mistake.detail]),
    [
      ['number', 'wrong_form', detail],
      ['title', 'missing', ''],
    ],
  );
  assert.deepEqual(inWordsOf(own, []), own);
});
test('admin schema - merging keeps both changes, and names the fields changed by both', () => {
  const base = { title: 'A', ring: 1, number: '5' };
  const got = rebased(base, { ...base, title: 'Mine', ring: 2 }, { ...base, title: 'Theirs', number: '6' });
  assert.deepEqual(got, {
    values: { title: 'Mine', ring: 2, number: '6' },
    theirs: ['number'],
    both: ['title'],
  });
});
test('schema - a new extension may not call expensive numbers until this is selected', () => {
  assert.deepEqual(newOf('extension')['call_permission'], ['emergency', 'local', 'national', 'mobile']);
  assert.deepEqual(newOf('queue'), initialOf(formOf('queue')));
});
test('schema - a new outbound route has no class, so that the service takes it from the patterns', () => {
  const route = newOf('outbound_route');
  assert.ok(!('class' in route));
  const filled = { ...route, name: 'out', patterns: ['0X.'], trunks: [{ trunk: 'north' }] };
  assert.deepEqual(mistakesOf('outbound_route', filled), []);
});
