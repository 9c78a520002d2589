/** No value that a caller chooses reaches an application of the rendered dialplan before it was filtered. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SettingsConfig } from '@offhook/contract/config-network.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import {
  PASSWORD,
  company,
  conference,
  extension,
  inboundRoute,
  menu,
  outboundRoute,
  queue,
  renderCompany,
  ringGroup,
  timeCondition,
  trunk,
} from '../../../../test/support/rendered-company.ts';

const hang_up = { kind: 'hang_up', reason: 'busy', play: null } as const;
/** A company with one object of every kind that renders steps. */
const dialplan = (): string =>
  renderCompany(
    company({
      settings: SettingsConfig.parse({ language: 'fr' }),
      feature_codes: FEATURE_CODES.map((code) =>
        code.id === 'pickup.extension' ? { ...code, moved: { from: '**', to: '#7' } } : code,
      ),
      extensions: ['1001', '1002', '1003'].map((e) =>
        extension(e, {
          forward_outside: true,
          recording: 'always',
          caller_id: '+4930',
          pickup_everywhere: e === '1001',
        }),
      ),
      queues: [
        queue({
          name: 'support',
          number: '500',
          recording: 'always',
          members: [{ extension: '1003', static: true, penalty: 4 }],
          exit: { key: '1', to: { kind: 'conference', key: 'room' } },
        }),
      ],
      ring_groups: [
        ringGroup({
          name: 'front',
          number: '620',
          members: ['1002'],
          recording: 'always',
          otherwise: hang_up,
        }),
      ],
      menus: [
        menu({
          name: 'main',
          number: '800',
          dial_extensions: true,
          choices: [{ key: '1', to: { kind: 'trunk', key: 'north', strip: 0, prepend: '49' } }],
          otherwise: hang_up,
        }),
      ],
      time_conditions: [
        timeCondition({
          name: 'office',
          number: '810',
          hours: [{ days: ['mon'], from: '08:00', to: '18:00' }],
          switched_by: ['1001'],
          when_open: { kind: 'menu', key: 'main' },
          when_closed: hang_up,
        }),
      ],
      shared_phones: [
        { name: 'lobby', endpoint: 'desk_1', title: 'Lobby', sip_password: PASSWORD, srtp: 'off' },
      ],
      conferences: [conference({ name: 'room', number: '820', pin: '4711', leader_pin: '4712' })],
      mailboxes: [{ number: '4000', title: 'Box', pin: '4711' }],
      trunks: [trunk({ name: 'north', host: '127.0.0.2', max_calls: 2, outbound_number: '+4930' })],
      inbound_routes: [
        inboundRoute({ name: 'all', to: { kind: 'queue', key: 'support' } }),
        inboundRoute({ name: 'vip', caller: '+49', number: '+493', to: { kind: 'extension', key: '1001' } }),
        inboundRoute({
          name: 'transit',
          number: '+44',
          prefix: true,
          to: { kind: 'trunk', key: 'north', strip: 1, prepend: '' },
        }),
      ],
      outbound_routes: [
        outboundRoute({
          name: 'out',
          position: 1,
          patterns: ['0X.', '+X!'],
          class: 'national',
          trunks: [{ trunk: 'north', strip: 1, prepend: '' }],
        }),
      ],
    }),
  ).get('extensions.conf')!;

interface Extension {
  readonly context: string;
  readonly pattern: string;
  readonly steps: readonly string[];
}
function extensionsOf(text: string): Extension[] {
  const found: { context: string; pattern: string; steps: string[] }[] = [];
  let context = '';
  for (const line of text.split('\n')) {
    const section = /^\[([^\]]+)\]$/.exec(line);
    if (section) context = section[1]!;
    const first = /^exten => ([^,]+),1(?:\([a-z0-9_-]+\))?,(.*)$/.exec(line);
    if (first) found.push({ context, pattern: first[1]!, steps: [first[2]!] });
    const next = /^ same => n(\([a-z0-9_-]+\))?,(.*)$/.exec(line);
    if (next) found.at(-1)!.steps.push((next[1] ?? '') + next[2]!);
  }
  return found;
}
const GUARD =
  /^GotoIf\(\$\[\$\{LEN\(\$\{FILTER\((?:0-9\*#\+|--\.0-9A-Z_a-z),\$\{EXTEN\}\)\}\)\} = \$\{LEN\(\$\{EXTEN\}\)\}\]\?:unfit\)$/;
/** Patterns that match any character after their prefix. */
const isOpen = ({ pattern }: Extension): boolean => /^_.*[.!]/.test(pattern);

test('conf/dialled - a pattern that takes any character filters what was dialled before any other step', () => {
  const open = extensionsOf(dialplan()).filter(isOpen);
  const contexts = new Set(open.map((e) => e.context));
  for (const context of [
    'feature-codes',
    'moved-codes',
    'call',
    'queue-moved',
    'outbound-1',
    'from-trunk-north',
  ])
    assert.ok(contexts.has(context), context);
  for (const { context, pattern, steps } of open) {
    const what = `${context} ${pattern}`;
    // The other half of a placed call ends at the first step of `placed` (option G of Dial).
    const [first, ...rest] = context === 'placed' && steps[0] === 'Hangup()' ? steps.slice(1) : steps;
    assert.match(first!, GUARD, what);
    assert.equal(rest.at(-1), '(unfit)Hangup(28)', what);
    assert.ok(!rest.slice(0, -1).some((step) => step.startsWith('(unfit)')), what);
  }
});

test('conf/dialled - every other pattern is made of digits and keys, so that no separator can match', () => {
  const text = dialplan();
  const all = extensionsOf(text);
  for (const e of all.filter((one) => !isOpen(one)))
    assert.match(e.pattern, /^(?:[a-z][a-z_-]*|[0-9+*#]+|_[0-9+*#XZN]+)$/, `${e.context} ${e.pattern}`);
  // Contexts for incoming calls contain no named extension.
  const includes = new Map(
    [...text.matchAll(/^\[([^\]]+)\]\n((?:include => .*\n)*)/gm)].map((m) => [
      m[1]!,
      [...m[2]!.matchAll(/^include => (.*)$/gm)].map((i) => i[1]!),
    ]),
  );
  const reached = (context: string): string[] => [context, ...(includes.get(context) ?? []).flatMap(reached)];
  for (const entry of ['internal', 'reach', 'forwarded-out', 'from-trunk-north'])
    for (const context of reached(entry))
      for (const e of all.filter((one) => one.context === context))
        assert.doesNotMatch(e.pattern, /^[a-z]/, `${entry} reaches ${context} ${e.pattern}`);
});

/** Channel values, besides EXTEN, that a caller or phone controls. */
const CHOSEN =
  /\$\{(?:CALLERID|CALLERPRES|CONNECTEDLINE|REDIRECTING|DNID|SIPDOMAIN|PJSIP_[A-Z_]+|SHARED|ATTENDEDTRANSFER|OFFHOOK_TO|OFFHOOK_ASKED|DB_RESULT|D[0-9])|\$\{DB\(offhook-customers\b/;
const number = (name: string): string =>
  `GotoIf($[\${LEN(\${FILTER(0-9,\${${name}})})} > 0 & \${LEN(\${FILTER(0-9,\${${name}})})} + \${LEN(\${FILTER(+,\${${name}:0:1})})} = \${LEN(\${${name}})}]?`;
/** Prefixes of the steps that may use such a value: filters, and steps behind them. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // Contact addresses of the phone's own endpoint, without a character that separates or ends the comparison.
  devices: [
    'Set(LOCAL(D)=${PJSIP_DIAL_CONTACTS(${EXTEN})})',
    'ExecIf($[$[${LEN(${FILTER(!#-[]-~,${D})})} = ${LEN(${D})}] & ${REGEX("^(PJSIP/${EXTEN}/sips?:[]A-Za-z0-9@:\\;=._~%+*!/?[-]+(&|$))*$" ${D})}]?NoOp():Set(LOCAL(D)=PJSIP/${EXTEN}))',
    'Return(${D}',
    // The address of a shared phone, filtered in the same way.
    'Set(LOCAL(FOUND)=${PJSIP_DIAL_CONTACTS(${PHONE})})',
  ],
  // The number of addresses, not their text.
  'own-devices': ['GotoIf(${LEN(${PJSIP_DIAL_CONTACTS(${EXTEN})})}?found)'],
  wake: ['GotoIf(${LEN(${PJSIP_DIAL_CONTACTS(${EXTEN})})}?there)'],
  'watch-forward': [
    'GotoIf(${LEN(${REDIRECTING(to-num)})}?:over)',
    'Set(OFFHOOK_ASKED=${REDIRECTING(to-num)})',
    number('OFFHOOK_ASKED'),
    'Set(SHARED(OFFHOOK_FORWARD,${ARG1})=${OFFHOOK_ASKED})',
  ],
  call: ['Gosub(elsewhere,${EXTEN},1(${SHARED(OFFHOOK_FORWARD)},asked))'],
  'to-trunk-north': [
    number('OFFHOOK_TO'),
    'Set(GROUP(alike)=${FILTER(0-9+,${CALLERID(num)})}-${OFFHOOK_TO})',
    'GotoIf($[${GROUP_COUNT(${FILTER(0-9+,${CALLERID(num)})}-${OFFHOOK_TO}@alike)} > 20]?circle)',
    'Dial(PJSIP/${OFFHOOK_TO}@trunk-north,',
  ],
  'find-customer': [
    'Set(OFFHOOK_FROM_OUTSIDE=${FILTER(0-9+,${CALLERID(num)})})',
    // The presentation is one of the engine's own words.
    'Gosub(caller-rule,s,1(${IF($["${CALLERID(num-pres):0:6}" = "prohib" | ${LEN(${OFFHOOK_FROM_OUTSIDE})} = 0]?1:)}))',
    'GotoIf($["${FILTER(x,${DB(offhook-customers/${OFFHOOK_CUSTOMER}):0:1})}" = "x"]?customer)',
  ],
  // The name alone, of the engine's own store; what a Set writes is not read as dialplan.
  'name-customer': ['Set(CONNECTEDLINE(name,i)=${DB(offhook-customers/${OFFHOOK_CUSTOMER}):16})'],
  // Letters, compared with the languages of the site.
  'customer-language': [
    'Set(LOCAL(SPOKEN)=${FILTER(a-zA-Z_,${DB(offhook-customers/${OFFHOOK_CUSTOMER}):11:5})})',
  ],
  // Of the configuration.
  'be-person': [
    'Set(CALLERID(all)=${PJSIP_ENDPOINT(${OFFHOOK_EXTENSION},callerid)})',
    'Set(CHANNEL(language)=${PJSIP_ENDPOINT(',
    'Set(CHANNEL(namedcallgroup)=${PJSIP_ENDPOINT(',
    'Set(CHANNEL(namedpickupgroup)=${PJSIP_ENDPOINT(',
  ],
  'owner-first': ['Set(OFFHOOK_OWNER=${FILTER(0-9,${DB(offhook-customers/${OFFHOOK_CUSTOMER}):1:10})})'],
  'numbers-1-trunk-north': ['GotoIf(${REGEX("^[+]49" ${CALLERID(num)})}?route-vip,'],
};

test('conf/dialled - what else a caller chooses is used only by its filter and behind it', () => {
  const all = extensionsOf(dialplan());
  for (const { context, pattern, steps } of all)
    for (const step of steps.filter((s) => CHOSEN.test(s))) {
      const place = context.replace(/^devices-.*/, 'devices');
      // The steps of all kinds of devices have the same shape.
      const shape = step
        .replace(/^\([a-z]+\)/, '')
        .replaceAll(/\bD[0-9]\b/g, 'D')
        .replaceAll(/\$\{EXTEN\}-(?:web|mobile)/g, '${EXTEN}');
      const allowed = ALLOWED[place]?.some((a) => shape.startsWith(a)) ?? false;
      assert.ok(allowed, `${context} ${pattern}: ${step}`);
    }
  const filters: readonly (readonly [string, string])[] = [
    ['to-trunk-north', 'OFFHOOK_TO'],
    ['elsewhere', 'ARG1'],
    ['watch-forward', 'OFFHOOK_ASKED'],
  ];
  for (const [context, value] of filters) {
    const own = all.filter((e) => e.context === context && !e.steps[0]!.startsWith('Set(REDIRECTING'));
    assert.ok(own.length > 0);
    for (const { steps } of own) {
      const at = steps.findIndex((step) => step.includes(number(value)));
      const used = steps.findIndex((step) =>
        ['Goto(', 'Dial(', 'DIALPLAN_EXISTS(', 'SHARED(OFFHOOK_FORWARD,'].some(
          (app) => step.includes(app) && step.includes(`\${${value}}`),
        ),
      );
      assert.ok(at >= 0 && at < used, `${context}: ${value} is used before it is filtered`);
    }
  }
});
