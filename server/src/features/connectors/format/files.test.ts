import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { createVirtualClock } from '../../../adapters/memory/virtual-clock.ts';
import { REPOSITORY } from '../../../../test/support/sources.ts';
import { fileOf } from '../../../../test/support/connector-rig.ts';
import { FUNCTIONS } from './functions.ts';
import { NAMES } from './names.ts';
import { playPairs } from './pairs.ts';

const FOLDER = path.join(REPOSITORY, 'connectors');
const names = (await fs.readdir(FOLDER)).filter(
  (name) => name.endsWith('.yaml') && !name.endsWith('.test.yaml'),
);

for (const name of names)
  test(`connectors - ${name} asks and reads as in its pairs`, async () => {
    const file = fileOf(await fs.readFile(path.join(FOLDER, name), 'utf8'));
    const pairs = await fs.readFile(path.join(FOLDER, name.replace('.yaml', '.test.yaml')), 'utf8');
    assert.deepEqual(await playPairs(file, pairs, createVirtualClock()), []);
  });

test('connectors - a request, a result or a request too much that differs from the pairs is named', async () => {
  const file = fileOf(await fs.readFile(path.join(FOLDER, 'zammad.yaml'), 'utf8'));
  const pairs = await fs.readFile(path.join(FOLDER, 'zammad.test.yaml'), 'utf8');
  const play = (text: string) => playPairs(file, text, createVirtualClock());
  assert.match(
    (await play(pairs.replace('newCall', 'oldCall'))).join(),
    /step 2 \(push\.ringing\): asks .*newCall.* instead of .*oldCall/,
  );
  assert.match(
    (await play(pairs.replace('reject: true', 'reject: false'))).join(),
    /gives .*true.* instead of .*false/,
  );
  assert.match(
    (await play('settings: {}\nsteps: [{ do: check, asks: [], gives: 1, extra: 2 }]')).join(),
    /extra/,
  );
  assert.match(
    (
      await play(
        'settings: { address: "http://x.example", token: abcdef }\nsteps: [{ do: check, asks: [], gives: 1 }]',
      )
    ).join(),
    /one request more/,
  );
});

test('connectors - the whole file of docs/connectors.md is right, and has less than sixty lines', async () => {
  const text = await fs.readFile(path.join(REPOSITORY, 'docs/connectors.md'), 'utf8');
  const [, file = ''] = /```yaml\n(connector: 1\n[^`]*)```/.exec(text) ?? [];
  assert.equal(fileOf(file).document.name, 'Acme CRM');
  assert.ok(file.split('\n').length < 60);
  for (const { signature } of FUNCTIONS) assert.ok(text.includes(`\`${signature.split('(')[0]}(`), signature);
  for (const name of Object.keys(NAMES.call)) assert.ok(text.includes(`\`${name}\``), name);
});

test('connectors - the examples of docs/connectors.md for servers of npm are right and have the stated number of lines', async () => {
  for (const [name, lines] of [
    ['json-server', 57],
    ['pouchdb', 51],
    ['jsonapi-server', 57],
  ] as const) {
    const text = await fs.readFile(path.join(REPOSITORY, `docs/connector-${name}.yaml`), 'utf8');
    fileOf(text);
    assert.equal(text.trimEnd().split('\n').length, lines, name);
  }
});
