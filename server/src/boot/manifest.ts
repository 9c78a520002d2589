/** All features of the service, one row each: operations, event handlers and shutdown. */
import { webhookOperations } from '../features/webhooks/operations.ts';
import { apiKeyOperations } from '../features/api-keys/operations.ts';
import { auditOperations } from '../features/audit/operations.ts';
import { boardOperations } from '../features/boards/operations.ts';
import { callControlOperations, callOperations, parkingOperations } from '../features/calls/operations.ts';
import { callerRuleOperations } from '../features/caller-rules/operations.ts';
import { connectorOperations } from '../features/connectors/operations.ts';
import { consoleSettingsOperations } from '../features/console-settings/operations.ts';
import { addConsole } from './listen.ts';
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
import { mcpOperations } from '../features/mcp/operations.ts';
import { Mcp } from '../features/mcp/service.ts';
import { nightSwitchOperations } from '../features/night-switches/operations.ts';
import { nodeOperations } from '../features/nodes/operations.ts';
import { NodesService } from '../features/nodes/service.ts';
import { phonebookOperations } from '../features/phonebook/operations.ts';
import { pathCheckOperations } from '../features/path-check/operations.ts';
import { turnOf } from '../features/sessions/turn.ts';
import { phonebookSourceOperations } from '../features/phonebook/sync/operations.ts';
import { phoneOperations } from '../features/phones/operations.ts';
import { phoneRoutes } from '../features/phones/routes.ts';
import { presenceOperations } from '../features/presence/operations.ts';
import { privacyOperations } from '../features/privacy/operations.ts';
import { pushOperations } from '../features/push/operations.ts';
import { queueOperations } from '../features/queues/operations.ts';
import { recordingOperations } from '../features/recordings/operations.ts';
import { selfServiceOperations } from '../features/self-service/operations.ts';
import { companyOperations } from '../features/sessions/company/logout.ts';
import { OpenIdProvider } from '../features/sessions/company/provider.ts';
import { companyRoutes } from '../features/sessions/company/routes.ts';
import { sessionOperations } from '../features/sessions/operations.ts';
import { peopleOperations } from '../features/sessions/people-operations.ts';
import { blockedNetworkOperations } from '../features/sip-security/operations.ts';
import { soundOperations } from '../features/sounds/operations.ts';
import { trunkOperations } from '../features/trunks/operations.ts';
import { trunkGauges } from '../features/trunks/service.ts';
import { wallboardOperations } from '../features/wallboard/operations.ts';
import { GROUPS } from '@offhook/contract/operations/groups.ts';
import type { Feature } from '../ports/feature.ts';
import { VERSION } from './config.ts';
import type { Features } from './features.ts';
import { webOrigin } from './origins.ts';
import { siteSecret } from './site-key.ts';

/** Features receive events in this order, and are closed in it. */
// oxlint-disable-next-line max-lines-per-function -- a table: one row for each feature
export function manifestOf(parts: Features): readonly Feature[] {
  const {
    agents,
    apiKeys,
    applies,
    audit,
    blocks,
    boards,
    callbacks,
    callCustomers,
    callerRules,
    calls,
    clock,
    config,
  } = parts;
  const {
    connectors,
    directory,
    draft,
    engineCustomers,
    engineSite,
    exports,
    externalAddress,
    trunkServers,
  } = parts;
  const {
    history,
    ldap,
    live,
    liveCalls,
    log,
    nightSwitches,
    objects,
    parking,
    pathChecks,
    phones,
    phonebook,
    phonebookSources,
    presence,
    privacy,
    push,
    queues,
    recordings,
  } = parts;
  const {
    languageSets,
    selfService,
    sessions,
    sharedPhones,
    siteConsole,
    sounds,
    lostEvents,
    storeGaps,
    waking,
    wallboard,
    webhooks,
  } = parts;
  const signer = {
    network: () => directory.config().network,
    secret: siteSecret(parts.sipKey, 'turn'),
    now: () => clock.now(),
  };
  const provider = companyProvider(config, clock);
  return [
    {
      name: 'front-door',
      routes: (app) => frontDoorRoutes(app, { config }),
      operations: () => [
        frontDoorOperations({
          config,
          version: VERSION,
          clock,
          companySignIn: config.oidcIssuer === '' ? undefined : config.oidcTitle,
        }),
      ],
    },
    {
      name: 'console',
      routes: (app) => addConsole(app, log),
    },
    {
      name: 'sessions',
      routes(app) {
        if (provider === null) return;
        companyRoutes(app, {
          ...parts.common,
          sessions,
          provider,
          key: Buffer.from(siteSecret(parts.sipKey, 'company'), 'base64url'),
          sessionSeconds: config.sessionAbsoluteSeconds,
        });
      },
      operations() {
        const { signIn, session } = sessionOperations({
          sessions,
          directory,
          config,
          turn: signer,
          pushConfig: () => push.services.config(),
        });
        return [
          signIn,
          session,
          peopleOperations(sessions.others, sessions.codes),
          companyOperations({ clock, log, provider, logouts: sessions.companyLogouts }),
        ];
      },
    },
    {
      name: 'push',
      operations: () => [pushOperations(push)],
      onEvent(event) {
        if (event.type === 'engine.link_up') waking.again();
      },
      close: () => waking.close(),
    },
    {
      name: 'reachability',
      onEvent(event) {
        if (event.type !== 'engine.link_up') return;
        externalAddress.follow();
        trunkServers.follow();
      },
    },
    { name: 'console-settings', operations: () => [consoleSettingsOperations(siteConsole)] },
    {
      name: 'contacts',
      operations: () => [contactOperations(createContacts({ directory, live, clock }))],
    },
    {
      name: 'phonebook',
      operations: (app) => [
        phonebookOperations(phonebook, app, apiKeys),
        phonebookSourceOperations(phonebookSources),
      ],
      onEvent(event) {
        callCustomers.onEvent(event);
        engineCustomers.onEvent(event);
      },
      gauges: (to) => engineCustomers.gauges(to),
      async close() {
        await engineCustomers.close();
        await callCustomers.close();
        await phonebookSources.close();
        await phonebook.departed.close();
      },
    },
    {
      name: 'caller-rules',
      operations: () => [callerRuleOperations(callerRules)],
      onEvent(event) {
        if (event.type === 'engine.link_up') callerRules.again();
      },
    },
    {
      name: 'callbacks',
      operations: () => [callbacks.operations],
      onEvent: (event) => callbacks.onDomainEvent(event),
      close: () => callbacks.close(),
    },
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
        historyOperations(history, phonebook),
        conversationOperations({ ...history, customers: phonebook }),
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
    {
      name: 'store',
      onEvent(event) {
        storeGaps.onDomainEvent(event);
        lostEvents.onDomainEvent(event);
      },
    },
    { name: 'queues', operations: () => [queueOperations(queues)] },
    { name: 'wallboard', operations: () => [wallboardOperations(wallboard)] },
    { name: 'exports', operations: (app) => [exportOperations(exports, app)] },
    { name: 'privacy', operations: () => [privacyOperations(privacy)] },
    { name: 'audit', operations: () => [auditOperations(audit)] },
    {
      name: 'trunks',
      operations: () => [trunkOperations({ trunks: () => directory.config().trunks, live, clock })],
      gauges: (to) => trunkGauges(to, { trunks: () => directory.config().trunks, live }),
    },
    {
      name: 'nodes',
      operations: () => [nodeOperations(new NodesService({ nodes: parts.nodes, lease: parts.lease, audit }))],
    },
    {
      name: 'sip-security',
      operations: () => [blockedNetworkOperations(blocks)],
      onEvent(event) {
        if (event.type === 'engine.link_up') blocks.again();
        if (event.type === 'config.applied') blocks.applied();
      },
      close: () => blocks.close(),
    },
    {
      name: 'path-check',
      operations() {
        const secret = siteSecret(parts.sipKey, 'doctor');
        return [
          pathCheckOperations({
            checks: pathChecks,
            probe: engineSite.paths,
            secret,
            now: () => clock.now(),
            web: webOrigin(config),
            relay: (host, account) => turnOf(signer, host, account),
          }),
        ];
      },
      gauges: (to) => pathChecks.gauges(to),
      close: () => pathChecks.close(),
    },
    {
      name: 'phones',
      routes: (app) => phoneRoutes(app, { phones, plain: config.provisionHttp }),
      operations: () => [phoneOperations(phones)],
      onEvent: (event) => sharedPhones.onEvent(event),
      async close() {
        await sharedPhones.close();
        await phones.close();
      },
    },
    {
      name: 'night-switches',
      operations: () => [nightSwitchOperations(nightSwitches)],
      onEvent: (event) => nightSwitches.onEvent(event),
      close: () => nightSwitches.close(),
    },
    { name: 'ldap', close: () => ldap.close() },
    { name: 'sounds', operations: (app) => [soundOperations(sounds, languageSets, app)] },
    { name: 'api-keys', operations: () => [apiKeyOperations(apiKeys)] },
    { name: 'boards', operations: () => [boardOperations(boards)] },
    {
      name: 'webhooks',
      operations: () => [webhookOperations(webhooks.service)],
      gauges: (to) => webhooks.gauges(to),
    },
    {
      name: 'mcp',
      operations: (app) => [
        mcpOperations(new Mcp({ groups: { ...GROUPS }, version: VERSION, log, audit, clock }), app, config),
      ],
    },
    {
      name: 'connectors',
      operations: () => [connectorOperations(connectors.service)],
      onEvent: (event) => connectors.onDomainEvent(event),
      gauges: (to) => connectors.gauges(to),
      close: () => connectors.close(),
    },
  ];
}
/** Null at a site without one. */
function companyProvider(
  {
    oidcIssuer: issuer,
    oidcClientId: client_id,
    oidcClientSecret: client_secret,
    oidcClaim: claim,
  }: Features['config'],
  clock: Features['clock'],
): OpenIdProvider | null {
  return issuer === '' ? null : new OpenIdProvider({ issuer, client_id, client_secret, claim }, clock);
}
