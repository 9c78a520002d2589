import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Clock } from '../../../ports/clock.ts';
import { obtainAsterisk, obtainAsteriskEventually } from './asterisk.ts';
import { ProvisionError } from './error.ts';
import { readMachine } from './machine.ts';
import { testMachine, testMirror, TRIPLET } from '../../../../test/support/debian-mirror.ts';
import type { TestMirror } from '../../../../test/support/debian-mirror.ts';
import { testKey } from '../../../../test/support/openpgp.ts';

function temporary(t: TestContext): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}
function says(folder: string, version: string): string {
  fs.mkdirSync(folder, { recursive: true });
  const file = path.join(folder, 'asterisk');
  fs.writeFileSync(file, `#!/bin/sh\necho '${version}'\n`, { mode: 0o755 });
  return file;
}
/** A mirror whose Asterisk is a script: its loader is a shell that runs the program after the library path. */
async function mirrorWithAsterisk(t: TestContext, folder: string, output = 'Asterisk 22.10.1+dfsg') {
  const key = testKey('archive');
  const loader = '#!/bin/sh\nshift 2\nexec /bin/sh "$@"\n';
  const asterisk = {
    name: 'asterisk',
    files: {
      [`usr/lib/${TRIPLET}/ld-linux-test.so.2`]: loader,
      'usr/sbin/asterisk': `echo '${output}'\n`,
      'usr/share/asterisk/documentation/core.xml': '<docs/>',
    },
  };
  const sounds = {
    name: 'asterisk-core-sounds-en-gsm',
    files: { 'usr/share/asterisk/sounds/en_US_f_Allison/beep.gsm': 'beep' },
  };
  const music = { name: 'asterisk-moh-opsound-gsm', files: { 'usr/share/asterisk/moh/one.gsm': 'music' } };
  const mirror: TestMirror = await testMirror(folder, {
    forky: { key, packages: [asterisk, sounds, music] },
  });
  t.after(() => mirror[Symbol.asyncDispose]());
  const ring = path.join(folder, 'ring.gpg');
  fs.writeFileSync(ring, key.ring);
  return {
    mirror,
    options: {
      cache: path.join(folder, 'cache'),
      machine: testMachine([ring]),
      mirrors: [mirror.url],
      path: '',
    },
  };
}
const isRefusal = (reason: string, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ProvisionError, String(error));
  assert.equal(error.reason, reason);
  assert.match(error.message, text);
  assert.ok(!error.message.includes('\n'), 'one sentence');
  return true;
};

test('asterisk - from packages: sounds/en and moh lie where the program looks for them', async (t) => {
  const { options } = await mirrorWithAsterisk(t, temporary(t));
  const program = await obtainAsterisk(options);
  const packages = path.join(options.cache, 'packages');
  const root = path.join(packages, fs.readdirSync(packages)[0] ?? '');
  assert.equal(program.version, '22.10.1');
  assert.equal(program.origin, 'packages');
  assert.equal(program.command.at(-1), path.join(root, 'usr/sbin/asterisk'));
  assert.equal(program.modules_dir, path.join(root, 'usr/lib', TRIPLET, 'asterisk/modules'));
  assert.equal(fs.readFileSync(path.join(program.data_dir, 'sounds/en/beep.gsm'), 'utf8'), 'beep');
  assert.equal(fs.readFileSync(path.join(program.data_dir, 'moh/one.gsm'), 'utf8'), 'music');
  assert.equal(fs.readFileSync(path.join(program.data_dir, 'documentation/core.xml'), 'utf8'), '<docs/>');
  const facts = ({ packages, ...rest }: typeof program) => ({ ...rest, root: packages?.root });
  assert.deepEqual(facts(await obtainAsterisk(options)), facts(program));
  assert.equal(program.packages?.root, root);
});

test('asterisk - the one that is named is used as it is', async (t) => {
  const folder = temporary(t);
  const explicit = says(folder, 'Asterisk 22.9.3');
  const program = await obtainAsterisk({ cache: folder, explicit, path: '' });
  assert.deepEqual(
    {
      command: program.command,
      version: program.version,
      modules_dir: program.modules_dir,
      origin: program.origin,
    },
    { command: [explicit], version: '22.9.3', modules_dir: null, origin: explicit },
  );
  const certified = says(path.join(folder, 'certified'), 'Asterisk certified/22.7-cert5');
  assert.equal((await obtainAsterisk({ cache: folder, explicit: certified, path: '' })).version, '22.7');
});

test('asterisk - one that is named and not usable is refused with what was expected, never replaced in silence', async (t) => {
  const folder = temporary(t);
  const expected = /^OFFHOOK_ASTERISK=\S+: expected the path of an Asterisk program, version 22 or later/;
  const cases: [string, RegExp][] = [
    [path.join(folder, 'missing'), /ENOENT/],
    [folder, /EACCES/],
    [says(path.join(folder, 'old'), 'Asterisk 18.26.4'), /this one is 18\.26\.4/],
    [says(path.join(folder, 'lts'), 'Asterisk 20.16.0'), /this one is 20\.16\.0/],
    [says(path.join(folder, 'other'), 'FreeSWITCH 1.10'), /it answered to -V: FreeSWITCH/],
    ['/bin/false', /exit code 1/],
  ];
  for (const [explicit, why] of cases) {
    const work = obtainAsterisk({ cache: folder, explicit, path: '' });
    await assert.rejects(work, isRefusal('invalid_program', expected));
    await assert.rejects(obtainAsterisk({ cache: folder, explicit, path: '' }), why);
  }
});

test('asterisk - one on the PATH is used when it is new enough, else the packages are', async (t) => {
  const folder = temporary(t);
  const { options, mirror } = await mirrorWithAsterisk(t, folder);
  says(path.join(folder, 'old'), 'Asterisk 18.26.4');
  const found = says(path.join(folder, 'new'), 'Asterisk 22.1.0');
  const both = [path.join(folder, 'nothing'), path.join(folder, 'new')].join(path.delimiter);
  assert.equal((await obtainAsterisk({ ...options, path: both })).origin, found);
  assert.equal(mirror.requests.length, 0);
  const lines: string[] = [];
  const search = { ...options, path: path.join(folder, 'old'), progress: (l: string) => lines.push(l) };
  assert.equal((await obtainAsterisk(search)).origin, 'packages');
  assert.ok(mirror.requests.length > 0);
  assert.match(lines[0] ?? '', /is not an Asterisk 22 or later/);
});

test('asterisk - it is tried again, further and further apart', async (t) => {
  const folder = temporary(t);
  const { options, mirror } = await mirrorWithAsterisk(t, folder);
  const waits: number[] = [];
  const clock: Clock = {
    now: () => 0,
    sleep(ms) {
      waits.push(ms);
      if (waits.length === 2) mirror.mend();
      return Promise.resolve();
    },
  };
  mirror.spoil('InRelease', (_, response) => {
    response.writeHead(404).end();
    return null;
  });
  const reported: string[] = [];
  const onFailure = (error: ProvisionError): void => void reported.push(error.reason);
  assert.equal((await obtainAsteriskEventually({ ...options, clock, onFailure })).origin, 'packages');
  assert.deepEqual(reported, ['missing', 'missing']);
  assert.deepEqual(waits, [5_000, 10_000]);
});

test('asterisk - one that is named and comes later is taken when it is there', async (t) => {
  const folder = temporary(t);
  const explicit = path.join(folder, 'asterisk');
  const clock = {
    now: () => 0,
    sleep: async () => {
      says(folder, 'Asterisk 22.10.1');
    },
  };
  const reported: string[] = [];
  const onFailure = ({ reason }: ProvisionError) => void reported.push(reason);
  const found = await obtainAsteriskEventually({ cache: folder, explicit, clock, onFailure });
  assert.equal(found.version, '22.10.1');
  assert.deepEqual(reported, ['invalid_program']);
});

test('asterisk - packages that do not run say where they lie', async (t) => {
  const { options } = await mirrorWithAsterisk(t, temporary(t), 'no Asterisk at all');
  await assert.rejects(
    obtainAsterisk(options),
    isRefusal('failed', /unpacked in \S+ does not run .*remove that folder/),
  );
});

test('asterisk - a machine that cannot have it is told the ways out', async (t) => {
  const cache = temporary(t);
  const machine = () => readMachine(undefined, 'ID=fedora\nPRETTY_NAME="Fedora Linux 43"\n');
  await assert.rejects(
    obtainAsterisk({ cache, machine, path: '' }),
    isRefusal('unsupported', /Fedora Linux 43.*OFFHOOK_ASTERISK.*PATH.*container file/),
  );
  assert.deepEqual(fs.readdirSync(cache), []);
});
