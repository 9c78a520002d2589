import type { Site } from '../../../ports/site.ts';

export const PASSWORD = 'a-secret-of-24-letters-0';
/** Valid names that would hurt a careless writer. */
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
/** A company whose queues are short-tempered, so that tests need not wait. */
export const company = (fields: Partial<Site> = {}): Site => ({
  extensions: Array.from({ length: 10 }, (_, i) => {
    const extension = String(1001 + i);
    return {
      extension,
      name: NAMES[i] ?? `Person ${extension}`,
      email: null,
      endpoints: [
        { kind: 'sip', name: extension },
        { kind: 'webrtc', name: `${extension}-web` },
        { kind: 'mobile', name: `${extension}-mobile` },
      ],
      sip_password: PASSWORD,
      voicemail_pin: '4711',
      voicemail: extension !== '1002',
      pickup_group: 'front',
      forward_outside: false,
      recording: 'never',
    };
  }),
  queues: [
    {
      name: 'support',
      number: '500',
      title: 'Support',
      strategy: 'ringall',
      ring_seconds: 3,
      wrap_up_seconds: 0,
      max_wait_seconds: 60,
      max_callers: 0,
      join_when_empty: true,
      leave_when_empty: false,
      exit: null,
      recording: 'never',
      static_members: ['1006'],
      agents: ['1003', '1004', '1006'],
    },
    {
      name: 'sales',
      number: '510',
      title: 'Sales',
      strategy: 'rrmemory',
      ring_seconds: 15,
      wrap_up_seconds: 7,
      max_wait_seconds: 2,
      max_callers: 0,
      join_when_empty: true,
      leave_when_empty: false,
      exit: null,
      recording: 'never',
      static_members: [],
      agents: ['1003'],
    },
  ],
  services: [
    { number: '600', kind: 'echo', title: 'Echo' },
    { number: '601', kind: 'music_on_hold', title: 'Music' },
    { number: '*97', kind: 'voicemail', title: 'Voicemail' },
  ],
  parking: { number: '700', first_slot: 701, last_slot: 703, timeout_seconds: 60 },
  pause_reasons: [
    { id: 'break', name: 'Break', paid: true, longest_seconds: null, supervisor_only: false },
    { id: 'lunch', name: 'Lunch', paid: true, longest_seconds: null, supervisor_only: false },
  ],
  feature_codes: [],
  recording_announcement: null,
  trunks: [],
  inbound_routes: [],
  outbound_routes: [],
  ...fields,
});
