/** Files on a throw-away engine and on a living one: what is broken is found by what the engine holds, never by its answer. */
import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { NetworkConfig } from '@offhook/contract/config-network.ts';
import { systemClock } from '../../../core/clock.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { EngineConfig, EngineFiles, EngineProblem, Proof } from '../../../ports/engine-config.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import {
  company,
  conference,
  extension,
  holidays,
  inboundRoute,
  menu,
  outboundRoute,
  parkingLot,
  ringGroup,
  timeCondition,
  trunk,
} from '../../../../test/support/rendered-company.ts';
import { configOf, startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { etcDir } from '../conf/instance.ts';
import { readBack } from './read-back.ts';

const login = { username: 'site', password: 'a-trunk-secret-of-ours' };
const sound = { built_in: 'hello-world' } as const;
const hangUp = { kind: 'hang_up', reason: 'busy' } as const;
/** Something of every kind that a site can have. */
const site = company({
  feature_codes: FEATURE_CODES,
  trunks: [trunk({ name: 'north', host: '127.0.0.1', port: 9, login, register: true })],
  inbound_routes: [
    inboundRoute({ name: 'main', trunk: 'north', number: '5550100', to: { kind: 'menu', key: 'main' } }),
  ],
  outbound_routes: [
    outboundRoute({ name: 'inland', position: 1, patterns: ['0X!'], trunks: [{ trunk: 'north', strip: 1 }] }),
  ],
  ring_groups: [ringGroup({ name: 'front', number: '620', members: ['1002', '1003'], otherwise: hangUp })],
  menus: [
    menu({
      name: 'main',
      number: '800',
      greeting: sound,
      choices: [{ key: '1', to: { kind: 'ring_group', key: 'front' } }],
      otherwise: { kind: 'mailbox', key: '4000' },
    }),
  ],
  time_conditions: [
    timeCondition({
      name: 'office',
      number: '810',
      hours: [{ days: ['mon', 'tue'], from: '08:30', to: '17:00' }],
      holidays: ['feasts'],
      when_open: hangUp,
      when_closed: { kind: 'hang_up', reason: 'congestion' },
      on_holiday: { kind: 'hang_up', reason: 'not_found' },
    }),
  ],
  holidays: [holidays({ name: 'feasts', days: [{ title: 'New year', month: 1, day: 1 }] })],
  conferences: [conference({ name: 'closed', number: '831', pin: '0012', leader_pin: '4711' })],
  mailboxes: [{ number: '4000', title: 'Front', pin: '2468' }],
  parking_lots: [parkingLot(), parkingLot({ name: 'shop', number: '720', first_slot: 721, last_slot: 722 })],
});
let engine: TestEngine;
let config: EngineConfig;
let good: EngineFiles;
before(async () => {
  engine = await startTestEngine(site);
  config = configOf(engine);
  good = config.render(site);
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});

/** The good files with one text in one of them changed. */
function broken(name: string, from: string | RegExp, to: string): EngineFiles {
  const text = good.get(name)!;
  const changed = text.replace(from, to);
  assert.notEqual(changed, text, `${name} has nothing of ${from}`);
  return new Map([...good, [name, changed]]);
}
interface Kind {
  readonly what: string;
  readonly file: string;
  readonly from: string | RegExp;
  readonly to: string;
  /** The object that is named, and the words, the engine's own where it has any. */
  readonly object: string | null;
  readonly words: RegExp;
}
const KINDS: readonly Kind[] = [
  {
    what: 'an endpoint with an option that does not exist',
    file: 'pjsip_endpoints.conf',
    from: '[1004](sip)\n',
    to: '[1004](sip)\nno_such_option = yes\n',
    object: null,
    words: /Could not find option suitable for category '1004' named 'no_such_option'/,
  },
  {
    what: 'an endpoint with a codec that does not exist',
    file: 'pjsip_endpoints.conf',
    from: '[1004](sip)\n',
    to: '[1004](sip)\nmax_audio_streams = many\n',
    object: 'endpoint 1004',
    words: /type 'endpoint' with id '1004'/,
  },
  {
    what: 'a section without its bracket',
    file: 'pjsip_endpoints.conf',
    from: '[1004](sip)',
    to: '[1004(sip)',
    object: null,
    words: /Contents of config file 'pjsip_endpoints.conf' are invalid and cannot be parsed/,
  },
  {
    what: 'a template that does not exist',
    file: 'pjsip_aors.conf',
    from: '[1004](addresses)',
    to: '[1004](adresses)',
    object: null,
    words: /Inheritance requested, but category 'adresses' does not exist/,
  },
  {
    what: 'a file that includes one that is not there',
    file: 'queues.conf',
    from: '[general]',
    to: '#include nowhere.conf\n[general]',
    object: null,
    words: /there is no nowhere.conf|nowhere\.conf/,
  },
  {
    what: 'an emptied file of addresses',
    file: 'pjsip_aors.conf',
    from: /^[^]*$/,
    to: '',
    object: null,
    words: /^the file is empty$/,
  },
  {
    what: 'an emptied file of queues',
    file: 'queues.conf',
    from: /^[^]*$/,
    to: '; nothing\n',
    object: null,
    words: /^the file is empty$/,
  },
  {
    what: 'an application that does not exist',
    file: 'extensions.conf',
    from: 'Echo()',
    to: 'Ecko()',
    object: 'dialplan services,600,3',
    words: /^there is no application "Ecko"$/,
  },
  {
    what: 'a number without a priority',
    file: 'extensions.conf',
    from: '[services]\n',
    to: '[services]\nexten => 699\n',
    object: null,
    words: /699|priority/,
  },
  {
    what: 'a priority that stands there twice',
    file: 'extensions.conf',
    from: '[services]\n',
    to: '[services]\nexten => 600,1,NoOp()\n',
    object: 'dialplan services,600,1',
    words: /Unable to register extension|twice/,
  },
  {
    what: 'a context without its bracket',
    file: 'extensions.conf',
    from: '[services]\n',
    to: '[services\n',
    object: null,
    words: /"\[" without its "\]"|no closing/,
  },
  {
    what: 'a queue with a strategy that does not exist',
    file: 'queues.conf',
    from: 'strategy = rrmemory',
    to: 'strategy = everybody',
    object: 'queue sales',
    words: /'everybody' isn't a valid strategy for queue 'sales', using ringall instead/,
  },
  {
    what: 'a queue with an option that does not exist',
    file: 'queues.conf',
    from: 'strategy = rrmemory\n',
    to: 'strategy = rrmemory\nno_such_option = yes\n',
    object: null,
    words: /Unknown keyword in queue 'sales': no_such_option/,
  },
];
const found = (problems: readonly EngineProblem[], kind: Kind): void => {
  assert.ok(
    problems.some((p) => p.words.match(kind.words) && (kind.object === null || p.object === kind.object)),
    `${kind.what}: ${JSON.stringify(problems.slice(0, 8), null, 1)}`,
  );
};

test('apply/prove - a good set has no problem, and nothing of the throw-away engine is left', async () => {
  assert.deepEqual((await config.prove(good)).problems, []);
  assert.deepEqual(
    (await readdir(engine.instance.folder)).filter((name) => name.startsWith('shadow-')),
    [],
  );
});
test('apply/prove - a site without a person, and so without a mailbox and a phone, has no problem', async () => {
  assert.deepEqual((await config.prove(config.render(company({ extensions: [], queues: [] })))).problems, []);
});
for (const kind of KINDS) {
  test(`apply/prove - ${kind.what} is found`, async () => {
    found((await config.prove(broken(kind.file, kind.from, kind.to))).problems, kind);
  });
}

for (const kind of KINDS) {
  test(`apply/verify - ${kind.what} is found on the living engine, and the way back is clean`, async () => {
    const files = broken(kind.file, kind.from, kind.to);
    const proof = await config.prove(files);
    const names = await config.write(files);
    assert.deepEqual(names, [kind.file]);
    await config.reload(names);
    found(await config.verify(proof, names), kind);
    assert.deepEqual(await config.write(good), [kind.file]);
    await config.reload(names);
    assert.deepEqual(await config.verify(await config.prove(good), [...good.keys()]), []);
  });
}

test('apply/verify - a good change is on the living engine', async () => {
  const files = config.render({ ...site, extensions: [...site.extensions, extension('1020')] });
  const proof = await config.prove(files);
  assert.deepEqual(proof.problems, []);
  const names = await config.write(files);
  assert.deepEqual(names, [
    'extensions.conf',
    'pjsip_aors.conf',
    'pjsip_auths.conf',
    'pjsip_endpoints.conf',
    'voicemail.conf',
  ]);
  // Nothing was read again yet, so the living engine has none of it.
  const before = await config.verify(proof, names);
  assert.ok(
    before.some((p) => p.object === 'endpoint 1020'),
    JSON.stringify(before),
  );
  await config.reload(names);
  assert.deepEqual(await config.verify(proof, names), []);
  assert.match(await engine.cli('pjsip show endpoint 1020'), /Endpoint: +1020/);
  assert.deepEqual(config.needsRestart(names), []);
  assert.deepEqual(config.needsRestart(['modules.conf', 'queues.conf']), ['modules.conf']);
});

test('apply/verify - external addresses and media ports are on the living engine without a restart', async () => {
  const network = NetworkConfig.parse({
    external_address: '203.0.113.7',
    local_nets: ['192.168.0.0/16'],
    rtp_ports: { from: 31_000, to: 31_099 },
  });
  const files = config.render({ ...site, network });
  const proof = await config.prove(files);
  assert.deepEqual(proof.problems, []);
  const names = await config.write(files);
  for (const name of ['pjsip.conf', 'pjsip_shared.conf', 'rtp.conf']) assert.ok(names.includes(name), name);
  assert.deepEqual(config.needsRestart(names), []);
  const before = await config.verify(proof, names);
  assert.ok(
    before.some((p) => p.object === 'transport transport-udp' && p.words.includes('203.0.113.7')),
    JSON.stringify(before),
  );
  await config.reload(names);
  assert.deepEqual(await config.verify(proof, names), []);
  assert.match(await engine.cli('rtp show settings'), /Port start: +31000\s+Port end: +31099/);
  await config.write(good);
  await config.reload(names);
  assert.deepEqual(await config.verify(await config.prove(good), names), []);
});

test('apply/prove - what is wrong in a hand-written file is found, and it is kept as it is', async () => {
  const file = path.join(etcDir(engine.instance), 'custom', 'queues.conf');
  await writeFile(file, '[night]\nstrategy = everybody\n');
  const proof = await config.prove(good);
  assert.deepEqual(
    proof.problems.map((p) => p.object),
    ['queue night'],
  );
  assert.match(proof.problems[0]!.words, /'everybody' isn't a valid strategy for queue 'night'/);
  await writeFile(file, '[night]\nstrategy = linear\n');
  const right = await config.prove(good);
  assert.deepEqual(right.problems, []);
  assert.ok((await config.verify(right, ['custom/queues.conf'])).some((p) => p.object === 'queue night'));
  await config.reload(['custom/queues.conf']);
  assert.deepEqual(await config.verify(right, ['custom/queues.conf']), []);
  assert.equal(await config.read('custom/queues.conf'), '[night]\nstrategy = linear\n');
  assert.deepEqual(
    (await config.handWritten()).map((f) => f.name),
    ['custom/queues.conf'],
  );
});

test('apply/read-back - endpoints that are asked for one by one show the same as their lists', async () => {
  const ami = await engine.ami();
  try {
    const asked = { ami, console: (text: string) => engine.cli(text) };
    const kinds = new Set(['endpoint', 'auth', 'aor', 'identify'] as const);
    const endpoints = ['1001', '1001-web', 'trunk-north', 'nobody'];
    const listed = await readBack(asked, { kinds, endpoints }, false);
    const single = await readBack(asked, { kinds, endpoints }, true);
    assert.deepEqual([...single.keys()].filter((key) => key.includes('north')).sort(), [
      'aor trunk-north',
      'auth trunk-north',
      'endpoint trunk-north',
      'identify trunk-north',
    ]);
    assert.equal(single.size, 10);
    for (const [key, value] of single) assert.equal(listed.get(key), value, key);
    assert.ok(listed.size > single.size);
  } finally {
    ami.close();
  }
});

test('apply/engine-config - a proof that takes over what it knows of phones is the same as one that knows nothing', async () => {
  const wantedOf = (proof: unknown): [string, string][] =>
    [...(proof as { wanted: Map<string, string> }).wanted].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const fresh = () => configOf(engine);
  const changed = {
    ...site,
    extensions: [
      ...site.extensions.map((e) => (e.extension === '1004' ? { ...e, name: 'Another Name' } : e)),
      extension('1050'),
    ],
  };
  const knowing = fresh();
  const before = await knowing.prove(knowing.render(site));
  const after = await knowing.prove(knowing.render(changed));
  const alone = fresh();
  assert.deepEqual(wantedOf(after), wantedOf(await alone.prove(alone.render(changed))));
  const marks = (proof: unknown) => new Map(wantedOf(proof)).get('endpoint 1004');
  assert.notEqual(marks(before), marks(after));
});

test('apply/verify - of many phones those are read that a change concerns, and what the engine did not take is found', async () => {
  const many = configOf(engine, { many: 3 });
  const objects = (problems: readonly EngineProblem[]) => problems.map((p) => p.object);
  const extensions = site.extensions.map((e) =>
    e.extension === '1002' ? { ...e, name: 'Another Name' } : e,
  );
  const next = many.render({ ...site, extensions: [...extensions, extension('1050')] });
  const names = ['pjsip_endpoints.conf', 'pjsip_auths.conf', 'pjsip_aors.conf'];
  const phonesOf = (files: EngineFiles) => new Map(names.map((name) => [name, files.get(name)!]));
  const found = async (proof: Proof): Promise<(string | null)[]> =>
    objects(await many.verify(proof, names, undefined, 'changed'));
  const before = await many.prove(good);
  const proof = await many.prove(next);
  const devices = (number: string) => [number, `${number}-mobile`, `${number}-web`];
  const concerned = new Set([
    ...devices('1002').map((name) => `endpoint ${name}`),
    ...devices('1050').flatMap((name) => [`endpoint ${name}`, `auth ${name}`, `aor ${name}`]),
  ]);
  try {
    await many.write(phonesOf(next));
    assert.deepEqual(new Set(await found(proof)), concerned);
    await many.reload(names);
    assert.deepEqual(await found(proof), []);
    assert.deepEqual(await many.verify(proof, names), []);
    await many.write(phonesOf(good));
    assert.deepEqual(new Set(await found(before)), concerned);
  } finally {
    await many.write(good);
    await many.reload(names);
  }
  assert.deepEqual(await many.verify(before, names), []);
});

test('apply/verify - an engine that is just starting is waited for, not found to hold nothing', async () => {
  const now = config.render(site);
  await config.write(now);
  const proof = await config.prove(now);
  const unavailable = (error: unknown): boolean =>
    error instanceof ServiceError && error.code === 'engine_unavailable';
  const restarting = engine.restart();
  let over = false;
  const ended = restarting.finally(() => void (over = true));
  const found: string[] = [];
  while (!over) {
    await config.verify(proof, [...now.keys()]).then(
      (problems) => void found.push(...problems.map((p) => `${p.object}: ${p.words}`)),
      (error: unknown) => void (unavailable(error) || found.push(String(error))),
    );
    await systemClock.sleep(10);
  }
  await ended;
  assert.deepEqual(found, []);
});
