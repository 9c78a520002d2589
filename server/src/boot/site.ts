/** Features that need no engine: people, keys, webhooks, sounds and the draft of the configuration. */
import path from 'node:path';
import { includesLevel } from '@offhook/contract/ids.ts';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import { createWebhooks } from '../features/webhooks/feature.ts';
import { createOwners } from '../features/webhooks/subscription.ts';
import { ApiKeys } from '../features/api-keys/service.ts';
import { createAudit } from '../features/audit/service.ts';
import { Boards } from '../features/boards/service.ts';
import { createConsoleSettings } from '../features/console-settings/service.ts';
import { FEATURE_CODES } from '../features/feature-codes/feature-codes.ts';
import type { UsedPorts } from '../features/pbx-config/check-network.ts';
import type { House } from '../features/pbx-config/check.ts';
import { createCredentials } from '../features/pbx-config/credentials.ts';
import { createDirectory } from '../features/pbx-config/directory.ts';
import { Draft } from '../features/pbx-config/draft.ts';
import { openObjects } from '../features/pbx-config/objects.ts';
import type { Objects } from '../features/pbx-config/put.ts';
import { seed } from '../features/pbx-config/seed.ts';
import { defaultCode } from '../features/pbx-config/site.ts';
import { migrations } from '../features/pbx-config/tables.ts';
import { loadVendors } from '../features/phones/vendors.ts';
import { usedLanguages, usedSounds } from '../features/pbx-config/uses.ts';
import { Push } from '../features/push/service.ts';
import type { PasswordCost } from '../features/sessions/password.ts';
import { Sessions } from '../features/sessions/service.ts';
import { LanguageSets } from '../features/sounds/language-sets.ts';
import { Sounds } from '../features/sounds/service.ts';
import { createVoiceService } from '../features/sounds/voice-service.ts';
import { SETTINGS } from './settings.ts';
import { VERSION } from './config.ts';
import type { Config } from './config.ts';
import { giveCredentials, keepCredentials, newPassword } from './credentials.ts';
import { DISK_FLOOR_BYTES } from './health.ts';
import { siteKey } from './site-key.ts';
import type { Stores } from './stores.ts';

/** `say` receives lines for the terminal. */
export interface SiteParts extends Stores {
  readonly say: (line: string) => void;
  /** The company of a new site; the demo one where absent. */
  readonly company?: Objects | undefined;
  /** Cost of hashing the first passwords; the usual one where absent. */
  readonly passwordCost?: PasswordCost | undefined;
}
/** Ports of the service and of SIP, by the settings that name them; a free one is taken for port 0. */
function portsOf(config: Config): UsedPorts[] {
  const { acmeHttpListen, httpsListen, listen, metricsListen, sipListen } = config;
  const tcp = { listen, httpsListen, acmeHttpListen, metricsListen, sipListen };
  const at = (name: keyof typeof tcp, protocol: UsedPorts['protocol'], port: number): UsedPorts => ({
    protocol,
    from: port,
    to: port,
    by: SETTINGS[name].name,
  });
  return [
    ...(Object.keys(tcp) as (keyof typeof tcp)[]).flatMap((name) => {
      const port = tcp[name]?.port ?? 0;
      return port === 0 ? [] : [at(name, 'tcp', port)];
    }),
    at('sipListen', 'udp', sipListen.port),
  ];
}
/** Templates of this release; a site's own are in the folder `phones` of its data. */
const PHONE_TEMPLATES = path.resolve(import.meta.dirname, '../../../phones');
export type SiteFeatures = Awaited<ReturnType<typeof createSiteFeatures>>;

/** Creates the features in the order of their migrations; `stack` releases what they hold. */
export async function createSiteFeatures(parts: SiteParts, stack: AsyncDisposableStack) {
  const { config, log, clock, store, journal, engineSite, node, say } = parts;
  await store.migrate('pbx-config', migrations);
  const seeded = await seed(store, { empty: config.empty, company: parts.company, at: clock.now() });
  if (config.empty && !seeded) say('--empty changes nothing: this site has people already.');
  const objects = await openObjects(store);
  const directory = createDirectory(objects);
  const audit = await createAudit(store, clock, log, directory);
  stack.defer(() => audit.close());
  const common = { audit, clock, directory, log, store };
  const sipKey = await siteKey(config.data);
  const requiresFactor = (level: PersonLevel): boolean => {
    const { second_factor = 'off' } = siteConsole.settings();
    return second_factor !== 'off' && includesLevel(level, second_factor);
  };
  const sessions = await Sessions.open({ ...common, config, sipKey, requiresFactor });
  stack.defer(() => sessions.close());
  const siteConsole = await createConsoleSettings({
    ...common,
    fixed: { site_zone: config.siteZone, own_recordings: config.ownRecordings === 'yes' },
  });
  const boards = await Boards.open({ ...common, keys: () => apiKeys.display });
  const boardShows = (board: number) => boards.shows(board);
  const apiKeys = await ApiKeys.open({ ...common, boardShows });
  stack.defer(() => apiKeys.close());
  const webhooks = await createWebhooks({
    ...common,
    journal,
    owner: createOwners(directory, (id) => apiKeys.rights(id)),
    allow: config.webhookAllow,
    version: VERSION,
    source: `/offhook/${node}`,
  });
  stack.defer(() => webhooks.close());
  stack.defer(apiKeys.onKeyEnded(() => webhooks.ownersChanged()));
  stack.defer(directory.onChange(() => webhooks.ownersChanged()));
  const push = await Push.open({ ...common, sessions, guard: webhooks.guard });
  stack.defer(() => push.close());
  await giveCredentials(config.data, directory, sessions, parts.passwordCost);
  stack.defer(await keepCredentials(config.data, { directory, sessions, log }));
  const voices =
    config.speech === ''
      ? null
      : createVoiceService({ file: config.speech, guard: webhooks.guard, clock, other: engineSite.speak });
  stack.defer(() => voices?.close());
  const sounds = await Sounds.open({
    ...common,
    folder: engineSite.folders.sounds,
    budget: config.soundMegabytes * 1_048_576,
    diskFloor: DISK_FLOOR_BYTES,
    usedSounds: () => usedSounds(store),
    speak: voices?.speak ?? engineSite.speak,
    builtIn: () => engineSite.builtInSounds(),
  });
  stack.defer(() => sounds.close());
  const languageSets = await LanguageSets.open({
    audit,
    folder: path.join(engineSite.folders.sounds, 'languages'),
    budget: config.soundMegabytes * 1_048_576,
    otherBytes: () => sounds.bytes(),
    diskFloor: DISK_FLOOR_BYTES,
    used: () => usedLanguages([objects.applied(), objects.draft()]),
    lacking: (language) => engineSite.lackingPrompts(language),
  });
  stack.defer(() => languageSets.close());
  const vendors = await loadVendors([PHONE_TEMPLATES, path.join(config.data, 'phones')], (folder, reason) =>
    log.warn({ folder, reason }, 'these templates of phones cannot be used'),
  );
  const house: House = {
    codes: new Map(FEATURE_CODES.map((code) => [code.id, defaultCode(code)])),
    patterns: new Map(FEATURE_CODES.map((code) => [code.id, code.patterns])),
    hasSound: (sound) => sounds.knows(sound),
    hasVendor: (vendor) => vendors.has(vendor),
    node: config.node,
    ports: portsOf(config),
    rtpPorts: { protocol: 'udp', ...config.rtpPorts, by: SETTINGS.rtpPorts.name },
  };
  const draft = new Draft({ objects, audit, clock, house });
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
    push,
    sounds,
    languageSets,
    house,
    draft,
    credentials,
    vendors,
  };
}
