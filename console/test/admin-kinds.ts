/** One valid object of each kind of the configuration, as people fill in its form. */
import type { Page } from 'playwright-core';
import { choose, field, leadTo } from './admin-steps.ts';

/** One second of silence, 8 kHz, 16 bit. */
function silence(): Buffer {
  const data = 16_000;
  const wav = Buffer.alloc(44 + data);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(36 + data, 4);
  wav.write('WAVEfmt ', 8);
  for (const [value, at, size] of [
    [16, 16, 4],
    [1, 20, 2],
    [1, 22, 2],
    [8_000, 24, 4],
    [16_000, 28, 4],
    [2, 32, 2],
    [16, 34, 2],
  ] as const)
    wav.writeUIntLE(value, at, size);
  wav.write('data', 36);
  wav.writeUInt32LE(data, 40);
  return wav;
}
/** File that is uploaded as a prompt. */
export const SOUND = { name: 'hello.wav', mimeType: 'audio/wav', buffer: silence() };
interface KindForm {
  readonly kind: string;
  readonly key: string;
  readonly fill: (page: Page) => Promise<void>;
  /** One field that is refused, and its own words. */
  readonly bad: readonly [path: string, bad: string, good: string, words: RegExp];
  /** Whether secrets are shown once after it was made. */
  readonly shows?: true;
}
const named = async (page: Page, name: string, number?: string): Promise<void> => {
  await field(page, 'name').fill(name);
  await field(page, 'title').fill(`The ${name}`);
  if (number !== undefined) await field(page, 'number').fill(number);
};
const ADD: Readonly<Record<string, string>> = {
  Prompts: 'Add prompt',
  Days: 'Add day',
  Members: 'Add member',
  Keys: 'Add key',
  'Open hours': 'Add open hours',
  'Holiday calendars': 'Add holiday calendar',
  Patterns: 'Add pattern',
  Trunks: 'Add trunk',
  Extensions: 'Add extension',
};
const add = (page: Page, list: string): Promise<void> =>
  page.getByRole('button', { name: ADD[list] ?? list }).click();
/** Fields of each kind, ordered so that references exist. */
export const KIND_FORMS: readonly KindForm[] = [
  {
    kind: 'extensions',
    key: '1050',
    async fill(page) {
      await field(page, 'extension').fill('1050');
      await field(page, 'name').fill('Ada Lovelace');
      await field(page, 'username').fill('ada');
    },
    bad: ['username', '1003', 'ada', /another person/],
    shows: true,
  },
  {
    kind: 'mailboxes',
    key: '1060',
    async fill(page) {
      await field(page, 'number').fill('1060');
      await field(page, 'title').fill('Shared');
    },
    bad: ['number', '1001', '1060', /(?<!– )1001 is taken by extension 1001/],
    shows: true,
  },
  {
    kind: 'prompts',
    key: 'hello',
    async fill(page) {
      await named(page, 'hello');
      await page.locator('input[type=file]').setInputFiles(SOUND);
      await page.getByRole('button', { name: 'Listen' }).click();
      await page.locator('audio').waitFor();
    },
    bad: ['title', '<b>', 'Hello', /must be 1 to 80 letters/],
  },
  {
    kind: 'music-classes',
    key: 'calm',
    async fill(page) {
      await named(page, 'calm');
      await add(page, 'Prompts');
      await choose(page, 'prompts.0', 'hello');
    },
    bad: ['name', 'Calm!', 'calm', /must be 1 to 40 of/],
  },
  {
    kind: 'holidays',
    key: 'public',
    async fill(page) {
      await named(page, 'public');
      await add(page, 'Days');
      await field(page, 'days.0.title').fill('New Year');
      await field(page, 'days.0.month').fill('2');
      await field(page, 'days.0.day').fill('1');
    },
    bad: ['days.0.day', '31', '1', /no such day/],
  },
  {
    kind: 'trunks',
    key: 'north',
    async fill(page) {
      await named(page, 'north');
      await field(page, 'host').fill('sip.example.com');
    },
    bad: ['port', '70000', '5061', /From 1 to 65535/],
  },
  {
    kind: 'queues',
    key: 'care',
    async fill(page) {
      await named(page, 'care', '580');
      await add(page, 'Members');
      await choose(page, 'members.0.extension', '1003');
      await leadTo(page, 'otherwise', 'mailbox', '1060');
    },
    bad: ['number', '500', '580', /(?<!– )500 is taken by queue support/],
  },
  {
    kind: 'ring-groups',
    key: 'front',
    async fill(page) {
      await named(page, 'front', '581');
      await add(page, 'Members');
      await choose(page, 'members.0', '1001');
    },
    bad: ['ring_seconds', '2', '20', /From 5 to 300/],
  },
  {
    kind: 'menus',
    key: 'main',
    async fill(page) {
      await named(page, 'main');
      await field(page, 'greeting').locator('select').first().selectOption('prompt');
      await choose(page, 'greeting.prompt', 'hello');
      await add(page, 'Keys');
      await field(page, 'choices.0.key').fill('1');
      await leadTo(page, 'choices.0.to', 'queue', 'care');
      await leadTo(page, 'otherwise', 'hang_up');
    },
    bad: ['choices.0.key', '12', '1', /must be one key of/],
  },
  {
    kind: 'time-conditions',
    key: 'office',
    async fill(page) {
      await named(page, 'office');
      await add(page, 'Open hours');
      await page.getByLabel('Monday').check();
      await field(page, 'hours.0.from').fill('08:30');
      await field(page, 'hours.0.to').fill('17:00');
      await add(page, 'Holiday calendars');
      await choose(page, 'holidays.0', 'public');
      await leadTo(page, 'when_open', 'menu', 'main');
      await leadTo(page, 'when_closed', 'mailbox', '1060');
    },
    bad: ['hours.0.to', '25:00', '17:00', /must be a time such as/],
  },
  {
    kind: 'conferences',
    key: 'team',
    async fill(page) {
      await named(page, 'team', '590');
      await page.getByLabel('PIN of leaders', { exact: true }).last().fill('1234');
    },
    bad: ['leader_pin', '1', '1234', /must be 4 to 12 digits/],
  },
  {
    kind: 'parking-lots',
    key: 'second',
    async fill(page) {
      await named(page, 'second', '740');
      await field(page, 'first_slot').fill('741');
      await field(page, 'last_slot').fill('749');
    },
    bad: ['last_slot', '730', '749', /first to last/],
  },
  {
    kind: 'inbound-routes',
    key: 'main-in',
    async fill(page) {
      await field(page, 'name').fill('main-in');
      await choose(page, 'trunk', 'north');
      await leadTo(page, 'to', 'time_condition', 'office');
    },
    bad: ['number', 'abc', '+49305550', /not 1 to 32 digits/],
  },
  {
    kind: 'outbound-routes',
    key: 'out',
    async fill(page) {
      await field(page, 'name').fill('out');
      await add(page, 'Patterns');
      await field(page, 'patterns.0').fill('0X.');
      await add(page, 'Trunks');
      await choose(page, 'trunks.0.trunk', 'north');
    },
    bad: ['trunks.0.strip', '9', '1', /shortest pattern/],
  },
  {
    kind: 'call-limits',
    key: 'abroad-calls',
    async fill(page) {
      await named(page, 'abroad-calls');
      await field(page, 'calls_per_day').fill('20');
      await add(page, 'Extensions');
      await choose(page, 'extensions.0', '1003');
    },
    bad: ['max_minutes', '9000', '60', /From 1 to 1440/],
  },
  {
    kind: 'feature-codes',
    key: 'agent.login',
    async fill(page) {
      await field(page, 'id').fill('agent.login');
      await field(page, 'code').fill('*85');
    },
    bad: ['code', '85', '*85', /must be \* or # and 1 to 6 digits/],
  },
  {
    kind: 'pause-reasons',
    key: 'coffee',
    async fill(page) {
      await field(page, 'id').fill('coffee');
      await field(page, 'name').fill('Coffee');
    },
    bad: ['longest_seconds', '100000', '900', /From 1 to 86400/],
  },
  {
    kind: 'services',
    key: '*97#1',
    async fill(page) {
      await field(page, 'number').fill('*97#1');
      await field(page, 'title').fill('Echo');
      await field(page, 'kind').selectOption('echo');
    },
    bad: ['number', '500', '*97#1', /(?<!– )500 is taken by queue support/],
  },
];
