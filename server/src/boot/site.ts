/** Features that need no engine: people, keys, webhooks, sounds and the draft of the configuration. */
import { soundsDir } from '../adapters/asterisk/instance.ts';
import { builtInSounds } from '../adapters/asterisk/built-in-sounds.ts';
import { createWebhooks } from '../features/webhooks/feature.ts';
import { createOwners } from '../features/webhooks/subscription.ts';
import { createApiKeys } from '../features/api-keys/service.ts';
import { createAudit } from '../features/audit/service.ts';
import { createBoards } from '../features/boards/service.ts';
import { createConsoleSettings } from '../features/console-settings/service.ts';
import { FEATURE_CODES } from '../features/feature-codes/feature-codes.ts';
import type { House } from '../features/pbx-config/check.ts';
import { createCredentials } from '../features/pbx-config/credentials.ts';
import { createDirectory } from '../features/pbx-config/directory.ts';
import { createDraft } from '../features/pbx-config/draft.ts';
import { openObjects } from '../features/pbx-config/objects.ts';
import { seed } from '../features/pbx-config/seed.ts';
import { defaultCode } from '../features/pbx-config/site.ts';
import { migrations } from '../features/pbx-config/tables.ts';
import { usedSounds } from '../features/pbx-config/used-sounds.ts';
import { Sessions } from '../features/sessions/service.ts';
import { createSounds } from '../features/sounds/service.ts';
import { VERSION } from './config.ts';
import { giveCredentials, keepCredentials, newPassword } from './credentials.ts';
import type { Exchange } from './exchange.ts';
import { DISK_FLOOR_BYTES } from './health.ts';
import { siteKey } from './site-key.ts';
import type { Stores } from './stores.ts';

/** `exchange` need not have begun; `say` receives lines for people. */
export interface SiteParts extends Stores {
  readonly exchange: Exchange;
  readonly say: (line: string) => void;
}
export type SiteFeatures = Awaited<ReturnType<typeof createSiteFeatures>>;

/** Creates the features in the order of their migrations; `stack` releases what they hold. */
export async function createSiteFeatures(parts: SiteParts, stack: AsyncDisposableStack) {
  const { config, log, clock, store, journal, instance, node, exchange, say } = parts;
  await store.migrate('pbx-config', migrations);
  const seeded = await seed(store, { empty: config.empty });
  if (config.empty && !seeded) say('--empty changes nothing: this site has people already.');
  const objects = await openObjects(store);
  const directory = createDirectory(objects);
  const audit = await createAudit(store, clock, log, directory);
  stack.defer(() => audit.close());
  const sipKey = await siteKey(config.data);
  const sessions = await Sessions.open({ store, clock, directory, audit, log, config, sipKey });
  stack.defer(() => sessions.close());
  const siteConsole = await createConsoleSettings({ store, audit, zone: config.siteZone });
  const boards = await createBoards({ store, clock, directory, audit, keys: () => apiKeys.display });
  const boardShows = (board: number) => boards.shows(board);
  const apiKeys = await createApiKeys({ store, clock, directory, audit, log, boardShows });
  stack.defer(() => apiKeys.close());
  const webhooks = await createWebhooks({
    store,
    journal,
    clock,
    audit,
    log,
    owner: createOwners(directory, (id) => apiKeys.rights(id)),
    allow: config.webhookAllow,
    version: VERSION,
    source: `/offhook/${node}`,
  });
  stack.defer(() => webhooks.close());
  stack.defer(apiKeys.onKeyEnded(() => webhooks.ownersChanged()));
  stack.defer(directory.onChange(() => webhooks.ownersChanged()));
  await giveCredentials(config.data, directory, sessions);
  stack.defer(await keepCredentials(config.data, { directory, sessions, log }));
  const sounds = await createSounds({
    audit,
    clock,
    log,
    folder: soundsDir(instance),
    budget: config.soundMegabytes * 1_048_576,
    diskFloor: DISK_FLOOR_BYTES,
    usedSounds: () => usedSounds(store),
    builtIn: () => builtInSounds(exchange.program()),
  });
  stack.defer(() => sounds.close());
  const house: House = {
    codes: new Map(FEATURE_CODES.map((code) => [code.id, defaultCode(code)])),
    patterns: new Map(FEATURE_CODES.map((code) => [code.id, code.patterns])),
    hasSound: (sound) => sounds.knows(sound),
  };
  const draft = createDraft({ objects, audit, clock, house });
  const credentials = createCredentials({
    draft,
    audit,
    signIn: { setPassword: (id, password) => sessions.setPassword(id, password), newPassword },
  });
  return {
    objects,
    directory,
    audit,
    sipKey,
    sessions,
    siteConsole,
    boards,
    apiKeys,
    webhooks,
    sounds,
    house,
    draft,
    credentials,
  };
}
