/** Exports and erasures of personal data, with all owners of such data. */
import path from 'node:path';
import type { CallbackFeature } from '../features/callbacks/feature.ts';
import type { Connectors } from '../features/connectors/feature.ts';
import { mailboxOwners } from '../features/pbx-config/model.ts';
import type { Phonebook } from '../features/phonebook/service.ts';
import type { Presence } from '../features/presence/service.ts';
import { remainsOf } from '../features/privacy/remains.ts';
import { Privacy } from '../features/privacy/service.ts';
import { VoicemailData } from '../features/voicemail/personal-data.ts';
import type { EngineVoicemail } from '../features/voicemail/personal-data.ts';
import type { EngineSite } from '../ports/engine-site.ts';
import type { SiteNodes } from '../ports/site-nodes.ts';
import type { CallParts } from './features.ts';
import { DISK_FLOOR_BYTES } from './health.ts';

export interface PrivacyParts extends CallParts {
  readonly presence: Presence;
  readonly phonebook: Phonebook;
  readonly callbacks: Pick<CallbackFeature, 'data'>;
  readonly connectors: Pick<Connectors, 'data'>;
}

/** Nodes by the role of their engines; `configured`: the nodes of the engines in the configuration. */
async function nodesOf(
  own: string,
  configured: readonly string[],
  nodes: Pick<SiteNodes, 'list'> | null,
): Promise<{ readonly homes: readonly string[]; readonly standbys: readonly string[] }> {
  const homes = new Set(configured);
  const standbys = new Set<string>();
  for (const { name, role } of (await nodes?.list()) ?? [])
    if (role === 'home') homes.add(name);
    else if (role !== 'web' && name !== own) standbys.add(name);
  return { homes: [...homes], standbys: [...standbys] };
}
/**
 * The engines of this node, of home nodes, and of standbys, whose messages are those of the time in which they led.
 */
export async function enginesOf(
  engineSite: Pick<EngineSite, 'node' | 'voicemail' | 'otherVoicemail'>,
  configured: readonly string[],
  nodes: Pick<SiteNodes, 'list'> | null,
): Promise<readonly EngineVoicemail[]> {
  const { homes, standbys } = await nodesOf(engineSite.node, configured, nodes);
  return [
    { node: engineSite.node, voicemail: engineSite.voicemail },
    ...homes.map((node) => ({ node, voicemail: engineSite.otherVoicemail(node) })),
    ...standbys.map((node) => ({ node, voicemail: null })),
  ];
}
/** Home nodes that keep their recordings for themselves. A standby deletes those that were erased once it leads. */
export async function recordingNodesOf(
  { node, sharedFiles }: { readonly node: string; readonly sharedFiles: string | null },
  configured: readonly string[],
  nodes: Pick<SiteNodes, 'list'> | null,
): Promise<readonly string[]> {
  if (sharedFiles !== null) return [];
  return (await nodesOf(node, configured, nodes)).homes.toSorted();
}
/** Runs the migrations and resumes interrupted jobs. */
export function createPrivacy(parts: PrivacyParts): Promise<Privacy> {
  const { audit, callbacks, callerRules, clock, config, connectors, directory, engineSite, exports } = parts;
  const { history, log, objects, phonebook, presence, push, records, sessions, store, webhooks } = parts;
  const configured = (): readonly string[] => directory.config().engines.map(({ node }) => node);
  const voicemail = new VoicemailData({
    engines: () => enginesOf(engineSite, configured(), parts.nodes),
    ownerOf: (number) => mailboxOwners(objects.applied())[number],
    log,
  });
  return Privacy.open({
    store,
    // Connectors before the phonebook, so that no answer to their earlier requests enters it after the erasure.
    holders: [
      ...[history, audit, presence, callbacks, callerRules, connectors, phonebook, push, webhooks].map(
        ({ data }) => data,
      ),
      sessions.personalData((extension) => objects.holdersOf(extension)),
      exports.data,
      voicemail,
    ],
    directory,
    audit,
    clock,
    log,
    folder: path.join(config.data, 'privacy'),
    hours: config.exportHours,
    diskFloor: DISK_FLOOR_BYTES,
    country: config.siteCountry,
    forget: (until) => engineSite.callRecords.forget(until),
    forgetRows: async () => !(await Promise.all([store, records].map((one) => one.forget()))).includes(false),
    unreached: () => voicemail.unreached(),
    lackingAudio: () => voicemail.lackingAudio(),
    recordingNodes: () =>
      recordingNodesOf({ node: engineSite.node, sharedFiles: config.sharedFiles }, configured(), parts.nodes),
    remains: remainsOf(config.journalDays),
  });
}
