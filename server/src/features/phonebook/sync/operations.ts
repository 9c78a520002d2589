import { phonebookSources as operations } from '@offhook/contract/operations/phonebook-sources.ts';
import type { Served } from '../../../ports/operations.ts';
import type { PhonebookSourceService } from './service.ts';

/** Sources of the phonebook. */
export function phonebookSourceOperations(sources: PhonebookSourceService): Served<typeof operations> {
  return {
    operations,
    handlers: {
      list: async () => ({ sources: sources.list() }),
      create: async (actor, { body }) => ({ source: await sources.create(actor, body) }),
      change: async (actor, { params, body }) => ({
        source: await sources.change(actor, Number(params.id), body),
      }),
      async remove(actor, { params }) {
        await sources.remove(actor, Number(params.id));
      },
      sync: async (actor, { params }) => ({ source: await sources.sync(actor, Number(params.id)) }),
    },
  };
}
