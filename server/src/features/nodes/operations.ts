import { nodes as operations } from '@offhook/contract/operations/nodes.ts';
import type { Served } from '../../ports/operations.ts';
import type { NodesService } from './service.ts';

export const nodeOperations = (nodes: NodesService): Served<typeof operations> => ({
  operations,
  handlers: {
    list: async () => ({ success: true, ...(await nodes.list()) }),
    async switch(actor, { params }) {
      await nodes.switch(actor, params.name);
      return { success: true };
    },
    async drain(actor, { params, body }) {
      await nodes.drain(actor, params.name, body.minutes);
      return { success: true };
    },
    async undrain(actor, { params }) {
      await nodes.undrain(actor, params.name);
      return { success: true };
    },
  },
});
