/** The company of the desk's tests, with a trunk over which strangers call. */
import { prepareCompany } from '../../server/test/support/company.ts';
import { openFarSide } from '../../server/test/support/phone.ts';
import type { Phone } from '../../server/test/support/phone.ts';
import { freePort } from '../../server/test/support/ports.ts';
import type { Site } from '../../server/test/support/site.ts';

export const HOSTILE = '<b id=bold>Eve</b> <script>alert(1)</script>';
export const FAR = '+4915112345678';
const outside = { host: '127.0.0.2', port: await freePort() };
const person = (extension: string, name: string, level: 'admin' | 'agent' | 'user') => ({
  extension,
  username: `p${extension}`,
  name,
  level,
});
const queue = (name: string, number: string, title: string, wrap_up_seconds: number, members: object[]) => ({
  name,
  number,
  title,
  strategy: 'ringall' as const,
  ring_seconds: 5,
  wrap_up_seconds,
  max_wait_seconds: 600,
  members: members as { extension: string }[],
});
export const COMPANY = prepareCompany({
  people: [],
  objects: {
    extension: [
      person('1001', 'Ada Admin', 'admin'),
      person('1003', 'Zoë Müller', 'agent'),
      person('1004', 'José Ibáñez', 'agent'),
      person('1008', 'Olha', 'user'),
    ],
    queue: [
      queue('support', '500', 'Support', 30, [{ extension: '1003' }, { extension: '1004' }]),
      queue('sales', '510', 'Sales', 0, [{ extension: '1003' }]),
      queue('vip', '520', 'VIP', 0, [{ extension: '1004', static: true }]),
    ],
    trunk: [{ name: 'north', title: 'North', ...outside }],
    inbound_route: [
      { name: 'help', trunk: 'north', number: '+493055500', to: { kind: 'queue', key: 'support' } },
      { name: 'shop', trunk: 'north', number: '+493055510', to: { kind: 'queue', key: 'sales' } },
    ],
    pause_reason: [
      { id: 'break', name: 'Break', position: 0, longest_seconds: 900 },
      { id: 'errand', name: 'Errand', position: 1, paid: false, longest_seconds: 1 },
      { id: 'talk', name: 'Talk with the boss', position: 2, supervisor_only: true },
    ],
  },
});

/** Somebody outside, who calls itself what it likes. */
export const strangerOf = (site: Site): Promise<Phone> =>
  openFarSide({ server: site.sip, extension: FAR, name: HOSTILE, at: outside });
