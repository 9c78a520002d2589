/** Layout of the forms and lists of each kind: groups of fields, and columns. */
import type { ConfigKind } from '@offhook/contract/config-objects.ts';

export const GROUPS = [
  'basics',
  'person',
  'calls',
  'ringing',
  'members',
  'waiting',
  'announcements',
  'leaving',
  'wallboard',
  'times',
  'destinations',
  'access',
  'connection',
  'outside_nets',
  'directories',
  'turn',
  'media',
  'emergency',
  'sign_in',
  'shared_phones',
  'outside',
  'matching',
  'prompts',
  'limits',
  'keys',
] as const;
export type Group = (typeof GROUPS)[number];
interface Layout {
  readonly groups: readonly (readonly [Group, ...string[]])[];
  /** Columns besides the key. */
  readonly columns: readonly string[];
  /** Field with the title. */
  readonly title: string;
}
export const LAYOUTS: Readonly<Record<ConfigKind, Layout>> = {
  extension: {
    groups: [
      ['basics', 'extension', 'name', 'username', 'level', 'active', 'engine'],
      ['person', 'department', 'email', 'mobile'],
      [
        'calls',
        'devices',
        'voicemail',
        'voicemail_pin',
        'recording',
        'pickup_group',
        'srtp',
        'media_address',
        'language',
      ],
      ['outside', 'call_permission', 'caller_id', 'forward_outside', 'location'],
      ['access', 'sip_password'],
    ],
    columns: ['name', 'username', 'level', 'department', 'active'],
    title: 'name',
  },
  queue: {
    groups: [
      ['basics', 'name', 'title', 'number', 'recording', 'engine'],
      ['members', 'members'],
      ['ringing', 'strategy', 'ring_seconds', 'retry_seconds', 'wrap_up_seconds', 'weight', 'ring_in_use'],
      ['waiting', 'max_wait_seconds', 'max_callers', 'join_when_empty', 'leave_when_empty', 'music_class'],
      [
        'announcements',
        'announcement',
        'agent_announcement',
        'periodic_announcement',
        'announce_position',
        'announce_hold_time',
        'announce_every_seconds',
        'announce_to_first',
      ],
      ['leaving', 'otherwise', 'exit'],
      ['wallboard', 'service_level_seconds', 'thresholds'],
    ],
    columns: ['title', 'number', 'strategy', 'members', 'service_level_seconds'],
    title: 'title',
  },
  ring_group: {
    groups: [
      ['basics', 'name', 'title', 'number', 'recording'],
      ['members', 'members'],
      ['ringing', 'strategy', 'ring_seconds', 'otherwise'],
    ],
    columns: ['title', 'number', 'strategy', 'members', 'ring_seconds'],
    title: 'title',
  },
  menu: {
    groups: [
      ['basics', 'name', 'title', 'number'],
      ['announcements', 'greeting', 'timeout_seconds', 'attempts'],
      ['destinations', 'choices', 'dial_extensions', 'otherwise'],
    ],
    columns: ['title', 'number', 'choices', 'otherwise'],
    title: 'title',
  },
  time_condition: {
    groups: [
      ['basics', 'name', 'title', 'number', 'override'],
      ['times', 'hours', 'holidays', 'switched_by'],
      ['destinations', 'when_open', 'when_closed', 'on_holiday'],
    ],
    columns: ['title', 'number', 'override', 'when_open', 'when_closed'],
    title: 'title',
  },
  holidays: {
    groups: [
      ['basics', 'name', 'title'],
      ['times', 'days'],
    ],
    columns: ['title', 'days'],
    title: 'title',
  },
  conference: {
    groups: [
      ['basics', 'name', 'title', 'number', 'max_members'],
      ['access', 'pin', 'leader_pin', 'wait_for_leader'],
      ['announcements', 'announce', 'music_class'],
    ],
    columns: ['title', 'number', 'max_members', 'wait_for_leader'],
    title: 'title',
  },
  mailbox: { groups: [['basics', 'number', 'title', 'pin']], columns: ['title'], title: 'title' },
  parking_lot: {
    groups: [
      ['basics', 'name', 'title', 'number', 'first_slot', 'last_slot'],
      ['waiting', 'timeout_seconds', 'music_class'],
    ],
    columns: ['title', 'number', 'first_slot', 'last_slot', 'timeout_seconds'],
    title: 'title',
  },
  music_class: {
    groups: [
      ['basics', 'name', 'title'],
      ['prompts', 'prompts', 'order'],
    ],
    columns: ['title', 'prompts', 'order'],
    title: 'title',
  },
  prompt: { groups: [['basics', 'name', 'title', 'sound']], columns: ['title'], title: 'title' },
  trunk: {
    groups: [
      ['basics', 'name', 'title', 'enabled'],
      [
        'connection',
        'host',
        'srv',
        'port',
        'transport',
        'srtp',
        'media_address',
        'codecs',
        'max_calls',
        'language',
      ],
      ['sign_in', 'username', 'password', 'register'],
      ['outside', 'outbound_number', 'show_extensions'],
    ],
    columns: ['title', 'host', 'transport', 'register', 'enabled'],
    title: 'title',
  },
  inbound_route: {
    groups: [
      ['basics', 'name', 'title'],
      ['matching', 'number', 'prefix', 'trunk', 'caller'],
      ['destinations', 'language', 'owner_seconds', 'to'],
    ],
    columns: ['title', 'number', 'trunk', 'caller', 'to'],
    title: 'title',
  },
  outbound_route: {
    groups: [
      ['basics', 'name', 'title', 'position', 'class'],
      ['matching', 'patterns'],
      ['destinations', 'trunks'],
    ],
    columns: ['title', 'position', 'patterns', 'class', 'trunks'],
    title: 'title',
  },
  call_limit: {
    groups: [
      ['basics', 'name', 'title'],
      ['matching', 'classes', 'extensions', 'shared'],
      [
        'limits',
        'max_calls',
        'calls_per_hour',
        'calls_per_day',
        'minutes_per_hour',
        'minutes_per_day',
        'max_minutes',
        'countries',
        'hours',
      ],
    ],
    columns: ['title', 'classes', 'max_calls', 'calls_per_hour', 'minutes_per_day'],
    title: 'title',
  },
  feature_code: { groups: [['basics', 'id', 'code', 'enabled']], columns: ['code', 'enabled'], title: 'id' },
  pause_reason: {
    groups: [['basics', 'id', 'name', 'position', 'paid', 'longest_seconds', 'supervisor_only']],
    columns: ['name', 'position', 'paid', 'longest_seconds', 'supervisor_only'],
    title: 'name',
  },
  service: { groups: [['basics', 'number', 'title', 'kind']], columns: ['title', 'kind'], title: 'title' },
  phone: {
    groups: [
      ['basics', 'name', 'title', 'shared', 'extensions', 'layout', 'location'],
      ['connection', 'vendor', 'mac', 'language', 'transport', 'token', 'sip_password'],
    ],
    columns: ['title', 'vendor', 'mac', 'extensions', 'layout'],
    title: 'title',
  },
  phone_layout: {
    groups: [
      ['basics', 'name', 'title'],
      ['keys', 'keys'],
    ],
    columns: ['title', 'keys'],
    title: 'title',
  },
  engine: {
    groups: [
      ['basics', 'node', 'title'],
      ['connection', 'host', 'port'],
    ],
    columns: ['title', 'host', 'port'],
    title: 'title',
  },
  settings: {
    groups: [
      ['announcements', 'language', 'customer_languages', 'recording_announcement'],
      ['shared_phones', 'sign_out_hours'],
    ],
    columns: ['recording_announcement'],
    title: 'name',
  },
  network: {
    groups: [
      [
        'outside_nets',
        'external_address_source',
        'external_address',
        'stun_server',
        'stun_port',
        'external_interface',
        'external_media_address',
        'local_nets',
        'tls_port',
      ],
      ['media', 'rtp_ports', 'ice_hosts'],
      ['turn', 'turn_port', 'turn_tls_port', 'turn_relay_ports', 'turn_nets'],
      ['directories', 'ldap_port'],
      ['emergency', 'locations', 'emergency_contacts'],
    ],
    columns: ['external_address', 'local_nets', 'rtp_ports'],
    title: 'name',
  },
};
/** Groups of kinds on the overview. */
export const AREAS = [
  ['area_people', ['extension', 'mailbox', 'pause_reason']],
  ['area_groups', ['queue', 'ring_group', 'conference', 'parking_lot']],
  [
    'area_ways',
    [
      'inbound_route',
      'outbound_route',
      'call_limit',
      'trunk',
      'menu',
      'time_condition',
      'holidays',
      'network',
      'engine',
    ],
  ],
  ['area_sounds', ['prompt', 'music_class', 'settings']],
  ['area_phones', ['phone', 'phone_layout']],
  ['area_codes', ['feature_code', 'service']],
] as const satisfies readonly (readonly [string, readonly ConfigKind[]])[];
