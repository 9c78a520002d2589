import { blockedNetworks as operations } from '@offhook/contract/operations/blocked-networks.ts';
import type { Served } from '../../ports/operations.ts';
import type { NetworkBlocks } from './blocks.ts';

/** The blocked networks, and the end of a block. */
export const blockedNetworkOperations = (blocks: NetworkBlocks): Served<typeof operations> => ({
  operations,
  handlers: {
    list: () => blocks.list(),
    release: (actor, { params }) => blocks.release(actor, params.id),
  },
});
