/** Composes the connectors: their service, gauges, personal data and health findings. */
import type { ConnectorPush } from '@offhook/contract/connectors.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { random } from '../../core/chance.ts';
import type { Log } from '../../core/log.ts';
import type { Guard } from '../../outbound/address-guard.ts';
import { createResolve, Transport } from '../../outbound/transport.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ConversationFeed } from '../../ports/conversations.ts';
import type { CustomerSources } from '../../ports/customers.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Gauges } from '../../ports/metrics.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { RecordingAudio } from '../../ports/recordings.ts';
import type { Store } from '../../ports/store.ts';
import { createConnectorFolders } from './files.ts';
import { createPeople } from './people.ts';
import { connectorData } from './personal-data.ts';
import type { ConnectorVerbs } from './inbox.ts';
import { ConnectorService } from './service.ts';
import { createConnectorStore } from './store.ts';

export interface ConnectorsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly audit: Required<Audit>;
  readonly log: Log;
  readonly directory: Pick<Directory, 'byExtension'>;
  readonly feed: ConversationFeed;
  /** Audio of stored recordings. */
  readonly audio: RecordingAudio;
  /** Receives the customers of the systems. */
  readonly customers: CustomerSources;
  readonly verbs: ConnectorVerbs;
  /** Checks addresses before requests. Shared with the webhooks, whose settings can permit private addresses. */
  readonly guard: Guard;
  /** Folders of connector files. */
  readonly folders: { readonly release: string; readonly own: string };
  /** Address of the console, or empty. */
  readonly publicUrl: string;
  /** Country of the site, or empty (config.ts). */
  readonly country: string;
  /** Time zone of the site, for systems that do not name their own; without it, that of the machine. */
  readonly siteZone?: string;
  readonly chance?: () => number;
}
export interface Connectors {
  readonly service: ConnectorService;
  readonly data: PersonalData;
  /** Opens the connectors and begins to deliver; call once the feed can be read. */
  begin(): Promise<void>;
  onDomainEvent(event: DomainEvent): void;
  gauges(to: Gauges): void;
  /** Connectors that cannot deliver now, or whose due entries all fail, in words. */
  troubles(): readonly string[];
  close(): Promise<void>;
}

/** Runs the migrations. */
export async function createConnectors(options: ConnectorsOptions): Promise<Connectors> {
  const { audit, clock, country, directory, feed, guard, publicUrl } = options;
  const log = options.log.child({ part: 'connectors' });
  const store = await createConnectorStore(options.store);
  const transport = new Transport({ guard, clock, resolve: createResolve() });
  const service = new ConnectorService({
    store,
    feed,
    audio: options.audio,
    customers: options.customers,
    verbs: options.verbs,
    clock,
    log,
    chance: options.chance ?? (() => random('connector retry')),
    people: createPeople(directory, clock),
    publicUrl: publicUrl.replace(/\/$/, ''),
    transport,
    folders: createConnectorFolders(options.folders),
    audit,
    guard,
    country,
    siteZone: options.siteZone,
  });
  const stopped = () =>
    service.running.filter(({ session, keeper }) => session === null || keeper?.away != null);
  const total = (of: (state: ConnectorPush) => number): number =>
    service.running.reduce((sum, { pusher }) => sum + (pusher === null ? 0 : of(pusher.state)), 0);
  return {
    service,
    data: connectorData(store, () => service.forgetAnswers()),
    begin: () => service.begin(),
    onDomainEvent(event) {
      if (event.type.startsWith('conversation.')) service.wake();
      else service.follow(event);
    },
    gauges(to) {
      to.gauge('offhook_connectors', 'Connectors of the site.', () => service.running.length);
      to.gauge(
        'offhook_connectors_away',
        'Connectors that cannot deliver now.',
        () => stopped().filter(({ keeper }) => keeper?.away?.answers !== true).length,
      );
      to.gauge('offhook_connectors_push_waiting', 'Live messages to connected systems that wait.', () =>
        total(({ waiting }) => waiting),
      );
      to.gauge(
        'offhook_connectors_push_dropped',
        'Live messages to connected systems that were dropped since their connector was opened.',
        () => total(({ dropped }) => dropped),
      );
    },
    troubles: () => [
      ...stopped().map(
        ({ row, words, keeper }) => `${row.title}: ${words ?? keeper?.away?.words ?? 'it waits'}`,
      ),
      ...service.running.flatMap(({ row, keeper, pusher, syncer }) => {
        const sync = syncer?.state.words ?? syncer?.state.whole_words ?? null;
        return [keeper?.trouble ?? null, pusher?.trouble ?? null, sync].flatMap((words) =>
          words === null ? [] : [`${row.title}: ${words}`],
        );
      }),
    ],
    async close() {
      await service.close();
      transport.close();
    },
  };
}
