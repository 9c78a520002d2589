import { queues as operations } from '@offhook/contract/operations/queues.ts';
import type { Served } from '../../ports/operations.ts';
import type { Queues } from './service.ts';

/** Operations to read queues; a supervisor also changes callers and members. */
export function queueOperations(queues: Queues): Served<typeof operations> {
  const success = true as const;
  return {
    operations,
    handlers: {
      list: ({ caller }) => queues.list(caller),
      get: ({ caller }, { params }) => queues.one(caller, params.name),
      moveCaller: async (actor, { params, body }) => ({
        success,
        ...(await queues.move(actor, params.name, params.id, body)),
      }),
      withdrawCaller: async (actor, { params }) => ({
        success,
        ...(await queues.withdraw(actor, params.name, params.id)),
      }),
      setPriority: async (actor, { params, body }) => ({
        success,
        ...(await queues.prioritise(actor, params.name, params.id, body.priority)),
      }),
      addMember: async (actor, { params, body }) => ({
        success,
        queue: params.name,
        members: await queues.addMember(actor, params.name, body.extension),
      }),
      removeMember: async (actor, { params }) => ({
        success,
        queue: params.name,
        members: await queues.removeMember(actor, params.name, params.extension),
      }),
    },
  };
}
