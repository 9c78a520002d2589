import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/errors.ts';
import type { Instance } from './instance.ts';
import { musicLines, soundGlobals, soundOf, soundPath, soundStep } from './sounds.ts';
import { company } from '../../../../test/support/rendered-company.ts';

const ID = 'ab'.repeat(32);
const at = (folder: string) => ({ folder: `${folder}/engine` }) as Instance;
const refused = (work: () => unknown, about: RegExp): void => {
  assert.throws(work, (error) => {
    assert.ok(error instanceof ServiceError && error.code === 'invalid_request');
    assert.match(error.message, about);
    return true;
  });
};
const site = company({ prompts: [{ name: 'welcome', title: 'Welcome', sound: ID }] });

test('conf/sounds - a sound is an absolute path; nothing but an id of ours is ever one', () => {
  assert.equal(soundPath(at('/srv/off hook/Büro_1'), ID), `/srv/off hook/Büro_1/sounds/${ID}`);
  for (const id of [
    '',
    ID.toUpperCase(),
    `${ID}0`,
    ID.slice(1),
    `../${ID}`,
    `${ID}\n`,
    `${ID}&x`,
    `\${SHELL(x)}`,
  ]) {
    refused(() => soundPath(at('/srv'), id), /must be the id of a sound/);
  }
  for (const folder of [
    '/a,b',
    '/a&b',
    '/a(b)',
    '/a;b',
    '/${x}',
    '/a|b',
    '/a"b',
    '/a\nb',
    '/[x]',
    '/ a',
    'a',
  ]) {
    refused(() => soundPath(at(folder), ID), /the folder of sounds/);
  }
});

test('conf/sounds - prompts by name, the sounds of the engine by theirs, and one that is not there is refused', () => {
  assert.equal(soundOf(site, at('/srv'), { prompt: 'welcome' }, 'a greeting'), `/srv/sounds/${ID}`);
  assert.equal(soundOf(site, at('/srv'), { built_in: 'digits/1' }, 'a greeting'), 'digits/1');
  assert.equal(soundStep(site, { prompt: 'welcome' }, 'a greeting'), `\${OFFHOOK_SOUNDS}/${ID}`);
  assert.equal(soundStep(site, { built_in: 'digits/1' }, 'a greeting'), 'digits/1');
  assert.match(soundGlobals(site, at('/srv')), /^OFFHOOK_SOUNDS = \/srv\/sounds$/m);
  assert.equal(soundGlobals(company(), at('/a,b')), '', 'a folder that could not be named does no harm');
  refused(() => soundGlobals(site, at('/a,b')), /the folder of sounds/);
  refused(
    () => soundOf(site, at('/srv'), { prompt: 'other' }, 'a greeting'),
    /a greeting: there is no prompt "other"/,
  );
  refused(() => soundOf(site, at('/srv'), { built_in: '../x' }, 'a greeting'), /name of a sound/);
});

test('conf/sounds - a music class plays its prompts in their order, or in any', () => {
  const c = { name: 'jazz', title: 'Jazz', prompts: ['welcome', 'welcome'], order: 'as_listed' } as const;
  const lines = `mode = playlist\nentry = /srv/sounds/${ID}\nentry = /srv/sounds/${ID}\n`;
  assert.equal(musicLines(site, at('/srv'), { ...c, prompts: [...c.prompts] }), lines);
  const random = musicLines(site, at('/srv'), { ...c, prompts: ['welcome'], order: 'random' });
  assert.match(random, /^mode = playlist\nsort = random\nentry = /);
});
