import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { NewApply } from '@offhook/contract/config-applies.ts';
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import path from 'node:path';
import { configRig } from '../../test/support/config-rig.ts';
import { run } from '../adapters/asterisk/provision/run.ts';
import { runConfigCommand } from './config-cli.ts';
import { ServiceError } from '../core/errors.ts';

/** The API with applies that take two looks and end as they are told to. */
async function rig(t: TestContext, ends: ConfigApply['state'] = 'applied', empty = false) {
  let looks = 0;
  const began: string[] = [];
  const apply = (state: ConfigApply['state']) => ({
    success: true,
    apply: {
      id: 7,
      state,
      version: 2,
      detail: ends === 'applied' ? null : 'the live engine refused it.',
      problems: ends === 'applied' ? [] : [{ object: 'queue support', file: 'queues.conf', words: 'no' }],
    },
  });
  const r = await configRig(t, {
    empty,
    routes(app, objects) {
      app.post(
        '/api/v1/config/applies',
        { config: { level: 'admin' }, schema: { body: NewApply } },
        async (request, reply) => {
          if (request.body.draft !== r.draft.etag()) throw new ServiceError('precondition_failed', 'changed');
          began.push(request.body.draft);
          if (ends === 'applied')
            await objects.commit(objects.draft(), { author: '1001', comment: null, at: 1 });
          return reply.code(202).send(apply('validating'));
        },
      );
      app.get('/api/v1/config/applies/:id', { config: { level: 'admin' } }, () =>
        apply((looks += 1) < 2 ? 'proving' : ends),
      );
    },
  });
  const { port } = await r.host.listen({ host: '127.0.0.1', port: 0 });
  const file = path.join(r.folder, 'site.yaml');
  return {
    ...r,
    file,
    began,
    command: async (...args: string[]) => {
      const said: string[] = [];
      let text = '';
      const code = await runConfigCommand(args, {
        env: { OFFHOOK_URL: `http://127.0.0.1:${port}`, OFFHOOK_API_KEY: 'token-admin' },
        say: (line) => void said.push(line),
        write: (more) => void (text += more),
      });
      return { code, said: said.join('\n'), text };
    },
    edit: async (from: string | RegExp, to: string) => {
      const before = await fs.readFile(file, 'utf8');
      const after = before.replace(from, to);
      assert.notEqual(after, before, `${String(from)} is not in the file`);
      await fs.writeFile(file, after);
    },
  };
}
const CARE = 'ring_groups:\n  - name: care\n    number: "550"\n    title: "Care"\n    members: ["1003"]';

test('config command - what is exported plans to nothing; a change is shown, applied, and then it is what there is', async (t) => {
  const { command, edit, file, objects } = await rig(t);
  assert.equal((await command('export', file)).code, 0);
  assert.equal((await command('export')).text, await fs.readFile(file, 'utf8'));
  const same = await command('plan', file);
  assert.deepEqual([same.code, same.text, same.said], [0, '', 'Nothing differs from what is applied.']);
  await edit('title: "Support"', 'title: "Help desk"');
  await edit('ring_groups: []', CARE);
  await edit(/ {2}- id: back_office\n(?: {4}.*\n)+/, '');
  const planned = await command('plan', file);
  assert.equal(planned.code, 0, planned.said);
  assert.deepEqual(planned.text.trimEnd().split('\n'), [
    '~ queue support',
    '    title: "Support" → "Help desk"',
    '+ ring group care',
    '- pause reason back_office',
  ]);
  assert.equal(objects.draft().of('ring_group').size, 0, 'a plan is kept');
  const applied = await command('apply', file);
  assert.equal(applied.code, 0, applied.said);
  assert.match(
    applied.said,
    /^1 added, 1 changed, 1 removed\.\nvalidating …\nproving …\nApplied as version 2\.$/,
  );
  assert.equal(applied.text, planned.text);
  assert.equal(objects.applied().of('ring_group').size, 1);
  const again = await command('apply', file);
  assert.deepEqual([again.code, again.said], [0, 'Nothing differs from what is applied.']);
});

test('config command - what one site exports an empty one takes, the remedy for a folder of a build before 0.1.0', async (t) => {
  const [from, to] = [await rig(t), await rig(t, 'applied', true)];
  await from.command('export', from.file);
  const applied = await to.command('apply', from.file);
  assert.equal(applied.code, 0, applied.said);
  assert.equal((await to.command('export')).text, await fs.readFile(from.file, 'utf8'));
});

test('config command - what is rolled back says why, ends with 1 and leaves no draft', async (t) => {
  const { command, edit, file, objects } = await rig(t, 'rolled_back');
  await command('export', file);
  await edit('ring_groups: []', CARE);
  const { code, said } = await command('apply', file);
  assert.equal(code, 1);
  assert.match(said, /was rolled back\. the live engine refused it\.\n {2}queue support: queues\.conf: no\n/);
  assert.equal(objects.draft().of('ring_group').size, 0);
});

test('config command - it leaves the draft of somebody else alone unless it is told otherwise', async (t) => {
  const { ask, command, edit, file, began, objects } = await rig(t);
  await command('export', file);
  await edit('ring_groups: []', CARE);
  await ask('PATCH', 'queues/support', { title: 'Theirs' });
  const refused = await command('apply', file);
  assert.equal(refused.code, 1);
  assert.match(refused.said, /The draft has 1 changes that are not applied, the first by 1001/);
  assert.deepEqual(began, []);
  assert.equal((await command('apply', file, '--over-draft')).code, 0);
  assert.equal(objects.applied().of('queue').get('support')?.body.title, 'Support');
});

test('config command - what is refused is told once, each with its field', async (t) => {
  const { command, edit, file } = await rig(t);
  await command('export', file);
  await edit('ring_groups: []', CARE.replace('    title: "Care"\n', '').replace('["1003"]', 'all'));
  const { code, said } = await command('plan', file);
  assert.deepEqual(
    [code, said.split('\n')],
    [
      1,
      [
        'The request is not valid:',
        '  ring_group care title: is missing',
        '  ring_group care members: expected an array, received a string',
      ],
    ],
  );
});

test('config command - new secrets are shown once, and stand in no export', async (t) => {
  const { command, edit, file } = await rig(t);
  await command('export', file);
  await edit('extensions:\n', 'extensions:\n  - extension: "1050"\n    username: ada\n    name: "Ada"\n');
  const { code, said } = await command('apply', file);
  assert.equal(code, 0, said);
  const [, secret] = /New sip password of extension 1050, shown this once: (\S{32})/.exec(said)!;
  assert.ok(!(await command('export')).text.includes(secret!));
});

test('config command - what cannot be read or fits nothing is named, and nothing is done', async (t) => {
  const { command, file, began, objects } = await rig(t);
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
    .split('')
    .map((c, i) => `${c}: &${c} [${Array.from({ length: 9 }, () => `*${'abcdefghi'[i]}`).join(',')}]`)
    .join('\n')}\n`;
  const cases: readonly (readonly [text: string, says: RegExp])[] = [
    ['offhook: 1\nqueues: [', /site\.yaml: /],
    ['offhook: 1\noffhook: 1\n', /Map keys must be unique/],
    [bomb, /Excessive alias count/],
    ['- 1\n', /expected a document/],
    ['', /expected a document/],
    ['offhook: !!js/function "x"\n', /offhook: must be 1/],
    ['offhook: 1\nquues: []\n', /quues: unknown field/],
    ['offhook: 1\n__proto__: {a: 1}\n', /the field __proto__ is not allowed/],
    ['offhook: 1\nring_groups:\n  - name: care\n    number: 550\n', /ring_group care number: .*string/],
  ];
  for (const [text, says] of cases) {
    await fs.writeFile(file, text);
    for (const name of ['plan', 'apply']) {
      const { code, said } = await command(name, file);
      assert.equal(code, 1, `${name} ${text}: ${said}`);
      assert.match(said, says, text);
    }
  }
  for (const args of [[], ['plan'], ['apply', file, '--force'], ['export', 'a', 'b'], ['destroy', file]])
    assert.equal((await command(...args)).code, 2, args.join(' '));
  assert.deepEqual(began, []);
  assert.equal(objects.draft().of('extension').size, 12);
});

test('config command - it needs a service and somebody to be', async (t) => {
  const { folder } = await configRig(t);
  const ask = (env: Record<string, string>) =>
    run([process.execPath, path.join(import.meta.dirname, 'config-cli.ts'), 'export'], {
      env: { ...process.env, OFFHOOK_DATA: folder, ...env },
    });
  const nobody = await ask({});
  assert.equal(nobody.code, 1);
  assert.match(
    nobody.stderr,
    /No administrator with a password is in .*credentials\.json: set OFFHOOK_API_KEY/,
  );
  const wrong = await ask({ OFFHOOK_URL: 'ftp://x' });
  assert.deepEqual([wrong.code, wrong.stderr.trim()], [2, 'OFFHOOK_URL: expected http(s)://host[:port]']);
});
