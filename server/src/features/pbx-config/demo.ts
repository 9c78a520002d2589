import { pickupGroup } from './pickup-group.ts';
import type { ConfigInput } from './put.ts';

type DemoPerson = ConfigInput<'extension'>;
const person = (
  extension: string,
  username: string,
  name: string,
  level: DemoPerson['level'],
  department: string,
  mobile: string | null = null,
): DemoPerson => ({
  extension,
  username,
  name,
  level,
  department,
  mobile,
  email: `${username}@example.com`,
  pickup_group: pickupGroup(department),
});

/** Names in many scripts on purpose, so that encoding faults show on the first day. */
export const DEMO_PEOPLE: readonly DemoPerson[] = [
  person('1001', 'defne', 'Defne Yıldırım', 'admin', 'IT', '+12025550101'),
  person('1002', 'soren', 'Søren Kjærgaard', 'supervisor', 'Customer Care', '+12025550102'),
  person('1003', 'zoe', 'Zoë Müller', 'agent', 'Customer Care'),
  person('1004', 'jose', 'José Ibáñez', 'agent', 'Customer Care'),
  person('1005', 'agnieszka', 'Agnieszka Łuczak', 'agent', 'Customer Care'),
  person('1006', 'lan', 'Nguyễn Thị Lan', 'agent', 'Customer Care'),
  person('1007', 'hanako', '山田 花子', 'user', 'Engineering', '+12025550107'),
  person('1008', 'olha', 'Ольга Петренко', 'user', 'Engineering'),
  person('1009', 'nour', 'نور حداد', 'user', 'Finance', '+12025550109'),
  person('1010', 'lea', 'Léa Fournier', 'user', 'Finance'),
  person('1011', 'kwame', 'Kwame Mensah', 'user', 'Sales', '+12025550111'),
  person('1012', 'priya', 'Priya Nair', 'user', 'Sales', '+12025550112'),
];
export const DEMO_ADMINISTRATOR: DemoPerson = person(
  '1001',
  'admin',
  'Administrator',
  'admin',
  'Administration',
);

const AGENTS = ['1003', '1004', '1005', '1006'].map((extension) => ({ extension }));
export const DEMO_QUEUES: readonly ConfigInput<'queue'>[] = [
  {
    name: 'support',
    number: '500',
    title: 'Support',
    strategy: 'rrmemory',
    ring_seconds: 15,
    wrap_up_seconds: 5,
    max_wait_seconds: 600,
    members: AGENTS,
  },
  {
    name: 'sales',
    number: '510',
    title: 'Sales',
    strategy: 'ringall',
    ring_seconds: 20,
    wrap_up_seconds: 5,
    max_wait_seconds: 600,
    members: AGENTS,
  },
];
export const DEMO_REASONS: readonly ConfigInput<'pause_reason'>[] = [
  { id: 'break', name: 'Break', position: 0, longest_seconds: 900 },
  { id: 'lunch', name: 'Lunch', position: 1, paid: false, longest_seconds: 3600 },
  { id: 'training', name: 'Training', position: 2 },
  { id: 'back_office', name: 'Back office', position: 3 },
];
export const SERVICES: readonly ConfigInput<'service'>[] = [
  { number: '600', kind: 'echo', title: 'Echo test' },
  { number: '601', kind: 'music_on_hold', title: 'Music on hold' },
  { number: '*97', kind: 'voicemail', title: 'Voicemail' },
];
export const PARKING: ConfigInput<'parking_lot'> = {
  name: 'default',
  title: 'Parking',
  number: '700',
  first_slot: 701,
  last_slot: 720,
};
