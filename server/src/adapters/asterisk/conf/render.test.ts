import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../core/errors.ts';
import type {
  CodeAction,
  FeatureCode,
  Site,
  SiteExtension,
  SiteInboundRoute,
  SiteOutboundRoute,
  SiteParking,
  SiteQueue,
  SiteTrunk,
} from '../../../ports/site.ts';
import { guard, isNumber } from './dialplan-text.ts';
import { consoleAccount } from './instance.ts';
import { renderSite } from './render.ts';
import {
  INSTANCE,
  PROGRAM,
  SETTINGS,
  company,
  extension,
  inboundRoute,
  outboundRoute,
  parkingLot,
  queue as parsedQueue,
  trunk as parsedTrunk,
} from '../../../../test/support/rendered-company.ts';
import { conf } from './text.ts';
import { reasonFixture } from '../../../../test/support/directory-fixture.ts';

const SECRET = 'Secret_-0123456789abcdefgh';
const person = (number: string, fields: Partial<SiteExtension> = {}): SiteExtension =>
  extension(number, { name: `Zoë Ünal ${number}`, sip_password: SECRET, ...fields });
/** Objects of which single fields may be what no schema lets through. */
const queue = (fields: Partial<SiteQueue> = {}): SiteQueue => ({
  ...parsedQueue({
    name: 'support',
    number: '500',
    strategy: 'rrmemory',
    wrap_up_seconds: 5,
    max_wait_seconds: 300,
    members: [{ extension: '1001' }, { extension: '1002', static: true }],
  }),
  ...fields,
});
const code = (does: CodeAction, patterns: readonly string[] = ['*22']): FeatureCode => ({
  id: 'a.code',
  patterns,
  title: 'A code',
  about: '',
  does,
});
const parking = (fields: Partial<SiteParking> = {}): SiteParking => parkingLot({ last_slot: 720, ...fields });
const site = (fields: Partial<Site> = {}): Site =>
  company({
    extensions: [person('1001'), person('1002')],
    queues: [queue()],
    services: [{ number: '600', kind: 'echo', title: 'Echo' }],
    parking_lots: [parking()],
    pause_reasons: [reasonFixture('break', 'Break')],
    feature_codes: [code({ action: 'pick_up_group' })],
    ...fields,
  });
const render = (s: Site = site(), i = INSTANCE, p = PROGRAM, t = SETTINGS) => renderSite(s, i, p, t);
const refused = (work: () => unknown, says: RegExp): void => {
  assert.throws(
    work,
    (error) => error instanceof ServiceError && error.code === 'invalid_request' && says.test(error.message),
  );
};

/** One section as Asterisk would hold it: its name, what stands in brackets after it, and its lines as key and value. */
interface Section {
  readonly name: string;
  readonly base: string;
  readonly lines: [key: string, value: string][];
}
/**
 * Reads a file as Asterisk's `main/config.c` does: lines end at LF, `;` begins a comment unless a backslash stands before
 * it, `;--` one that runs over lines, `#` a directive, and blanks around names and values are lost.
 */
function readConf(text: string): { sections: Section[]; directives: string[] } {
  const sections: Section[] = [];
  const directives: string[] = [];
  let nested = 0;
  for (const line of text.split('\n')) {
    let kept = '';
    for (let i = 0; i < line.length; i++) {
      if (nested > 0) {
        if (line.startsWith('--;', i)) {
          nested -= 1;
          i += 2;
        }
      } else if (line[i] === '\\' && line[i + 1] === ';') {
        kept += ';';
        i += 1;
      } else if (line.startsWith(';--', i) && line[i + 3] !== '-') {
        nested += 1;
        i += 2;
      } else if (line[i] === ';') break;
      else kept += line[i];
    }
    const read = kept.trim();
    if (read === '') continue;
    if (read.startsWith('#')) {
      directives.push(read);
      continue;
    }
    const header = /^\[(.*?)\](?:\((.*)\))?$/.exec(read);
    if (read.startsWith('[')) {
      assert.ok(header, `a section is not closed: ${read}`);
      sections.push({ name: header[1]!, base: header[2] ?? '', lines: [] });
      continue;
    }
    const cut = read.indexOf('=');
    assert.ok(cut > 0, `a line is no assignment: ${read}`);
    const value = read.slice(cut + 1).replace(/^>/, '');
    sections.at(-1)!.lines.push([read.slice(0, cut).trim(), value.trim()]);
  }
  return { sections, directives };
}
/** The shape of a file: everything but the values. */
const shapeOf = (text: string): unknown => {
  const { sections, directives } = readConf(text);
  return [sections.map((s) => [s.name, s.base, s.lines.map(([key]) => key)]), directives];
};
const valuesOf = (text: string, section: (s: Section) => boolean, key: string): string[] =>
  readConf(text)
    .sections.filter(section)
    .flatMap((s) => s.lines.filter(([k]) => k === key).map(([, v]) => v));

/** Anything at all, with what hurts a configuration file made likely. */
const anything = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc
    .array(
      fc.oneof(
        fc.constantFrom(
          '\n',
          '\r',
          '\0',
          '\t',
          '\u0085',
          '\u2028',
          '\u202e',
          '\ufeff',
          ';',
          ';--',
          '--;',
          '\\',
          '\\;',
          '[',
          ']',
          '[evil](!)',
          '\n[evil]\ntype=endpoint\n',
          '#include /etc/passwd',
          '\n#exec rm',
          '${EVAL(x)}',
          '$[1+1]',
          '$',
          '{',
          '}',
          '(',
          ')',
          '"',
          "'",
          '<',
          '>',
          '=',
          '=>',
          '+=',
          ',',
          '|',
          '&',
          '@',
          '/',
          '%0a',
          ' ',
          '  ',
          '\u00a0',
        ),
        fc.string({ unit: 'grapheme', maxLength: 6 }),
        fc.constantFrom('a', 'Ü', '花子', 'نور', '👩‍💻', '1001', 'e\u0301'),
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join('')),
  fc.constantFrom(
    'a'.repeat(65),
    'x'.repeat(9000),
    '花'.repeat(64),
    '1'.repeat(65),
    '１００１',
    '__proto__',
    '',
  ),
);
/** Text that a field takes, so that the way through is tried as often as the refusal. */
const like = (pattern: RegExp): fc.Arbitrary<string> => fc.oneof(anything, fc.stringMatching(pattern));

interface Case {
  readonly field: string;
  readonly value: fc.Arbitrary<string>;
  readonly render: (value: string) => ReadonlyMap<string, string>;
  /** Content of the files, read back. */
  readonly read: (files: ReadonlyMap<string, string>) => string[];
  /** How the value should read, where it is not simply itself. */
  readonly expected?: (value: string) => string[];
}
const PHONE_FILES = ['shared', 'endpoints', 'auths', 'aors'].map((part) => `pjsip_${part}.conf`);
const pjsip = (files: ReadonlyMap<string, string>): string =>
  ['pjsip.conf', ...PHONE_FILES].map((name) => files.get(name)!).join('');
const extensions = (files: ReadonlyMap<string, string>): string => files.get('extensions.conf')!;
const first = (fields: Partial<SiteExtension>): Site =>
  site({ extensions: [person('1001', fields), person('1002')] });
const trunk = (fields: Partial<SiteTrunk> = {}): SiteTrunk => ({
  ...parsedTrunk({
    name: 'north',
    host: 'sip.example.com',
    login: { username: 'u', password: 'p' },
    register: true,
    codecs: ['alaw'],
    outbound_number: '+49305550',
  }),
  ...fields,
});
const inRoute = (fields: Partial<SiteInboundRoute> = {}): SiteInboundRoute => ({
  ...inboundRoute({ name: 'in', trunk: 'north', number: '49', to: { kind: 'extension', key: '1001' } }),
  ...fields,
});
const outRoute = (fields: Partial<SiteOutboundRoute> = {}): SiteOutboundRoute => ({
  ...outboundRoute({
    name: 'out',
    patterns: ['0X!'],
    trunks: [{ trunk: 'north', strip: 1, prepend: '+49' }],
  }),
  ...fields,
});
const withTrunk = (fields: Partial<SiteTrunk>, more: Partial<Site> = {}): Site =>
  site({ trunks: [trunk(fields)], outbound_routes: [outRoute()], ...more });
const CASES: readonly Case[] = [
  {
    field: 'announcement of recording',
    value: like(/^[a-z0-9][a-z0-9_-]{0,20}$/),
    render: (built_in) =>
      render(
        site({
          settings: {
            name: 'site',
            sign_out_hours: null,
            customer_languages: [],
            language: 'en',
            recording_announcement: { built_in },
          },
          queues: [queue({ recording: 'always' })],
        }),
      ),
    read: (files) =>
      valuesOf(extensions(files), (s) => s.name === 'queues', 'same').flatMap(
        (step) => /^n,Playback\((?!vm-nobodyavail)(.*)\)$/.exec(step)?.[1] ?? [],
      ),
  },
  {
    field: 'exit key of a queue',
    value: like(/^[0-9*#]$/),
    render: (key) =>
      render(site({ queues: [queue({ exit: { key, to: { kind: 'extension', key: '1001' } } })] })),
    read: (files) => valuesOf(extensions(files), (s) => s.name === 'exit-support', 'exten'),
    expected: (key) => [`${key},1,CELGenUserEvent(OFFHOOK_QUEUE_LEFT,EXIT_KEY)`],
  },
  {
    field: 'trunk host',
    value: like(/^[a-z0-9]{1,9}(\.[a-z0-9]{1,9}){0,3}$/),
    render: (host) => render(withTrunk({ host })),
    read: (files) => valuesOf(pjsip(files), (s) => s.name === 'trunk-north', 'match'),
  },
  {
    field: 'trunk user name',
    value: like(/^[A-Za-z0-9+._-]{1,20}$/),
    render: (username) => render(withTrunk({ login: { username, password: 'p' } })),
    read: (files) => valuesOf(pjsip(files), (s) => s.name === 'trunk-north', 'username'),
  },
  {
    field: 'trunk password',
    value: like(/^[!-:<-[\]-~]{1,40}$/),
    render: (password) => render(withTrunk({ login: { username: 'u', password } })),
    read: (files) => valuesOf(pjsip(files), (s) => s.name === 'trunk-north', 'password'),
  },
  {
    field: 'number of a trunk',
    value: like(/^\+?[0-9]{1,32}$/),
    render: (outbound_number) => render(withTrunk({ outbound_number })),
    read: (files) =>
      valuesOf(extensions(files), (s) => s.name === 'outbound-1', 'same').flatMap(
        (step) => /OFFHOOK_CHOSEN\}:([^)]*)\)\}/.exec(step)?.[1] ?? [],
      ),
  },
  {
    field: 'number an extension is shown with',
    value: like(/^\+?[0-9]{1,32}$/),
    render: (caller_id) =>
      render(withTrunk({}, { extensions: [person('1001', { caller_id }), person('1002')] })),
    read: (files) => valuesOf(extensions(files), (s) => s.name === 'shown-as', 'exten'),
    expected: (caller_id) => [`1001,1,Return(${caller_id})`],
  },
  {
    field: 'digits put in front of a number',
    value: like(/^\+?[0-9]{1,32}$/),
    render: (prepend) =>
      render(
        withTrunk({}, { outbound_routes: [outRoute({ trunks: [{ trunk: 'north', strip: 0, prepend }] })] }),
      ),
    read: (files) =>
      valuesOf(extensions(files), (s) => s.name === 'outbound-1', 'same').flatMap(
        (step) => /Dial\(PJSIP\/(.*)\$\{EXTEN:0\}@/.exec(step)?.[1] ?? [],
      ),
  },
  {
    field: 'caller of an inbound route',
    value: like(/^[0-9]{1,32}$/),
    render: (caller) => render(withTrunk({}, { inbound_routes: [inRoute({ caller })] })),
    read: (files) => valuesOf(extensions(files), (s) => s.name === 'numbers-1-trunk-north', 'exten'),
    expected: (caller) => [`49,1,GotoIf(\${REGEX("^${caller}" \${CALLERID(num)})}?route-in,\${EXTEN},1)`],
  },
  {
    field: 'name of an inbound route',
    value: like(/^[a-z0-9][a-z0-9_-]{0,20}[a-z0-9]$/),
    render: (name) => render(withTrunk({}, { inbound_routes: [inRoute({ name })] })),
    read: (files) => valuesOf(extensions(files), (s) => s.name === 'numbers-1-trunk-north', 'exten'),
    expected: (name) => [`49,1,Goto(route-${name},\${EXTEN},1)`],
  },
  {
    field: 'outbound pattern',
    value: like(/^\+?[0-9]{1,3}[0-9XZN]{0,6}[.!]?$/),
    render: (pattern) => render(withTrunk({}, { outbound_routes: [outRoute({ patterns: [pattern] })] })),
    read: (files) => valuesOf(extensions(files), (s) => s.name === 'outbound-1', 'exten'),
    expected: (pattern) => [
      /[.!]$/.test(pattern)
        ? `_${pattern},1,${guard()}`
        : `_${pattern},1,GotoIf(${isNumber(conf`EXTEN`)}?:number)`,
    ],
  },
  {
    field: 'inbound number',
    value: like(/^\+?[0-9]{1,9}$/),
    render: (number) => render(withTrunk({}, { inbound_routes: [inRoute({ number })] })),
    read: (files) => valuesOf(extensions(files), (s) => s.name === 'numbers-1-trunk-north', 'exten'),
    expected: (number) => [`${number},1,Goto(route-in,\${EXTEN},1)`],
  },
  {
    field: 'name',
    value: like(/^[A-Za-zÀ-žﺀ-ﻼ一-龥'()&+.-]{1,20}( [A-Za-zÀ-ž]{1,9}){0,3}$/),
    render: (name) => render(first({ name })),
    read: (files) => valuesOf(pjsip(files), (s) => s.name === '1001' && s.base === 'sip', 'callerid'),
    expected: (name) => [`"${name}" <1001>`],
  },
  {
    field: 'sip_password',
    value: like(/^[A-Za-z0-9_-]{22,64}$/),
    render: (sip_password) => render(first({ sip_password })),
    read: (files) => valuesOf(pjsip(files), (s) => s.name === '1001' && s.base === 'credentials', 'password'),
  },
  {
    field: 'voicemail_pin',
    value: like(/^[0-9]{4,12}$/),
    render: (voicemail_pin) => render(first({ voicemail_pin })),
    read: (files) => valuesOf(files.get('voicemail.conf')!, (s) => s.name === 'default', '1001'),
    expected: (pin) => [`${pin},1001`],
  },
  {
    field: 'pickup_group',
    value: like(/^[a-z0-9]{1,9}([_-][a-z0-9]{1,9})?$/),
    render: (pickup_group) => render(first({ pickup_group })),
    read: (files) =>
      valuesOf(pjsip(files), (s) => s.name === '1001-web' && s.base === 'browser', 'named_call_group'),
  },
  {
    field: 'extension',
    value: like(/^[1-9][0-9]{1,9}$/),
    render: (e) =>
      render(site({ extensions: [person(e)], queues: [queue({ agents: [e], static_members: [e] })] })),
    read: (files) => valuesOf(pjsip(files), (s) => s.base === 'sip', 'auth'),
  },
  {
    field: 'queue name',
    value: like(/^[a-z0-9]{1,9}([_-][a-z0-9]{1,9})?$/),
    render: (name) => render(site({ queues: [queue({ name })] })),
    read: (files) =>
      readConf(files.get('queues.conf')!)
        .sections.filter((s) => s.base === 'waiting-room')
        .map((s) => s.name),
  },
  {
    field: 'queue number',
    value: like(/^[1-9][0-9]{1,9}$/),
    render: (number) => render(site({ queues: [queue({ number })] })),
    read: (files) => valuesOf(extensions(files), (s) => s.name === 'queues', 'exten'),
    expected: (number) => [`${number},1,Set(OFFHOOK_PLACES=$[0\${OFFHOOK_PLACES} + 1])`],
  },
  {
    field: 'service number',
    value: like(/^[*#]?[0-9]{1,9}$/),
    render: (number) => render(site({ services: [{ number, kind: 'music_on_hold', title: 'Music' }] })),
    read: (files) => valuesOf(extensions(files), (s) => s.name === 'services', 'exten'),
    expected: (number) => [`${number},1,Answer()`],
  },
  {
    field: 'pause reason',
    value: like(/^[a-z][a-z0-9]{0,9}$/),
    render: (id) =>
      render(
        site({
          feature_codes: [code({ action: 'pause' })],
          pause_reasons: [reasonFixture(id, 'A reason')],
        }),
      ),
    read: (files) => valuesOf(extensions(files), (s) => s.name === 'pause-reasons', 'exten'),
    expected: (id) => [`1,1,Return(${id})`],
  },
  {
    field: 'zone',
    value: fc.oneof(anything, fc.constantFrom('UTC', 'America/Argentina/Ushuaia', 'Etc/GMT+12')),
    render: (zone) => render(site(), INSTANCE, PROGRAM, { ...SETTINGS, zone }),
    read: (files) => valuesOf(files.get('voicemail.conf')!, (s) => s.name === 'zonemessages', 'site'),
    expected: (zone) => [`${zone}|'vm-received' Q 'digits/at' R`],
  },
  {
    field: 'SIP host',
    value: like(/^[a-z0-9]{1,9}(\.[a-z0-9]{1,9}){0,3}$/),
    render: (host) =>
      render(site(), INSTANCE, PROGRAM, { ...SETTINGS, sip: { host, port: 5060 }, web_host: 'localhost' }),
    read: (files) => valuesOf(pjsip(files), (s) => s.name === 'transport-udp', 'bind'),
    expected: (host) => [`${host.includes(':') ? `[${host}]` : host}:5060`],
  },
  {
    field: 'engine folder',
    value: fc.oneof(anything, fc.stringMatching(/^\/[a-zA-Z0-9 ü()'&=_.-]{0,20}[a-z]$/)),
    render: (folder) => render(site(), { ...INSTANCE, folder }),
    read: (files) => valuesOf(files.get('asterisk.conf')!, (s) => s.name === 'directories', 'astetcdir'),
    expected: (folder) => [`${folder}/etc`],
  },
  {
    field: 'AMI user',
    value: like(/^[A-Za-z0-9]{1,20}$/),
    render: (user) => render(site(), { ...INSTANCE, ami_events: { user, secret: SECRET } }),
    read: (files) =>
      readConf(files.get('manager.conf')!)
        .sections.map((s) => s.name)
        .filter((name) => !['general', 'actions', consoleAccount(INSTANCE).user].includes(name)),
  },
];

for (const { field, value, render: renderWith, read, expected } of CASES) {
  test(`conf/render - ${field}: any text is carried unharmed or refused`, () => {
    let carried = 0;
    let turned = 0;
    const usual = new Map([...render()].map(([name, text]) => [name, text]));
    fc.assert(
      fc.property(value, (text) => {
        let files: ReadonlyMap<string, string>;
        try {
          files = renderWith(text);
        } catch (error) {
          assert.ok(
            error instanceof ServiceError && error.code === 'invalid_request',
            `${JSON.stringify(text)}: ${String(error)}`,
          );
          assert.ok(
            field !== 'sip_password' || text.length < 9 || !error.message.includes(text),
            'a secret is told',
          );
          turned += 1;
          return;
        }
        assert.deepEqual(read(files), expected?.(text) ?? [text]);
        // Nothing else moved: no file has a section, a key or a directive more or less, whatever the value.
        for (const [name, before] of usual) {
          if (['name', 'sip_password', 'pickup_group', 'zone', 'SIP host', 'engine folder'].includes(field)) {
            assert.deepEqual(shapeOf(files.get(name)!), shapeOf(before), name);
          }
        }
        carried += 1;
      }),
      { numRuns: 400 },
    );
    assert.ok(carried > 20 && turned > 20, `of 400 values ${carried} were carried and ${turned} refused`);
  });
}

test('conf/render - values a database can hold in spite of its types are refused too', () => {
  for (const name of [null, undefined, 5, true, {}, ['a'], { toString: () => 'a' }]) {
    refused(() => render(first({ name: name as unknown as string })), /extension 1001: name must be/);
  }
  for (const n of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e9, '15' as unknown as number]) {
    refused(
      () => render(site({ queues: [queue({ ring_seconds: n })] })),
      /ring seconds must be a whole number/,
    );
  }
  refused(
    () => render(site({ queues: [queue({ strategy: 'ringall\nautofill=no' as 'ringall' })] })),
    /strategy must be one of/,
  );
  refused(() => render(first({ endpoints: [{ kind: 'fax' as 'sip', name: '1001' }] })), /endpoint/);
});

test('conf/render - a number or name with two meanings is refused', () => {
  const twice: [Partial<Site>, RegExp][] = [
    [
      { extensions: [person('1001'), person('1002'), person('1001')] },
      /"1001" is both an extension and an extension/,
    ],
    [{ queues: [queue({ number: '1001' })] }, /"1001" is both an extension and queue support/],
    [{ queues: [queue(), queue({ number: '501' })] }, /two queues are named support/],
    [{ services: [{ number: '710', kind: 'echo', title: 'Echo' }] }, /"710" is both Echo and a parking slot/],
    [{ parking_lots: [parking({ number: '500' })] }, /"500" is both/],
    [{ parking_lots: [parking({ first_slot: 720, last_slot: 701 })] }, /slots/],
    [{ parking_lots: [parking({ first_slot: 10_000, last_slot: 99_999 })] }, /1 to 1000 slots/],
    [{ feature_codes: [code({ action: 'log_in' }), code({ action: 'log_out' })] }, /"\*22" is both/],
  ];
  for (const [fields, says] of twice) refused(() => render(site(fields)), says);
});

test('conf/render - a name that leads nowhere is refused', () => {
  refused(
    () => render(site({ queues: [queue({ agents: ['1001', '1002', '1003'] })] })),
    /"1003" is not an extension/,
  );
  refused(
    () => render(site({ queues: [queue({ agents: ['1001'] })] })),
    /static member 1002 is not among its agents/,
  );
  refused(() => render(site({ queues: [queue({ agents: ['1001', '1001', '1002'] })] })), /twice/);
  refused(() => render(first({ endpoints: [{ kind: 'sip', name: '1002' }] })), /must be named 1001/);
});

test('conf/render - trunks, routes and exits that lead nowhere are refused', () => {
  const over = (trunk: string, strip = 0, prepend = ''): Partial<Site> => ({
    outbound_routes: [outRoute({ trunks: [{ trunk, strip, prepend }] })],
  });
  const wrong: [Partial<SiteTrunk>, Partial<Site>, RegExp][] = [
    [{}, { trunks: [trunk(), trunk()] }, /two trunks are named north/],
    [{ endpoint: '1001' }, {}, /must be named trunk-north/],
    [{ login: null }, {}, /needs a login to register/],
    [{ codecs: [] }, {}, /needs a codec/],
    [{ transport: 'udp\nx=y' as 'udp' }, {}, /transport must be one of/],
    [{ port: 0 }, {}, /port must be a whole number/],
    [{}, { inbound_routes: [inRoute({ trunk: 'south' })] }, /no trunk "south"/],
    [
      {},
      { inbound_routes: [inRoute({ to: { kind: 'queue', key: 'nowhere' } })] },
      /inbound route in: queue nowhere cannot be reached/,
    ],
    [
      {},
      { inbound_routes: [inRoute({ to: { kind: 'trunk', key: 'south', strip: 0, prepend: '' } })] },
      /no trunk "south"/,
    ],
    [{}, over('south'), /no trunk "south"/],
    [{}, { outbound_routes: [outRoute({ class: 'x)' as 'local' })] }, /class must be one of/],
    [{ max_calls: 1.5 }, {}, /most calls must be a whole number/],
    [{}, over('north', 0, '&'), /prepend must be/],
    [{}, over('north', -1), /strip must be/],
  ];
  for (const pattern of ['', 'X', '.', '!', 'X.', 'XXXX', 'XXXXX!', '0&1', '0,1', '0.1'])
    wrong.push([{}, { outbound_routes: [outRoute({ patterns: [pattern] })] }, /pattern must be/]);
  for (const [fields, more, says] of wrong) refused(() => render(withTrunk(fields, more)), says);
  refused(
    () => render(site({ queues: [queue({ exit: { key: '0', to: { kind: 'queue', key: 'nowhere' } } })] })),
    /queue support: exit: queue nowhere cannot be reached/,
  );
});

test('conf/render - a site without trunks has no way out, and nothing of a trunk in its files', () => {
  const files = render();
  for (const name of ['pjsip_shared.conf', 'pjsip.conf', 'extensions.conf'])
    assert.ok(!/trunk|outbound/.test(files.get(name)!), name);
});

test('conf/render - a site that records nothing has nothing of recording in its files', () => {
  assert.ok(!/record|MixMonitor/i.test(extensions(render())));
});

test('conf/render - the same site gives the same bytes, whatever order its fields have', () => {
  const again = JSON.parse(JSON.stringify(site({ feature_codes: [] }))) as Site;
  const turned = Object.fromEntries(Object.entries(again).reverse()) as unknown as Site;
  assert.deepEqual([...render(turned)], [...render(site({ feature_codes: [] }))]);
});

test('conf/render - an extension with fewer devices gets lines of its own beside the pattern', () => {
  const files = render(
    site({
      extensions: [person('1001'), person('1002', { endpoints: [{ kind: 'mobile', name: '1002-mobile' }] })],
    }),
  );
  assert.deepEqual(
    valuesOf(extensions(files), (s) => s.name === 'hints', 'exten').filter((line) => line.includes('PJSIP')),
    [
      '_1XXX,hint,PJSIP/${EXTEN}&PJSIP/${EXTEN}-web&PJSIP/${EXTEN}-mobile&Custom:dnd-${EXTEN}',
      '1002,hint,PJSIP/1002-mobile&Custom:dnd-1002',
    ],
  );
});

test('conf/render - hints and rings are patterns: a thousand extensions more add no line to them', () => {
  const company = (n: number): string =>
    extensions(render(site({ extensions: Array.from({ length: n }, (_, i) => person(String(1001 + i))) })));
  const count = (text: string, name: string): number =>
    valuesOf(text, (s) => s.name === name, 'exten').length;
  const small = company(10);
  const large = company(1010);
  for (const name of ['hints', 'queue-agent', 'devices']) {
    assert.ok(count(small, name) >= 1, name);
    // 1001 to 2010 begin with two different digits.
    assert.ok(count(large, name) <= count(small, name) + 1, `${name} has ${count(large, name)} lines`);
  }
});

test('conf/render - a site that is only an administrator renders', () => {
  const files = render(
    site({ extensions: [person('1001')], queues: [], services: [], parking_lots: [], pause_reasons: [] }),
  );
  assert.deepEqual(
    valuesOf(extensions(files), (s) => s.name === 'people', 'exten'),
    ['1001,1,Gosub(call,1001,1(1001))'],
  );
  assert.equal(readConf(files.get('queues.conf')!).sections.length, 2);
});

test('conf/render - the AMI users have their own rights, on loopback only', () => {
  const { sections } = readConf(render().get('manager.conf')!);
  const of = (name: string): Record<string, string> =>
    Object.fromEntries(sections.find((s) => s.name === name)!.lines);
  assert.deepEqual(
    [of('events')['read'], of('events')['write']],
    ['system,call,agent,user,dtmf,security', ''],
  );
  assert.deepEqual(
    [of('actions')['read'], of('actions')['write']],
    ['', 'system,call,agent,user,reporting,originate'],
  );
  const { user: console } = consoleAccount(INSTANCE);
  assert.deepEqual([of(console)['read'], of(console)['write']], ['', 'command']);
  assert.equal(of('general')['bindaddr'], '127.0.0.1');
  for (const user of ['events', 'actions', console])
    assert.equal(of(user)['permit'], '127.0.0.1/255.255.255.255');
});
