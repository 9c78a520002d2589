/** All features of the service, one row each: operations, event handlers and shutdown. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { webhookOperations } from '../features/webhooks/operations.ts';
import { apiKeyOperations } from '../features/api-keys/operations.ts';
import { auditOperations } from '../features/audit/operations.ts';
import { boardOperations } from '../features/boards/operations.ts';
import { callControlOperations, callOperations, parkingOperations } from '../features/calls/operations.ts';
import { consoleSettingsOperations } from '../features/console-settings/operations.ts';
import { consoleRoutes } from '../features/console/routes.ts';
import { createContacts } from '../features/contacts/feature.ts';
import { contactOperations } from '../features/contacts/operations.ts';
import { exportOperations } from '../features/exports/operations.ts';
import { FEATURE_CODES } from '../features/feature-codes/feature-codes.ts';
import { frontDoorOperations, frontDoorRoutes } from '../features/front-door/routes.ts';
import {
  conversationOperations,
  historyOperations,
  qualityOperations,
} from '../features/history/operations.ts';
import { applyOperations } from '../features/pbx-config/apply/operations.ts';
import { allKindOperations } from '../features/pbx-config/kind-operations.ts';
import { configOperations } from '../features/pbx-config/operations.ts';
import { routeTestOperations } from '../features/pbx-config/route-test-operations.ts';
import { phonebookOperations } from '../features/phonebook/operations.ts';
import { presenceOperations } from '../features/presence/operations.ts';
import { privacyOperations } from '../features/privacy/operations.ts';
import { queueOperations } from '../features/queues/operations.ts';
import { recordingOperations } from '../features/recordings/operations.ts';
import { selfServiceOperations } from '../features/self-service/operations.ts';
import { sessionOperations } from '../features/sessions/operations.ts';
import { peopleOperations } from '../features/sessions/people-operations.ts';
import { soundOperations } from '../features/sounds/operations.ts';
import { trunkOperations } from '../features/trunks/operations.ts';
import { wallboardOperations } from '../features/wallboard/operations.ts';
import type { Feature } from '../ports/feature.ts';
import { VERSION } from './config.ts';
import type { Features } from './features.ts';

/** Where `npm run build` writes the console. */
const CONSOLE = path.resolve(import.meta.dirname, '../../../console/dist');

/** Features receive events in this order, and are closed in it. */
export function manifestOf(parts: Features): readonly Feature[] {
  const { agents, apiKeys, applies, audit, boards, calls, clock, config, directory, draft, exports } = parts;
  const {
    history,
    live,
    liveCalls,
    log,
    objects,
    parking,
    phonebook,
    presence,
    privacy,
    queues,
    recordings,
  } = parts;
  const { selfService, sessions, siteConsole, sounds, storeGaps, wallboard, webhooks } = parts;
  return [
    {
      name: 'front-door',
      routes: (app) => frontDoorRoutes(app, { config }),
      operations: () => [frontDoorOperations({ config, version: VERSION, clock })],
    },
    {
      name: 'console',
      routes(app) {
        if (existsSync(path.join(CONSOLE, 'console.json'))) consoleRoutes(app, { folder: CONSOLE });
        else log.warn({ folder: CONSOLE }, 'the console is not built: npm run build');
      },
    },
    {
      name: 'sessions',
      operations() {
        const { signIn, session } = sessionOperations({ sessions, directory, config });
        return [signIn, session, peopleOperations(sessions.others)];
      },
    },
    { name: 'console-settings', operations: () => [consoleSettingsOperations(siteConsole)] },
    {
      name: 'contacts',
      operations: () => [contactOperations(createContacts({ directory, live, clock }))],
    },
    { name: 'phonebook', operations: () => [phonebookOperations(phonebook)] },
    {
      name: 'presence',
      operations: () => [selfServiceOperations(selfService), presenceOperations(presence)],
      // Presence reads do not disturb from self-service, so it updates after it and is closed before it.
      onStepped() {
        selfService.onStepped();
        presence.onStepped();
      },
      async close() {
        try {
          await presence.close();
        } finally {
          await selfService.close();
        }
      },
    },
    {
      name: 'config',
      operations: () => [
        configOperations(parts),
        ...allKindOperations(draft),
        applyOperations(applies),
        routeTestOperations({ objects, codes: FEATURE_CODES, live, clock, zone: config.siteZone }),
      ],
      close: () => applies.close(),
    },
    {
      name: 'agents',
      operations: () => [agents.operations],
      onEvent: (event) => agents.onDomainEvent(event),
      close: () => agents.close(),
    },
    {
      name: 'history',
      operations: () => [
        historyOperations(history),
        conversationOperations(history),
        qualityOperations(history.quality),
      ],
      onEvent: (event) => history.onDomainEvent(event),
      close: () => history.close(),
    },
    {
      name: 'calls',
      operations: () => [callOperations(liveCalls), parkingOperations(parking), callControlOperations(calls)],
      onEvent: (event) => calls.onDomainEvent(event),
      close: () => calls.close(),
    },
    {
      name: 'recordings',
      operations: (app) => [recordingOperations(recordings, app)],
      onEvent: (event) => recordings.onDomainEvent(event),
      gauges: (to) => recordings.gauges(to),
      close: () => recordings.close(),
    },
    { name: 'store', onEvent: (event) => storeGaps.onDomainEvent(event) },
    { name: 'queues', operations: () => [queueOperations(queues)] },
    { name: 'wallboard', operations: () => [wallboardOperations(wallboard)] },
    { name: 'exports', operations: (app) => [exportOperations(exports, app)] },
    { name: 'privacy', operations: () => [privacyOperations(privacy)] },
    { name: 'audit', operations: () => [auditOperations(audit)] },
    {
      name: 'trunks',
      operations: () => [trunkOperations({ trunks: () => directory.config().trunks, live })],
    },
    { name: 'sounds', operations: (app) => [soundOperations(sounds, app)] },
    { name: 'api-keys', operations: () => [apiKeyOperations(apiKeys)] },
    { name: 'boards', operations: () => [boardOperations(boards)] },
    {
      name: 'webhooks',
      operations: () => [webhookOperations(webhooks.service)],
      gauges: (to) => webhooks.gauges(to),
    },
  ];
}
