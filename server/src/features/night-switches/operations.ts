import { nightSwitches as operations } from '@offhook/contract/operations/night-switches.ts';
import type { Served } from '../../ports/operations.ts';
import type { NightSwitches } from './service.ts';

export const nightSwitchOperations = (switches: NightSwitches): Served<typeof operations> => ({
  operations,
  handlers: {
    list: () => ({ stale: switches.stale, night_switches: switches.list() }),
    set: async (actor, { params, body }) => ({
      night_switch: await switches.set(actor, params.name, body.to),
    }),
  },
});
