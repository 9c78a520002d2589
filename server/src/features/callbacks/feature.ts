/** Callbacks: numbers outside that a person or a queue did not answer, until a contact with them. */
import type { DomainEvent } from '@offhook/contract/events.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { callbacks as operations } from '@offhook/contract/operations/callbacks.ts';
import type { ConversationFeed } from '../../ports/conversations.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Served } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import { Follower } from './follower.ts';
import { personalDataOf } from './personal-data.ts';
import { Callbacks } from './service.ts';
import type { ServiceDeps } from './service.ts';
import { CallbackStore } from './store.ts';

export interface CallbackOptions extends Omit<ServiceDeps, 'store' | 'directory'>, Common<'log' | 'store'> {
  readonly feed: ConversationFeed;
  readonly directory: Pick<Directory, 'byExtension' | 'queue' | 'queuesOf'>;
}
export interface CallbackFeature {
  readonly data: PersonalData;
  readonly operations: Served<typeof operations>;
  /** Begins to read; call once the feed can be read. */
  begin(): void;
  onDomainEvent(event: DomainEvent): void;
  close(): Promise<void>;
}

/** Runs the migrations. */
export async function createCallbacks(options: CallbackOptions): Promise<CallbackFeature> {
  const { directory, feed, clock } = options;
  const log = options.log.child({ part: 'callbacks' });
  const store = await CallbackStore.open(options.store);
  const service = new Callbacks({ ...options, store });
  const changed = service.changed.bind(service);
  let follower: Follower | undefined;
  return {
    data: personalDataOf(store, changed),
    operations: {
      operations,
      handlers: {
        list: ({ caller }, { query }) => service.page(caller, query),
        take: async (actor, { params }) => ({ callback: await service.take(actor, Number(params.id)) }),
        release: async (actor, { params }) => ({ callback: await service.release(actor, Number(params.id)) }),
        close: async (actor, { params, body }) => ({
          callback: await service.close(actor, Number(params.id), body),
        }),
      },
    },
    begin() {
      follower ??= new Follower({
        store,
        feed,
        clock,
        log,
        changed,
        queuesOf: (extension) =>
          includesLevel(directory.byExtension(extension)?.level ?? 'user', 'supervisor')
            ? null
            : directory.queuesOf(extension).map(({ name }) => name),
      });
    },
    onDomainEvent({ type }) {
      if (type.startsWith('conversation.')) follower?.wake();
    },
    close: async () => follower?.close(),
  };
}
