import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEnvironments, compileExpression } from './expressions.ts';
import { loadConnector } from './load.ts';
import { endsAlike, withoutExtension, writeNumber } from './number-formats.ts';
import { Secrets, readSettings } from './settings.ts';
import { NO_CALL } from '../call-of.ts';
import { fileOf } from '../../../../test/support/connector-rig.ts';

const HEAD = `connector: 1\nname: Test\nsettings: { domain: { text: Domain, pattern: a-z0-9- }, token: { text: Token, secret: true } }\n`;
const WHOLE = `${HEAD}base: https://{{ set.domain }}.example.com\ncheck: { get: /me }\n`;
const BY_NUMBER = (numbers: string) =>
  `customer: { id: '{{ row.id }}', name: '{{ row.name }}', ${numbers} }\nsync: { get: /n, rows: '{{ answer }}'`;
const findings = (text: string) =>
  loadConnector(text).findings.map(({ path, line, rule, reason }) => `${path}:${line} ${rule}: ${reason}`);

test('connector file - what is wrong is named with path, line, rule and reason', () => {
  assert.deepEqual(findings(WHOLE), []);
  for (const [text, expected] of [
    ['{', /^:\d+ yaml: /],
    ['- 1', /^:null schema: /],
    [`${WHOLE}check: { get: /you }\n`, /^:6 yaml: the key check occurs twice/],
    [`${WHOLE}headers: { a: x, a: y }\n`, /^:6 yaml: the key a occurs twice/],
    [`${WHOLE}nonsense: 1\n`, /schema: .*nonsense/],
    [WHOLE.replace('connector: 1', 'connector: 2'), /^connector:1 schema/],
    [
      `${WHOLE}users: { get: /u, put: /u, rows: '{{ answer }}', id: '{{ row.id }}' }\n`,
      /^users:6 schema: needs exactly one of/,
    ],
    [
      WHOLE.replace('get: /me', 'get: //evil.example/me'),
      /^check\.get:5 schema: must begin with a single \//,
    ],
    [WHOLE.replace('get: /me', 'get: https://evil.example/me'), /^check\.get:5 schema/],
    [WHOLE.replace('{{ set.domain }}', '{{ set.domian }}'), /^base:4 expression_name: No such key: domian/],
    [WHOLE.replace('{{ set.domain }}', '{{ set.token }}'), /^settings\.token:3 base: .*pattern/],
    [WHOLE.replace('https://{{ set.domain }}.example.com', "'{{ set.domain }}'"), /url: true/],
    [
      `${WHOLE}push: { post: /x, body: { a: '{{ call.talk_secnds }}' }, ended: {} }\n`,
      /^push\.ended\.body\.a:\S+ expression_name: .*talk_secnds/,
    ],
    [`${WHOLE}fails: '{{ call.id }}'\n`, /^fails:6 expression_name: Unknown variable: call/],
    [`${WHOLE}fails: '{{ "a" + 1 }}'\n`, /^fails:6 expression_wrong/],
    [`${WHOLE}fails: '{{ answer.a '\n`, /\{\{ without \}\}/],
    [`${WHOLE}fails: '{{ answer.a.matches("(a+)+$") }}'\n`, /expression_forbidden: matches/],
    [`${WHOLE}fails: "q='{{ answer.a }}'"\n`, /text_wrong: .*odata/],
    [`${WHOLE}pop: 'javascript:alert({{ customer.id }})'\n`, /^pop:6 address: must begin with https/],
    [`${WHOLE}pop: 'https://{{ customer.id }}.example.com/'\n`, /^pop:6 expression_name: .*customer/],
    [`${WHOLE}pop: 'https://{{ set.token }}.example.com/'\n`, /^settings\.token:3 base: .*pattern/],
    [`${WHOLE}pop: '{{ set.domain }}/{{ customer.id }}'\n`, /^settings\.domain:3 base: .*url: true/],
    [`${WHOLE}pop: 'https://a.example/{{ row.id }}'\n`, /^pop:6 expression_name: .*row/],
    [`${WHOLE}headers: { "a b": x }\n`, /must be the name of a header/],
    [
      `${WHOLE}${BY_NUMBER('numbers: [], number: x')} }\n`,
      /^customer\.number:6 schema: .*exclude each other/,
    ],
    [`${WHOLE}${BY_NUMBER('number: x')}, cursor: '{{ row.id }}' }\n`, /^sync\.cursor:7 rows: .*listed whole/],
    [`${WHOLE}${BY_NUMBER('number: x')}, gone: '{{ row.gone }}' }\n`, /^sync\.gone:7 rows: .*listed whole/],
    [`${WHOLE}entry: { once: find, create: { post: /x } }\n`, /`find` needs `once: find`/],
    [
      `${WHOLE}entry: { once: ledger, create: { post: /x }, attach: { once: ledger, post: /f, file: f } }\n`,
      /^entry\.attach:6 schema: needs `entry\.create\.id`/,
    ],
    ...(
      [
        ['once: ledger, get: /f', /`attach` cannot use `get`/],
        ['once: find, post: /f', /`find` needs `once: find`/],
        ['once: ledger, post: /f, file: f, body: {}', /either `file` or `body`, not both/],
        ['once: ledger, post: /f, file: "a b"', /must be the name of a form field/],
        ["once: ledger, post: /f, body: { a: '{{ recording.bsae64 }}' }", /expression_name: .*bsae64/],
        ["once: ledger, post: /f, body: { a: '{{ user.id }}' }", /expression_name: .*user/],
      ] as const
    ).map(
      ([attach, rule]) =>
        [
          `${WHOLE}entry: { once: ledger, create: { post: /x, id: a }, attach: { ${attach} } }\n`,
          rule,
        ] as const,
    ),
    [`${WHOLE}pop: { at: ringing }\n`, /^pop:6 schema: needs `url` or `show`/],
    [`${WHOLE}pop: { url: https://a.example/, hide: { post: /x } }\n`, /`hide` needs `show`/],
    [`${WHOLE}pop: { show: { post: '/x/{{ entry.id }}' } }\n`, /^pop\.show\.post:6 expression_name: .*entry/],
    [
      `${WHOLE}push: { post: /x, ringing: { body: { a: '{{ pushed.id }}' } } }\n`,
      /^push\.ringing\.body\.a:\S+ expression_name: .*pushed/,
    ],
    [
      `${WHOLE}auth: { oauth2: { grant: client_credentials, client_id: a, client_secret: b, token: 'https://{{ set.token }}.example/' } }\n`,
      /^settings\.token:3 base: .*pattern/,
    ],
    [`${WHOLE}auth: { basic: { user: a } }\n`, /^auth\.basic\.password:6 schema/],
    [
      'a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c]',
      /^d\.\d:4 yaml: .* 5000 values at most/,
    ],
    [`${WHOLE}x: &a 1\ny: [${'*a,'.repeat(15_000)}]`, /^:7 yaml: .* at most 50 aliases/],
    [
      `${WHOLE}create: { post: /x, row: '{{ answer }}', body: &a { x: *a } }\n`,
      /^create\.body\.x\.x:6 yaml: .*deep/,
    ],
    [`${WHOLE}x: ${'{ a: '.repeat(40)}1${' }'.repeat(40)}\n`, /^x\.a\.a\.a:6 yaml: .* 32 levels deep/],
    [`${WHOLE}x: ${'['.repeat(20_000)}`, /^:6 yaml: .* 32 levels deep/],
    [`${WHOLE}---\n${WHOLE}`, /^:6 yaml: .*documents/],
    [`#${'x'.repeat(70_000)}\n${WHOLE}`, /65536 bytes/],
  ] as const)
    assert.match(findings(text).join('\n'), expected, text.slice(0, 200));
});

test('connector file - expressions that are slow, huge or curious are refused when the file is loaded', () => {
  const environment = createEnvironments(['token'])(['set', 'answer', 'row', 'call']);
  for (const [text, rule] of [
    ['answer.a.map(i, answer.b.map(j, 1))', 'expression_forbidden'],
    ['answer.a.filter(i, i in answer.b)', 'expression_forbidden'],
    ['answer.a.map(answer, 1)', 'expression_forbidden'],
    ['answer.a.contains(answer.b)', 'expression_forbidden'],
    ['cel.bind(x, answer, x)', 'expression_forbidden'],
    ['"a".matches("b")', 'expression_forbidden'],
    // Each of these steps multiplies what the one before gave.
    ['answer.a.split("").join("bb").split("").join("bb")', 'expression_forbidden'],
    ['json(answer.a).split("")', 'expression_forbidden'],
    ['answer.a.map(i, [i, i]).map(i, [i, i])', 'expression_forbidden'],
    ['answer.a.join(answer.b)', 'expression_forbidden'],
    [`answer.a.join("${'b'.repeat(21)}")`, 'expression_forbidden'],
    ['[answer.a, answer.b.split(" ")[0]].join(", ")', 'allowed'],
    [`answer.a == "${'x'.repeat(500)}"`, 'expression_limit'],
    [Array.from({ length: 120 }, () => '1').join('+'), 'expression_limit'],
    [`${'['.repeat(40)}${']'.repeat(40)}`, 'expression_limit'],
    ['call.nothing', 'expression_name'],
    ['process.env', 'expression_name'],
    ['call.talk_seconds + "a"', 'expression_wrong'],
    ['', 'expression_wrong'],
  ] as const) {
    const made = compileExpression(text, environment);
    assert.equal(typeof made === 'function' ? 'allowed' : made.rule, rule, text);
  }
  const run = (text: string, answer: unknown): unknown => {
    const made = compileExpression(text, environment);
    assert.ok(typeof made === 'function', text);
    return made({ answer });
  };
  const rows = Array.from({ length: 50_000 }, (_, id) => ({ id, phones: [{ value: `+49${id}` }] }));
  const before = process.cpuUsage();
  assert.equal((run('answer.filter(r, r.id >= 0).map(r, r.phones)', rows) as unknown[]).length, rows.length);
  assert.ok(process.cpuUsage(before).user < 2_000_000);
  const quotes = "'".repeat(1_500_000);
  for (const huge of [
    `${'odata('.repeat(14)}answer${')'.repeat(14)}`,
    'json(answer.map(i, [i, i, i, i, i, i, i, i]))',
  ])
    assert.equal(
      run(huge, huge.startsWith('json') ? Array.from({ length: 260_000 }, () => 1) : quotes),
      undefined,
    );
  for (const curious of [
    'answer.constructor',
    'answer["__proto__"]',
    'answer.a.constructor.name',
    'answer.toString',
  ])
    assert.equal(run(curious, { a: 1 }), undefined, curious);
  assert.equal(run('9007199254740993', {}), '9007199254740993', 'no digit is lost');
});

test('connector file - a number in each of its forms, for ten countries', () => {
  const forms = (e164: string) => ['national', '00', 'last:7'].map((format) => writeNumber(e164, format));
  assert.deepEqual(forms('+4930901820'), ['030901820', '004930901820', '0901820']);
  for (const [e164, national] of [
    ['+4930901820', '030901820'],
    ['+905321234567', '05321234567'],
    ['+12025550123', '2025550123'],
    ['+442079460958', '02079460958'],
    ['+33142685300', '0142685300'],
    ['+390612345678', '0612345678'],
    ['+34912345678', '912345678'],
    ['+31201234567', '0201234567'],
    ['+48221234567', '221234567'],
    ['+74951234567', '84951234567'],
  ] as const) {
    assert.equal(writeNumber(e164, 'national'), national);
    for (const stored of [
      e164,
      national,
      `${e164.slice(0, 5)} ${e164.slice(5, 8)}/${e164.slice(8)}`,
      `${national} ext. 12`,
      `(${national.slice(0, 4)}) ${national.slice(4)};ext=7`,
      `${national.slice(0, 3)},${national.slice(3)}`,
      `Tel. ${national} x7`,
      `${national}, ${national.slice(0, -1)}9 8`,
    ])
      assert.ok(endsAlike(stored, e164, 8), `${stored} is ${e164}`);
    assert.ok(!endsAlike(`${e164.slice(0, -1)}${(Number(e164.at(-1)) + 1) % 10}`, e164, 8));
  }
  for (const [stored, number] of [
    ['030,5555001', '030,5555001'],
    ['030 / 5555001 ext. 4', '030 / 5555001 '],
    ['+1 (202) 555-0123,,7', '+1 (202) 555-0123'],
    ['030 5555001 (Büro 2)', '030 5555001 ('],
    ['0305555001, 0305555002', '0305555001'],
    ['4711 ext 12', '4711 '],
    ['1234 (Büro 2)', '1234 ('],
    ['12#345', '12'],
    ['12;ext=345', '12'],
    ['Ömer 0305555001 Ünal 2', 'Ömer 0305555001 '],
    ['ext', 'ext'],
  ] as const)
    assert.equal(withoutExtension(stored), number);
  assert.equal(writeNumber('+12025550123', '(###) ###-####'), '(202) 555-0123');
  assert.equal(writeNumber('+4930901820', '(###) ###-####'), null);
  for (const stored of ['', 'anonymous', '1001', 'ext 5'])
    assert.ok(!endsAlike(stored, '+4930901820', 8), stored);
  for (const stored of ['4711 ext 12', '4711 x12', '471 (Büro 112)', '4711;12'])
    assert.ok(!endsAlike(stored, '+4930471112', 8), stored);
});

test('connector file - settings are checked, and secrets never shown in any spelling', () => {
  const { document } = fileOf(WHOLE);
  const wrong = (given: Record<string, string>) =>
    readSettings(document, given).findings.map(({ setting }) => setting);
  assert.deepEqual(wrong({ domain: 'acme', token: 'x' }), []);
  assert.deepEqual(wrong({ domain: 'evil.example/', token: 'x' }), ['domain']);
  assert.deepEqual(wrong({ token: 'a\nb', other: '1' }), ['domain', 'token', 'other']);
  const secrets = new Secrets();
  secrets.add('p@ss "word"/');
  const spelled = [
    'p@ss "word"/',
    encodeURIComponent('p@ss "word"/'),
    JSON.stringify({ a: 'p@ss "word"/' }),
    new URLSearchParams({ a: 'p@ss "word"/' }).toString(),
  ];
  assert.deepEqual(
    spelled.map((text) => secrets.hide(text).replaceAll('…', '')),
    ['', '', '{"a":""}', 'a='],
  );
});

test('connector file - the settings stay hidden, and of renewed tokens the last ones', () => {
  const secrets = new Secrets();
  secrets.add('of-the-settings');
  secrets.addToken('refresh-token');
  for (let n = 100; n < 200; n += 1) {
    secrets.addToken('refresh-token');
    secrets.addToken(`access-${n}`);
  }
  assert.equal(
    secrets.hide('of-the-settings refresh-token access-199 access-198 access-100'),
    '… … … … access-100',
  );
});

test('connector file - a setting has any name, also one that every object has', () => {
  const { document } = fileOf(
    WHOLE.replace('settings: {', 'settings: { constructor: { text: Builder, url: true },'),
  );
  const given = { domain: 'a', token: 'b' };
  assert.deepEqual(readSettings(document, given).findings, [
    { setting: 'constructor', reason: 'is missing' },
  ]);
  const whole = { ...given, constructor: 'https://a.example/' };
  assert.deepEqual(readSettings(document, whole).values['constructor'], 'https://a.example');
  const { findings: wrong } = readSettings(fileOf(WHOLE).document, whole);
  assert.deepEqual(wrong, [{ setting: 'constructor', reason: 'is not a setting of this file' }]);
});

test('connector file - the address that a call opens holds each value as data, and is none where a value is missing', () => {
  const { file } = loadConnector(
    `${WHOLE}pop: 'https://{{ set.domain }}.example.com/p/{{ customer.id }}?n={{ call.number }}#{{ call.id }}'\n`,
  );
  const none = { kind: '', name: '', company: '', numbers: [], emails: [], owner: '', url: '' };
  const popped = (id: string, number = '+4930901820') =>
    file!.pop!({
      set: { domain: 'acme' },
      customer: { ...none, id },
      call: { ...NO_CALL, id: 'c:1', number },
    });
  assert.equal(popped('42'), 'https://acme.example.com/p/42?n=%2B4930901820#c%3A1');
  assert.equal(
    popped('../x?a=1#"<\uD800'),
    'https://acme.example.com/p/..%2Fx%3Fa%3D1%23%22%3C%EF%BF%BD?n=%2B4930901820#c%3A1',
  );
  for (const id of ['', '.', '..']) assert.equal(popped(id), undefined, id);
  const given = loadConnector(
    `${WHOLE}customer: { id: '{{ row.id }}', name: '{{ row.name }}', url: '{{ row.link }}' }\nlookup: { number: { get: /, formats: [e164], rows: '{{ answer }}' } }\n`,
  );
  const page = (link: string) => given.file!.lookup!.customer.url!({ row: { link } });
  assert.equal(page('https://a.example/1'), 'https://a.example/1');
  for (const link of ['javascript:alert(1)', 'data:text/html,x', '/1', ''])
    assert.equal(page(link), undefined, link);
});
