/** Everything the outside can reach: the registered paths and the commands of the stream. Any other path is 404. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Config } from './config.ts';
import type { Stream } from './delivery/stream.ts';
import { webhookOperations } from './delivery/webhooks/operations.ts';
import { webhookRoutes } from './delivery/webhooks/routes.ts';
import type { Webhooks } from './delivery/webhooks/service.ts';
import type { Agents } from './features/agents/feature.ts';
import { agentRoutes } from './features/agents/routes.ts';
import { apiKeyOperations } from './features/api-keys/operations.ts';
import { apiKeyRoutes } from './features/api-keys/routes.ts';
import type { ApiKeys } from './features/api-keys/service.ts';
import { auditRoutes } from './features/audit/routes.ts';
import type { AuditTrail } from './features/audit/service.ts';
import { boardOperations } from './features/boards/operations.ts';
import { boardRoutes } from './features/boards/routes.ts';
import type { Boards } from './features/boards/service.ts';
import { callControlRoutes } from './features/calls/control-routes.ts';
import type { CallControlFeature } from './features/calls/feature.ts';
import type { LiveCalls } from './features/calls/live.ts';
import { parkingRoutes } from './features/calls/parking.ts';
import type { LiveParking } from './features/calls/parking.ts';
import { callOperations } from './features/calls/operations.ts';
import { callRoutes } from './features/calls/routes.ts';
import { consoleSettingsOperations, consoleSettingsRoutes } from './features/console-settings/routes.ts';
import type { SiteConsole } from './features/console-settings/service.ts';
import { consoleRoutes } from './features/console/routes.ts';
import { createContacts } from './features/contacts/feature.ts';
import { contactRoutes } from './features/contacts/routes.ts';
import { exportOperations } from './features/exports/operations.ts';
import { exportRoutes } from './features/exports/routes.ts';
import type { Exports } from './features/exports/service.ts';
import { FEATURE_CODES } from './features/feature-codes/feature-codes.ts';
import { frontDoorRoutes } from './features/front-door/routes.ts';
import { conversationOperations } from './features/history/conversations/operations.ts';
import { conversationRoutes } from './features/history/conversations/routes.ts';
import type { History } from './features/history/feature.ts';
import { historyRoutes } from './features/history/routes.ts';
import { applyOperations } from './features/pbx-config/apply/operations.ts';
import { applyRoutes } from './features/pbx-config/apply/routes.ts';
import type { ConfigApplies } from './features/pbx-config/apply/service.ts';
import type { Credentials } from './features/pbx-config/credentials.ts';
import type { StoredDirectory } from './features/pbx-config/directory.ts';
import type { Draft } from './features/pbx-config/draft.ts';
import type { ObjectStore } from './features/pbx-config/objects.ts';
import { configOperations } from './features/pbx-config/operations.ts';
import { routeTestRoutes } from './features/pbx-config/route-test-routes.ts';
import { configRoutes } from './features/pbx-config/routes.ts';
import { presenceOperations, presenceRoutes } from './features/presence/routes.ts';
import type { PresenceService } from './features/presence/service.ts';
import { privacyOperations } from './features/privacy/operations.ts';
import { privacyRoutes } from './features/privacy/routes.ts';
import type { Privacy } from './features/privacy/service.ts';
import { queueOperations } from './features/queues/operations.ts';
import { queueRoutes } from './features/queues/routes.ts';
import type { Queues } from './features/queues/service.ts';
import type { Recordings } from './features/recordings/feature.ts';
import { recordingOperations } from './features/recordings/operations.ts';
import { recordingRoutes } from './features/recordings/routes.ts';
import { selfServiceOperations, selfServiceRoutes } from './features/self-service/routes.ts';
import type { SelfService } from './features/self-service/service.ts';
import { peopleOperations, peopleRoutes } from './features/sessions/people-routes.ts';
import { sessionRoutes } from './features/sessions/routes.ts';
import type { Sessions } from './features/sessions/service.ts';
import { soundOperations } from './features/sounds/operations.ts';
import { soundRoutes } from './features/sounds/routes.ts';
import type { Sounds } from './features/sounds/service.ts';
import { trunkRoutes } from './features/trunks/routes.ts';
import { wallboardOperations } from './features/wallboard/operations.ts';
import { wallboardRoutes } from './features/wallboard/routes.ts';
import type { Wallboard } from './features/wallboard/service.ts';
import { healthRoutes } from './http/health.ts';
import type { HealthOptions } from './http/health.ts';
import { addOperations, operation } from './http/operations.ts';
import { sipRelayRoutes } from './http/sip-relay.ts';
import type { Log } from './core/log.ts';
import type { Clock } from './ports/clock.ts';
import type { App } from './ports/http.ts';
import type { LiveView } from './ports/live.ts';

/** Where `npm run build` puts the console. */
const CONSOLE = path.resolve(import.meta.dirname, '../../console/dist');

/** The parts of the service that have routes or commands, and what some of them read. */
export interface Parts {
  readonly config: Config;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly live: LiveView;
  readonly health: HealthOptions;
  readonly directory: StoredDirectory;
  readonly objects: ObjectStore;
  readonly stream: Stream;
  /** Where the engine's own web server listens; null while it is away. */
  readonly enginePort: () => number | null;
  readonly agents: Agents;
  readonly apiKeys: ApiKeys;
  readonly applies: ConfigApplies;
  readonly audit: AuditTrail;
  readonly boards: Boards;
  readonly calls: CallControlFeature;
  readonly credentials: Credentials;
  readonly draft: Draft;
  readonly exports: Exports;
  readonly history: History;
  readonly liveCalls: LiveCalls;
  readonly parking: LiveParking;
  readonly presence: PresenceService;
  readonly privacy: Privacy;
  readonly queues: Queues;
  readonly recordings: Recordings;
  readonly selfService: SelfService;
  readonly sessions: Sessions;
  readonly siteConsole: SiteConsole;
  readonly sounds: Sounds;
  readonly wallboard: Wallboard;
  readonly webhooks: Webhooks;
}
export function addRoutes(app: App, parts: Parts): void {
  const { config, version, clock, log, live, health, directory } = parts;
  frontDoorRoutes(app, { config, version, clock });
  if (existsSync(path.join(CONSOLE, 'console.json'))) consoleRoutes(app, { folder: CONSOLE });
  else log.warn({ folder: CONSOLE }, 'the console is not built: npm run build');
  healthRoutes(app, health);
  sessionRoutes(app, { sessions: parts.sessions, directory, config });
  consoleSettingsRoutes(app, parts.siteConsole);
  peopleRoutes(app, parts.sessions.others);
  contactRoutes(app, createContacts({ directory, live, clock }));
  historyRoutes(app, parts.history);
  conversationRoutes(app, parts.history.conversations);
  agentRoutes(app, parts.agents);
  selfServiceRoutes(app, parts.selfService);
  presenceRoutes(app, parts.presence);
  callRoutes(app, parts.liveCalls);
  parkingRoutes(app, parts.parking);
  queueRoutes(app, parts.queues);
  exportRoutes(app, parts.exports);
  privacyRoutes(app, parts.privacy);
  auditRoutes(app, parts.audit);
  callControlRoutes(app, parts.calls);
  trunkRoutes(app, { trunks: () => directory.config().trunks, live });
  recordingRoutes(app, parts.recordings);
  soundRoutes(app, parts.sounds);
  apiKeyRoutes(app, parts.apiKeys);
  boardRoutes(app, parts.boards);
  webhookRoutes(app, parts.webhooks);
  const commands = addOperations(app, [
    ...consoleSettingsOperations(operation, parts.siteConsole),
    ...peopleOperations(operation, parts.sessions.others),
    ...apiKeyOperations(operation, parts.apiKeys),
    ...boardOperations(operation, parts.boards),
    ...webhookOperations(operation, parts.webhooks),
    ...callOperations(operation, parts.calls),
    ...recordingOperations(operation, parts.recordings),
    ...soundOperations(operation, parts.sounds),
    ...wallboardOperations(operation, parts.wallboard),
    ...applyOperations(operation, parts.applies),
    ...queueOperations(operation, parts.queues),
    ...exportOperations(operation, parts.exports),
    ...privacyOperations(operation, parts.privacy),
    ...parts.agents.operations(operation),
    ...selfServiceOperations(operation, parts.selfService),
    ...presenceOperations(operation, parts.presence),
    ...conversationOperations(operation, parts.history),
    ...configOperations(operation, parts),
  ]);
  parts.stream.routes(app, commands);
  configRoutes(app, parts.draft);
  applyRoutes(app, parts.applies);
  routeTestRoutes(app, { objects: parts.objects, codes: FEATURE_CODES, live, clock, zone: config.siteZone });
  wallboardRoutes(app, parts.wallboard);
  sipRelayRoutes(app, {
    port: parts.enginePort,
    credentials: parts.sessions.sip,
    log,
    metrics: health.metrics,
  });
}
