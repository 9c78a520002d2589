import { nodes as operations } from '@offhook/contract/operations/nodes.ts';
import type { Served } from '../../ports/operations.ts';
import type { NodesService } from './service.ts';

export const nodeOperations = (nodes: NodesService): Served<typeof operations> => ({
  operations,
  handlers: {
    list: () => nodes.list(),
    switch: (actor, { params }) => nodes.switch(actor, params.name),
    drain: (actor, { params, body }) => nodes.drain(actor, params.name, body.minutes),
    undrain: (actor, { params }) => nodes.undrain(actor, params.name),
  },
});
