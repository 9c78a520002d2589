import { trunks as operations } from '@offhook/contract/operations/trunks.ts';
import type { Served } from '../../ports/operations.ts';
import { trunksSnapshot } from './service.ts';
import type { TrunkDeps } from './service.ts';

/** State of the trunks, from memory. */
export const trunkOperations = (deps: TrunkDeps): Served<typeof operations> => ({
  operations,
  handlers: { list: () => trunksSnapshot(deps) },
});
