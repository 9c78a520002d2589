/** Groups of the client's methods, by name. Other operations have methods of their own (client.ts). */
import { agents } from './agents.ts';
import { apiKeys } from './api-keys.ts';
import { audit } from './audit.ts';
import { blockedNetworks } from './blocked-networks.ts';
import { nodes } from './nodes.ts';
import { phones } from './phones.ts';
import { push } from './push.ts';
import { boards } from './boards.ts';
import { callerRules } from './caller-rules.ts';
import { callbacks } from './callbacks.ts';
import { callControl, liveCalls, parking } from './calls.ts';
import { applies, routeTest } from './config-applies.ts';
import { config } from './config.ts';
import { connectors } from './connectors.ts';
import { consoleSettings } from './console-settings.ts';
import { callQuality, conversations } from './conversations.ts';
import { exports } from './exports.ts';
import { features } from './features.ts';
import { nightSwitches } from './night-switches.ts';
import { pathCheck } from './path-check.ts';
import { people } from './people.ts';
import { phonebook } from './phonebook.ts';
import { phonebookSources } from './phonebook-sources.ts';
import { presence } from './presence.ts';
import { privacy } from './privacy.ts';
import { queues } from './queues.ts';
import { recordings } from './recordings.ts';
import { session } from './session.ts';
import { sounds } from './sounds.ts';
import { trunks } from './trunks.ts';
import { wallboard } from './wallboard.ts';
import { webhooks } from './webhooks.ts';
import { isFileBody } from '../operation.ts';
import type { Operation } from '../operation.ts';

/** Written out, so that the types of the packed client name each area once. */
export interface Groups {
  readonly session: typeof session;
  readonly features: typeof features;
  readonly agents: typeof agents;
  readonly queues: typeof queues;
  readonly calls: typeof liveCalls & typeof callControl & typeof parking & typeof callQuality;
  readonly callbacks: typeof callbacks;
  readonly callerRules: typeof callerRules;
  readonly conversations: typeof conversations;
  readonly recordings: typeof recordings;
  readonly sounds: typeof sounds;
  readonly wallboard: typeof wallboard;
  readonly webhooks: typeof webhooks;
  readonly connectors: typeof connectors;
  readonly apiKeys: typeof apiKeys;
  readonly exports: typeof exports;
  readonly presence: typeof presence;
  readonly privacy: typeof privacy;
  readonly audit: typeof audit;
  readonly blockedNetworks: typeof blockedNetworks;
  readonly nodes: typeof nodes;
  readonly phones: typeof phones;
  readonly nightSwitches: typeof nightSwitches;
  readonly boards: typeof boards;
  readonly push: typeof push;
  readonly config: typeof config & typeof applies & typeof routeTest;
  readonly people: typeof people;
  readonly phonebook: typeof phonebook;
  readonly phonebookSources: typeof phonebookSources;
  readonly trunks: typeof trunks;
  readonly pathCheck: typeof pathCheck;
  readonly consoleSettings: typeof consoleSettings;
}
export const GROUPS: Groups = {
  session,
  features,
  agents,
  queues,
  calls: { ...liveCalls, ...callControl, ...parking, ...callQuality },
  callbacks,
  callerRules,
  conversations,
  recordings,
  sounds,
  wallboard,
  webhooks,
  connectors,
  apiKeys,
  exports,
  presence,
  privacy,
  audit,
  blockedNetworks,
  nodes,
  phones,
  nightSwitches,
  boards,
  push,
  config: { ...config, ...applies, ...routeTest },
  people,
  phonebook,
  phonebookSources,
  trunks,
  pathCheck,
  consoleSettings,
};

/** An operation as one line: method, path, and the arguments of the client's method beside the path's. */
export const routeOf = ({ method, path, query, body, slow }: Operation): string =>
  [
    method,
    path,
    ...(body === undefined ? [] : ['body']),
    ...(query === undefined ? [] : ['query']),
    ...(slow === true ? ['slow'] : []),
  ].join(' ');
/** The `.php` paths and files have methods of their own. */
export const hasMethod = ({ path, file, takes }: Operation): boolean =>
  path.startsWith('/api/v1/') && file !== true && !isFileBody(takes);
