import type { z } from 'zod';
import {
  ConferenceConfig,
  HolidaysConfig,
  MenuConfig,
  TimeConditionConfig,
} from '@offhook/contract/config-call-flow.ts';
import { ROUTE_CLASSES } from '@offhook/contract/config-fields.ts';
import { NetworkConfig, SettingsConfig } from '@offhook/contract/config-network.ts';
import { QueueConfig, RingGroupConfig } from '@offhook/contract/config-queues.ts';
import {
  CallLimitConfig,
  InboundRouteConfig,
  OutboundRouteConfig,
  TrunkConfig,
} from '@offhook/contract/config-trunks.ts';
import type {
  AsteriskProgram,
  Instance,
  InstanceSettings,
} from '../../src/adapters/asterisk/conf/instance.ts';
import type {
  Site,
  SiteExtension,
  SiteInboundRoute,
  SiteOutboundRoute,
  SiteParking,
  SiteQueue,
  SiteTrunk,
} from '../../src/ports/site.ts';
import { renderSite } from '../../src/adapters/asterisk/conf/render.ts';

export const PASSWORD = 'a-secret-of-24-letters-0';
/** Folders and ports of the engine in text tests; nothing is started. */
export const INSTANCE: Instance = {
  folder: '/srv/offhook/engine',
  run_dir: '/run/offhook',
  node: 'ast1',
  ami_port: 5038,
  http_port: 8088,
  ami_events: { user: 'events', secret: PASSWORD },
  ami_actions: { user: 'actions', secret: PASSWORD },
};
export const PROGRAM: AsteriskProgram = {
  command: ['asterisk'],
  version: '22.10.1',
  modules_dir: '/opt/modules',
  data_dir: '/opt/data',
  origin: 'packages',
};
export const SETTINGS: InstanceSettings = {
  sip: { host: '127.0.0.1', port: 5060 },
  rtp: { from: 10_000, to: 10_199 },
  zone: 'Europe/Istanbul',
  tls_files: {
    certificate: '/srv/offhook/tls/certificate.pem',
    key: '/srv/offhook/tls/key.pem',
    trusted: '/srv/offhook/tls/trusted.pem',
  },
};
/** Valid names that break a renderer without escaping. */
export const NAMES = [
  "O'Neil (R&D) + Co/2",
  'Zoë Ünal',
  '山田 花子',
  'نور حداد',
  'می‌نا',
  'Nguyễn Thị Lan',
  'a',
  '花'.repeat(26),
];
/** Objects as given to the renderer, with the defaults of their schema. */
export const extension = (number: string, fields: Partial<SiteExtension> = {}): SiteExtension => ({
  extension: number,
  name: `Person ${number}`,
  email: null,
  endpoints: [
    { kind: 'sip', name: number },
    { kind: 'webrtc', name: `${number}-web` },
    { kind: 'mobile', name: `${number}-mobile` },
  ],
  sip_password: PASSWORD,
  voicemail_pin: '4711',
  voicemail: true,
  pickup_group: 'front',
  pickup_everywhere: false,
  blocks_callers: false,
  forward_outside: false,
  recording: 'never',
  caller_id: null,
  call_permission: [...ROUTE_CLASSES],
  srtp: 'off',
  media_address: null,
  language: null,
  ...fields,
});
export function queue(fields: Omit<z.input<typeof QueueConfig>, 'title'>): SiteQueue {
  const parsed = QueueConfig.parse({ title: 'A queue', ...fields });
  return {
    ...parsed,
    agents: parsed.members.map((m) => m.extension),
    static_members: parsed.members.filter((m) => m.static).map((m) => m.extension),
  };
}
type Titled<T extends z.ZodType> = Omit<z.input<T>, 'title'> & { readonly title?: string };
/** An object of the schema with any name. */
const titled =
  <T extends z.ZodType>(schema: T) =>
  (fields: Titled<T>): z.output<T> =>
    schema.parse({ title: 'Anything', ...fields });
export const ringGroup = titled(RingGroupConfig);
export const menu = titled(MenuConfig);
export const timeCondition = titled(TimeConditionConfig);
export const holidays = titled(HolidaysConfig);
export const conference = titled(ConferenceConfig);
export const callLimit = titled(CallLimitConfig);
export function trunk({
  login = null,
  servers = [],
  ...fields
}: Omit<z.input<typeof TrunkConfig>, 'title' | 'username' | 'password'> &
  Partial<Pick<SiteTrunk, 'login' | 'servers'>>): SiteTrunk {
  const {
    username: _,
    password: __,
    enabled: ___,
    ...parsed
  } = TrunkConfig.parse({ title: 'A trunk', ...fields });
  return { ...parsed, login, servers, endpoint: `trunk-${parsed.name}` };
}
export const inboundRoute = (fields: z.input<typeof InboundRouteConfig>): SiteInboundRoute =>
  InboundRouteConfig.parse(fields);
export const outboundRoute = (fields: z.input<typeof OutboundRouteConfig>): SiteOutboundRoute =>
  OutboundRouteConfig.parse(fields);
export const parkingLot = (fields: Partial<SiteParking> = {}): SiteParking => ({
  name: 'default',
  title: 'Parking',
  number: '700',
  first_slot: 701,
  last_slot: 703,
  timeout_seconds: 60,
  music_class: null,
  ...fields,
});

/** A company whose queues have short times, so that tests need not wait. */
export const company = (fields: Partial<Site> = {}): Site => ({
  extensions: Array.from({ length: 10 }, (_, i) => {
    const number = String(1001 + i);
    return extension(number, { ...(NAMES[i] ? { name: NAMES[i] } : {}), voicemail: number !== '1002' });
  }),
  queues: [
    queue({
      name: 'support',
      number: '500',
      // No test waits for its end, and a loaded machine takes long until an agent answers.
      ring_seconds: 20,
      max_wait_seconds: 60,
      members: [{ extension: '1003' }, { extension: '1004' }, { extension: '1006', static: true }],
    }),
    queue({
      name: 'sales',
      number: '510',
      strategy: 'rrmemory',
      wrap_up_seconds: 7,
      max_wait_seconds: 2,
      members: [{ extension: '1003' }],
    }),
  ],
  ring_groups: [],
  menus: [],
  time_conditions: [],
  holidays: [],
  conferences: [],
  mailboxes: [],
  music_classes: [],
  prompts: [],
  services: [
    { number: '600', kind: 'echo', title: 'Echo' },
    { number: '601', kind: 'music_on_hold', title: 'Music' },
    { number: '*97', kind: 'voicemail', title: 'Voicemail' },
  ],
  parking_lots: [parkingLot()],
  pause_reasons: [
    { id: 'break', name: 'Break', paid: true, longest_seconds: null, supervisor_only: false },
    { id: 'lunch', name: 'Lunch', paid: true, longest_seconds: null, supervisor_only: false },
  ],
  feature_codes: [],
  network: NetworkConfig.parse({}),
  found_address: null,
  settings: SettingsConfig.parse({}),
  trunks: [],
  inbound_routes: [],
  outbound_routes: [],
  call_limits: [],
  shared_phones: [],
  ...fields,
});
/** Rendered engine files of a company, by name. */
export const renderCompany = (site: Site, settings = SETTINGS): ReadonlyMap<string, string> =>
  renderSite(site, INSTANCE, PROGRAM, settings);
