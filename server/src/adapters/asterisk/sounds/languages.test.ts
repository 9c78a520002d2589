import assert from 'node:assert/strict';
import { mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { fakeProgram, temporary } from '../../../../test/support/engine-instance.ts';
import { textIn } from '../../../core/words.ts';
import { createInstance } from '../process/instance-file.ts';
import { languageFolder } from './data-folder.ts';
import { dataDir } from '../conf/instance.ts';
import { ProvisionError } from '../provision/error.ts';
import { Languages } from './languages.ts';
import type { UnpackedPackages } from '../provision/tree.ts';

/** An engine with two English sounds, and packages that `obtain` finds below `root`. */
async function place(t: TestContext, obtain: (root: string) => Promise<void>) {
  const folder = temporary(t);
  const program = fakeProgram(folder, '');
  const english = path.join(program.data_dir, 'sounds', 'en');
  await mkdir(path.join(english, 'digits'), { recursive: true });
  await mkdir(path.join(program.data_dir, 'moh'));
  for (const name of ['beep.gsm', 'digits/1.gsm']) await writeFile(path.join(english, name), `en ${name}`);
  const instance = await createInstance(path.join(folder, 'site'));
  const root = path.join(folder, 'packages');
  const asked: string[] = [];
  const languages = new Languages({
    instance,
    program: () => program,
    async obtain(packages) {
      asked.push(...packages);
      await obtain(root);
      return { root } as UnpackedPackages;
    },
  });
  return { languages, instance, program, asked, root };
}
const voice = (root: string, name: string): string => path.join(root, 'usr/share/asterisk/sounds', name);

test('languages - a package is got once, and its prompts are found before the English ones', async (t) => {
  const { languages, instance, program, asked } = await place(t, async (root) => {
    await mkdir(voice(root, 'fr_CA_f_June'), { recursive: true });
    await writeFile(path.join(voice(root, 'fr_CA_f_June'), 'beep.gsm'), 'fr beep.gsm');
  });
  assert.deepEqual(await languages.prepare(['en']), { problems: [], notices: [] });
  assert.deepEqual(asked, [], 'English needs nothing');
  for (let i = 0; i < 2; i++)
    assert.deepEqual(await languages.prepare(['en', 'fr'], ['beep']), { problems: [], notices: [] });
  assert.deepEqual(asked, ['asterisk-core-sounds-fr-gsm']);
  const sounds = (name: string): Promise<string> =>
    readFile(path.join(dataDir(instance), 'sounds', name), 'utf8');
  assert.equal(await sounds('fr/beep.gsm'), 'fr beep.gsm');
  assert.deepEqual(
    [await sounds('beep.gsm'), await sounds('digits/1.gsm')],
    ['en beep.gsm', 'en digits/1.gsm'],
  );
  assert.equal(
    await realpath(path.join(dataDir(instance), 'moh')),
    await realpath(path.join(program.data_dir, 'moh')),
  );
});

test('languages - a language without sounds is a problem with its reason, and the others are ready', async (t) => {
  let fails = true;
  const { languages, instance, root } = await place(t, async (at) => {
    if (fails) throw new ProvisionError('failed', 'no mirror answers');
    await mkdir(voice(at, 'es_MX_f_Allison'), { recursive: true });
    await writeFile(path.join(voice(at, 'es_MX_f_Allison'), 'beep.gsm'), '');
  });
  const problem = (language: string, words: string) => ({
    object: `language ${language}`,
    file: null,
    words,
  });
  const problems = async (...wanted: readonly string[]) =>
    (await languages.prepare(wanted)).problems.map(({ said, ...shown }) => {
      for (const language of ['de', 'tr'] as const)
        assert.notEqual(textIn(said!, language), shown.words, `${shown.words} has words in ${language}`);
      return shown;
    });
  assert.deepEqual(await problems('es', 'tr'), [
    problem('es', 'its sounds could not be downloaded: no mirror answers'),
    problem('tr', 'there are no sounds for this language; upload them first'),
  ]);
  fails = false;
  assert.deepEqual((await languages.prepare(['es'])).problems, []);
  assert.deepEqual(await problems('it'), [problem('it', 'the package of its sounds holds none')]);
  // The cache was emptied.
  await rm(root, { recursive: true });
  assert.deepEqual((await languages.prepare(['es'])).problems, []);
  await readFile(path.join(languageFolder(instance, 'es'), 'beep.gsm'));
  fails = true;
  await rm(root, { recursive: true });
  const over = new AbortController();
  over.abort(new Error('the service stops'));
  await assert.rejects(languages.prepare(['es'], [], over.signal), /the service stops/);
});
