/** Languages of prompts, on a real engine with Debian's French sounds: the file that a caller hears. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readlink, rm, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { farAddress } from '../../../../test/support/far-address.ts';
import { openFarSide, registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import {
  PASSWORD,
  company,
  extension,
  inboundRoute,
  renderCompany,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';
import type { Site } from '../../../ports/site.ts';
import { storeActions } from '../actions/customers.ts';
import { findLiving } from '../process/living.ts';
import { linkLanguage } from '../sounds/data-folder.ts';
import { Languages } from '../sounds/languages.ts';
import { obtainPackages } from '../provision/packages.ts';
import { renderedLanguages } from './language-contexts.ts';

const LONG = 'demo-echotest';
const cache = process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook');
const plays = { kind: 'hang_up', play: { built_in: LONG } } as const;
const site = (north: { readonly host: string; readonly port: number }, west: typeof north): Site =>
  company({
    extensions: [
      extension('1001', { voicemail: false }),
      extension('1002', { voicemail: false, language: 'fr' }),
    ],
    queues: [],
    trunks: [trunk({ name: 'north', ...north }), trunk({ name: 'west', ...west, language: 'fr' })],
    inbound_routes: [
      inboundRoute({ name: 'plain', number: '1', to: plays }),
      inboundRoute({ name: 'french', number: '2', language: 'fr', to: plays }),
      inboundRoute({ name: 'english', number: '3', language: 'en', to: plays }),
      inboundRoute({ name: 'sparse', number: '4', language: 'de', to: plays }),
    ],
  });

let engine: TestEngine;
let sparse: string;
let north: Phone;
let west: Phone;
before(async () => {
  const [one, two] = [await farAddress('127.0.0.2'), await farAddress('127.0.0.3')];
  engine = await startTestEngine(site(one, two));
  const { instance, program } = engine;
  const languages = new Languages({
    instance,
    program: () => program,
    obtain: (packages) => obtainPackages({ cache, packages }),
  });
  // A set with one prompt alone, which is not the one that is played.
  sparse = await mkdtemp(path.join(os.tmpdir(), 'offhook-sparse-'));
  await mkdir(path.join(sparse, 'de'));
  await symlink('/dev/null', path.join(sparse, 'de', 'beep.gsm'));
  await linkLanguage(instance, 'de', path.join(sparse, 'de'));
  assert.deepEqual((await languages.prepare(['en', 'de', 'fr'])).problems, []);
  assert.deepEqual((await languages.prepare(['tr'])).problems, [
    {
      object: 'language tr',
      file: null,
      words: 'there are no sounds for this language; upload them first',
      said: 'there are no sounds for this language; upload them first',
    },
  ]);
  const far = (at: typeof one, name: string): Promise<Phone> =>
    openFarSide({ server: engine.server, extension: '+49301', name, at, cli: engine.cli });
  [north, west] = [await far(one, 'north'), await far(two, 'west')];
});
after(async () => {
  await north?.[Symbol.asyncDispose]();
  await west?.[Symbol.asyncDispose]();
  await engine?.[Symbol.asyncDispose]();
  if (sparse !== undefined) await rm(sparse, { recursive: true });
});

/** Sound files that the engine has open, by folder of their voice. */
async function playing(): Promise<string[]> {
  const folder = `/proc/${findLiving(engine.instance)!.pid}/fd`;
  const open = await Promise.all(
    (await readdir(folder)).map((fd) => readlink(path.join(folder, fd)).catch(() => '')),
  );
  return open.filter((file) => file.endsWith(`${LONG}.gsm`)).map((file) => path.basename(path.dirname(file)));
}
/** Voice in which a caller hears the long prompt. */
async function voice(from: Phone, number: string): Promise<string> {
  const call = await from.invite(number);
  let heard: string[] = [];
  await until(`a prompt for ${number}`, async () => (heard = await playing()).length > 0);
  await call.hangup();
  await until('the end of the prompt', async () => (await playing()).length === 0);
  return heard.join(' ');
}

test('conf/languages - callers hear the language of their route, else of the trunk, else of the site', async () => {
  assert.deepEqual(
    {
      site: await voice(north, '1'),
      route: await voice(north, '2'),
      trunk: await voice(west, '1'),
      'route before trunk': await voice(west, '3'),
      'a prompt that the language lacks': await voice(north, '4'),
    },
    {
      site: 'en_US_f_Allison',
      route: 'fr_CA_f_June',
      trunk: 'fr_CA_f_June',
      'route before trunk': 'en_US_f_Allison',
      'a prompt that the language lacks': 'en_US_f_Allison',
    },
  );
});

test('conf/languages - a customer of the phonebook hears their own language before that of the route', async () => {
  const ami = await engine.ami();
  try {
    const store = storeActions(
      () => ami,
      (work) => work(ami),
    );
    const speaks = (language: string): Promise<void> =>
      store.keepCustomers(new Map([['+49301', { name: 'Ada', owner: '1001', blocked: false, language }]]));
    await speaks('fr');
    assert.equal(await voice(north, '3'), 'fr_CA_f_June', 'before an English route');
    await speaks('fr_CH');
    assert.equal(
      await voice(north, '3'),
      'fr_CA_f_June',
      'the language, where the engine has none of the country',
    );
    await speaks('tr');
    assert.equal(await voice(north, '2'), 'fr_CA_f_June', 'the route where the engine has no such prompts');
    await speaks('en');
    assert.equal(await voice(west, '2'), 'en_US_f_Allison', 'before a French route and trunk');
    await store.keepCustomers(new Map([['+49301', null]]));
    assert.equal(await voice(west, '1'), 'fr_CA_f_June');
  } finally {
    ami.close();
  }
});

test('conf/languages - a person hears their own language in calls they make', async () => {
  const heard: string[] = [];
  for (const number of ['1001', '1002']) {
    await using phone = await registerPhone({ server: engine.server, extension: number, password: PASSWORD });
    heard.push(await voice(phone, '600'));
  }
  assert.deepEqual(heard, ['en_US_f_Allison', 'fr_CA_f_June']);
});

test('conf/languages - files name every language of the site once, and none where all is English', () => {
  const at = { host: '192.0.2.1', port: 5060 };
  const dialplan = (given: Site): string => renderCompany(given).get('extensions.conf')!;
  assert.deepEqual(renderedLanguages(dialplan(site(at, at))), ['de', 'en', 'fr']);
  assert.deepEqual(renderedLanguages(dialplan(company())), []);
  assert.doesNotMatch(dialplan(company()), /language/);
  const settings = {
    name: 'site',
    sign_out_hours: null,
    customer_languages: [] as string[],
    language: 'pt_BR',
    recording_announcement: null,
  } as const;
  const files = renderCompany(company({ settings }));
  assert.deepEqual(renderedLanguages(files.get('extensions.conf')!), ['pt_BR']);
  assert.match(files.get('pjsip_shared.conf')!, /^\[phone\]\(!\)(?:\n.+)*\nlanguage = pt_BR\n/m);
  for (const language of ['', 'EN', '../x', 'fr\n', 'de,fr', '${X}'])
    assert.throws(() => renderCompany(company({ settings: { ...settings, language } })), {
      code: 'invalid_request',
    });
});
