import type { Insertable } from 'kysely';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import type { PauseReason } from '../../ports/directory.ts';
import type { SiteParking, SiteService } from '../../ports/site.ts';
import type { QueueRow } from './tables.ts';

export interface DemoPerson {
  readonly extension: string;
  readonly username: string;
  readonly name: string;
  readonly level: PersonLevel;
  readonly department: string;
  readonly mobile: string | null;
}
const person = (
  extension: string,
  username: string,
  name: string,
  level: PersonLevel,
  department: string,
  mobile: string | null = null,
): DemoPerson => ({ extension, username, name, level, department, mobile });

/** Names of many scripts on purpose: what cannot carry them breaks on the first day and not at a customer's. */
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

export const DEMO_QUEUES: readonly (Omit<Insertable<QueueRow>, 'id'> & {
  readonly agents: readonly string[];
})[] = [
  {
    name: 'support',
    number: '500',
    title: 'Support',
    strategy: 'rrmemory',
    ring_seconds: 15,
    wrap_up_seconds: 5,
    max_wait_seconds: 600,
    agents: ['1003', '1004', '1005', '1006'],
  },
  {
    name: 'sales',
    number: '510',
    title: 'Sales',
    strategy: 'ringall',
    ring_seconds: 20,
    wrap_up_seconds: 5,
    max_wait_seconds: 600,
    agents: ['1003', '1004', '1005', '1006'],
  },
];
const reason = (id: string, name: string, fields: Partial<PauseReason> = {}): PauseReason => ({
  id,
  name,
  paid: true,
  longest_seconds: null,
  supervisor_only: false,
  ...fields,
});
export const DEMO_REASONS: readonly PauseReason[] = [
  reason('break', 'Break', { longest_seconds: 900 }),
  reason('lunch', 'Lunch', { paid: false, longest_seconds: 3600 }),
  reason('training', 'Training'),
  reason('back_office', 'Back office'),
];
export const SERVICES: readonly SiteService[] = [
  { number: '600', kind: 'echo', title: 'Echo test' },
  { number: '601', kind: 'music_on_hold', title: 'Music on hold' },
  { number: '*97', kind: 'voicemail', title: 'Voicemail' },
];
export const PARKING: SiteParking = { number: '700', first_slot: 701, last_slot: 720, timeout_seconds: 120 };
