import { queues as operations } from '@offhook/contract/operations/queues.ts';
import type { Served } from '../../ports/operations.ts';
import type { Queues } from './service.ts';

/** Operations to read queues; a supervisor also changes callers and members. */
export function queueOperations(queues: Queues): Served<typeof operations> {
  return {
    operations,
    handlers: {
      list: ({ caller }) => queues.list(caller),
      get: ({ caller }, { params }) => queues.one(caller, params.name),
      moveCaller: (actor, { params, body }) => queues.move(actor, params.name, params.id, body),
      withdrawCaller: (actor, { params }) => queues.withdraw(actor, params.name, params.id),
      setPriority: (actor, { params, body }) =>
        queues.prioritise(actor, params.name, params.id, body.priority),
      addMember: async (actor, { params, body }) => ({
        queue: params.name,
        members: await queues.addMember(actor, params.name, body.extension),
      }),
      removeMember: async (actor, { params }) => ({
        queue: params.name,
        members: await queues.removeMember(actor, params.name, params.extension),
      }),
    },
  };
}
