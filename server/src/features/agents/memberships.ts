import { includesLevel } from '@offhook/contract/ids.ts';
import type { Memberships } from '../../ports/memberships.ts';
import type { Actor } from '../../ports/operations.ts';
import type { AgentService, By } from './service.ts';

/** What others may do to memberships: the same changes, in the same lanes and with the same trail as an agent's own. */
export function createMemberships(service: Pick<AgentService, 'change'>): Memberships {
  const byOf = ({ caller, ip }: Actor, extension: string): By => ({
    username: caller.username,
    ip,
    source: caller.extension === extension && caller.key === null ? 'agent' : 'supervisor',
    supervises: caller.key !== null || includesLevel(caller.level, 'supervisor'),
  });
  return {
    async join(by, extension, queue) {
      await service.change(byOf(by, extension), extension, () => ({ kind: 'login', queue }));
    },
    async leave(by, extension, queue) {
      await service.change(byOf(by, extension), extension, () => ({ kind: 'logout', queue, waits: false }));
    },
  };
}
