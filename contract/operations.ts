/** Every group of the client's methods, by its name. The rest of the operations is reached by other means (client.ts). */
import { agents } from './operations/agents.ts';
import { apiKeys } from './operations/api-keys.ts';
import { audit } from './operations/audit.ts';
import { boards } from './operations/boards.ts';
import { callControl, liveCalls, parking } from './operations/calls.ts';
import { applies, routeTest } from './operations/config-applies.ts';
import { config } from './operations/config.ts';
import { consoleSettings } from './operations/console-settings.ts';
import { callQuality, conversations } from './operations/conversations.ts';
import { exports } from './operations/exports.ts';
import { features } from './operations/features.ts';
import { people } from './operations/people.ts';
import { phonebook } from './operations/phonebook.ts';
import { presence } from './operations/presence.ts';
import { privacy } from './operations/privacy.ts';
import { queues } from './operations/queues.ts';
import { recordings } from './operations/recordings.ts';
import { session } from './operations/session.ts';
import { sounds } from './operations/sounds.ts';
import { trunks } from './operations/trunks.ts';
import { wallboard } from './operations/wallboard.ts';
import { webhooks } from './operations/webhooks.ts';
import type { Operation } from './operation.ts';

/** Written out, so that the types of the packed client name each area once. */
export interface Groups {
  readonly session: typeof session;
  readonly features: typeof features;
  readonly agents: typeof agents;
  readonly queues: typeof queues;
  readonly calls: typeof liveCalls & typeof callControl & typeof parking & typeof callQuality;
  readonly conversations: typeof conversations;
  readonly recordings: typeof recordings;
  readonly sounds: typeof sounds;
  readonly wallboard: typeof wallboard;
  readonly webhooks: typeof webhooks;
  readonly apiKeys: typeof apiKeys;
  readonly exports: typeof exports;
  readonly presence: typeof presence;
  readonly privacy: typeof privacy;
  readonly audit: typeof audit;
  readonly boards: typeof boards;
  readonly config: typeof config & typeof applies & typeof routeTest;
  readonly people: typeof people;
  readonly phonebook: typeof phonebook;
  readonly trunks: typeof trunks;
  readonly consoleSettings: typeof consoleSettings;
}
export const GROUPS: Groups = {
  session,
  features,
  agents,
  queues,
  calls: { ...liveCalls, ...callControl, ...parking, ...callQuality },
  conversations,
  recordings,
  sounds,
  wallboard,
  webhooks,
  apiKeys,
  exports,
  presence,
  privacy,
  audit,
  boards,
  config: { ...config, ...applies, ...routeTest },
  people,
  phonebook,
  trunks,
  consoleSettings,
};

/** An operation in a line: method and path, and which arguments the client's method takes beside those of the path. */
export const routeOf = ({ method, path, query, body, slow }: Operation): string =>
  [
    method,
    path,
    ...(body === undefined ? [] : ['body']),
    ...(query === undefined ? [] : ['query']),
    ...(slow === true ? ['slow'] : []),
  ].join(' ');
/** The `.php` paths, and what is a file and no JSON, have methods of their own. */
export const hasMethod = ({ path, file, takes }: Operation): boolean =>
  path.startsWith('/api/v1/') && file !== true && takes !== 'audio';
