import { includesLevel } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { LiveView } from '../../ports/live.ts';
import type { Memberships } from '../../ports/memberships.ts';
import type { Actor } from '../../ports/operations.ts';
import type { ChangeCommand } from './plan.ts';
import type { By } from './command.ts';
import type { AgentService } from './service.ts';

/** Membership changes for other features, with the same lanes and audit trail as an agent's own changes. */
export function createMemberships(
  service: Pick<AgentService, 'change'>,
  live: Pick<LiveView, 'agent'>,
): Memberships {
  const byOf = ({ caller, ip }: Actor, extension: string): By => ({
    username: caller.username,
    ip,
    source: caller.extension === extension && caller.key === null ? 'agent' : 'supervisor',
    supervises: caller.key !== null || includesLevel(caller.level, 'supervisor'),
  });
  const change = async (by: Actor, extension: string, command: ChangeCommand): Promise<void> => {
    await service.change(byOf(by, extension), extension, () => {
      if (live.agent(extension) === undefined) {
        throw new ServiceError('not_found', say`${extension} is not an agent`);
      }
      return command;
    });
  };
  return {
    async join(by, extension, queue) {
      await change(by, extension, { kind: 'login', queue });
    },
    async leave(by, extension, queue) {
      await change(by, extension, { kind: 'logout', queue, waits: false });
    },
  };
}
