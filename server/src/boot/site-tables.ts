/** Every feature with tables: together with the journal and the files they are the complete site. */
import { migrations as agents } from '../features/agents/store.ts';
import { migrations as apiKeys } from '../features/api-keys/store.ts';
import { migrations as audit } from '../features/audit/service.ts';
import { migrations as boards } from '../features/boards/store.ts';
import { migrations as callbacks } from '../features/callbacks/tables.ts';
import { migrations as callerRules } from '../features/caller-rules/tables.ts';
import { migrations as calls } from '../features/calls/store.ts';
import { migrations as connectors } from '../features/connectors/tables.ts';
import { migrations as consoleSettings } from '../features/console-settings/service.ts';
import { migrations as exports } from '../features/exports/store.ts';
import { migrations as history } from '../features/history/store/migrations.ts';
import { migrations as pathCheck } from '../features/path-check/service.ts';
import { migrations as pbxConfig } from '../features/pbx-config/tables.ts';
import { migrations as phonebookSources } from '../features/phonebook/sync/store.ts';
import { migrations as phonebook } from '../features/phonebook/tables.ts';
import { migrations as phones } from '../features/phones/store.ts';
import { migrations as presence } from '../features/presence/store.ts';
import { migrations as privacy } from '../features/privacy/store.ts';
import { migrations as push } from '../features/push/tables.ts';
import { migrations as recordings } from '../features/recordings/tables.ts';
import { migrations as selfService } from '../features/self-service/store.ts';
import { migrations as otp } from '../features/sessions/otp.ts';
import { migrations as sessions } from '../features/sessions/store.ts';
import { migrations as blockedNetworks } from '../features/sip-security/blocks.ts';
import { migrations as wallboard } from '../features/wallboard/store.ts';
import { migrations as webhookSettings } from '../features/webhooks/settings.ts';
import { migrations as webhooks } from '../features/webhooks/store.ts';
import { migrations as http } from '../http/idempotency.ts';
import type { Migration } from '../ports/store.ts';
import { migrations as site } from './site-id.ts';

export type FeatureTables = Readonly<Record<string, readonly Migration[]>>;
/** The features whose records may live in PostgreSQL without the rest of the site. */
export const RECORDS: FeatureTables = { history, recordings, exports };
export const SITE: FeatureTables = {
  site,
  'pbx-config': pbxConfig,
  audit,
  sessions,
  otp,
  'path-check': pathCheck,
  'console-settings': consoleSettings,
  boards,
  'api-keys': apiKeys,
  webhooks,
  'webhook-settings': webhookSettings,
  push,
  'sip-blocked-networks': blockedNetworks,
  agents,
  'caller-rules': callerRules,
  ...RECORDS,
  calls,
  callbacks,
  connectors,
  phonebook,
  'phonebook-sources': phonebookSources,
  phones,
  presence,
  privacy,
  'self-service': selfService,
  wallboard,
  http,
};
