import { ServiceError } from '../../../core/errors.ts';
import { DEVICE_SUFFIX } from '../../../ports/directory.ts';
import { isHere } from '../../../ports/site.ts';
import type { Site, SiteNetwork } from '../../../ports/site.ts';
import type { AsteriskProgram, Instance, InstanceSettings } from './instance.ts';
import { extensionsConf } from './dialplan-file.ts';
import { featuresConf } from './call-contexts.ts';
import * as engine from './engine-files.ts';
import { httpConf, managerConf } from './manager-files.ts';
import { modulesConf, resolverConf } from './modules-file.ts';
import { pjsipFiles, rtpConf, sorceryConf } from './pjsip-files.ts';
import { checkFlow } from './check-flow.ts';
import { dialledPatterns } from '../../../routing/plan.ts';
import { confbridgeConf } from './conference-file.ts';
import { musicConf } from './music-file.ts';
import { ordered } from './ordered.ts';
import { parkingConf, queuesConf, voicemailConf } from './service-files.ts';
import { TURN_FILE, turnConf } from './turn-file.ts';
import { conf, slug } from './text.ts';
import type { ConfText } from './text.ts';

const refuse = (detail: string): never => {
  throw new ServiceError('invalid_request', detail);
};

/** The network as SIP and media show it: with the address that was found, also for browsers, if the site follows one. */
function shownNetwork({
  network,
  found_address: found,
}: Pick<Site, 'network' | 'found_address'>): SiteNetwork {
  if (found === null) return network;
  const { address, local } = found;
  const known = network.ice_hosts.some((host) => host.local === local);
  const mapped =
    local === null || local === address || known ? [] : [{ local, external: address, keep_local: true }];
  return { ...network, external_address: address, ice_hosts: [...network.ice_hosts, ...mapped] };
}

/** Mistakes that no single file shows: a number or name that means two things, and a name that means nothing. */
function checkSite(site: Site): void {
  const numbers = new Map<string, string>();
  const take = (number: string, what: string): void => {
    const other = numbers.get(number);
    if (other !== undefined) refuse(`${JSON.stringify(number)} is both ${other} and ${what}`);
    numbers.set(number, what);
  };
  const names = new Set<string>();
  const known = new Map(site.extensions.map((e) => [e.extension, e.elsewhere ?? null]));
  for (const e of site.extensions) {
    take(e.extension, 'an extension');
    for (const endpoint of e.endpoints) {
      const suffix = DEVICE_SUFFIX[endpoint.kind];
      if (endpoint.name !== e.extension + suffix) {
        refuse(
          `extension ${e.extension}: its ${endpoint.kind} endpoint must be named ${e.extension}${suffix}`,
        );
      }
      if (names.has(endpoint.name))
        refuse(`extension ${e.extension}: two endpoints are named ${endpoint.name}`);
      names.add(endpoint.name);
    }
  }
  const queues = new Set<string>();
  for (const q of site.queues) {
    take(q.number, `queue ${q.name}`);
    if (queues.has(q.name)) refuse(`two queues are named ${q.name}`);
    queues.add(q.name);
    for (const e of [...q.agents, ...q.static_members]) {
      const home = known.get(e);
      if (home === undefined) refuse(`queue ${q.name}: ${JSON.stringify(e)} is not an extension`);
      if (home !== (q.elsewhere ?? null))
        refuse(`queue ${q.name}: ${e} is homed at another engine than the queue`);
    }
    if (new Set(q.agents).size < q.agents.length) refuse(`queue ${q.name}: an agent is listed twice`);
    for (const e of q.static_members) {
      if (!q.agents.includes(e)) refuse(`queue ${q.name}: static member ${e} is not among its agents`);
    }
  }
  for (const s of site.services) take(s.number, s.title);
  for (const code of site.feature_codes)
    for (const p of dialledPatterns(code)) take(p, `feature code ${code.id}`);
  checkFlow(site, take);
  for (const lot of site.parking_lots) {
    const { number, first_slot, last_slot } = lot;
    take(number, `parking lot ${lot.name}`);
    if (last_slot < first_slot || last_slot - first_slot > 999)
      refuse(`parking lot ${lot.name}: from 1 to 1000 slots, first to last`);
    for (let slot = first_slot; slot <= last_slot; slot++) take(String(slot), 'a parking slot');
  }
}

function checkTrunks(site: Site): void {
  const trunks = new Set<string>();
  const known = (name: string, what: string): void => {
    if (!trunks.has(name)) refuse(`${what}: there is no trunk ${JSON.stringify(name)}`);
  };
  for (const t of site.trunks) {
    if (trunks.has(t.name)) refuse(`two trunks are named ${t.name}`);
    trunks.add(slug(t.name, 'a trunk name'));
    if (t.endpoint !== `trunk-${t.name}`)
      refuse(`trunk ${t.name}: its endpoint must be named trunk-${t.name}`);
    if (t.codecs.length === 0) refuse(`trunk ${t.name}: needs a codec`);
    if (t.register && t.login === null) refuse(`trunk ${t.name}: needs a login to register`);
  }
  for (const { name, trunk, to } of site.inbound_routes) {
    if (trunk !== null) known(trunk, `inbound route ${name}`);
    if (to.kind === 'trunk') known(to.key, `inbound route ${name}`);
  }
  for (const route of site.outbound_routes)
    for (const { trunk } of route.trunks) known(trunk, `outbound route ${route.name}`);
}

/**
 * Every configuration file of one site's engine, by file name. The same input gives the same bytes. A value that a file
 * cannot carry, a number used twice or a name that leads nowhere is `invalid_request`, and nothing is rendered.
 */
export function renderSite(
  given: Site,
  instance: Instance,
  program: AsteriskProgram,
  settings: InstanceSettings,
): ReadonlyMap<string, string> {
  const site = ordered(given);
  checkSite(site);
  checkTrunks(site);
  const network = shownNetwork(site);
  const files: Record<string, ConfText> = {
    ...engine.bareFiles,
    'asterisk.conf': engine.asteriskConf(instance, program),
    'modules.conf': modulesConf(settings),
    'resolver_unbound.conf': resolverConf(settings),
    'logger.conf': engine.loggerConf,
    'cel.conf': engine.celConf,
    'cel_custom.conf': engine.celCustomConf,
    'cdr.conf': engine.cdrConf,
    'indications.conf': engine.indicationsConf,
    'manager.conf': managerConf(instance),
    'http.conf': httpConf(instance),
    'rtp.conf': rtpConf(settings, network),
    ...pjsipFiles({ ...site, network }, instance, settings),
    'sorcery.conf': sorceryConf,
    [TURN_FILE]: turnConf(settings, site.network, instance),
    'queues.conf': queuesConf(site, instance),
    'voicemail.conf': voicemailConf(
      {
        extensions: site.extensions.filter(isHere),
        mailboxes: (site.leading ?? null) === null ? site.mailboxes : [],
      },
      settings,
    ),
    'confbridge.conf': confbridgeConf(site.conferences),
    'musiconhold.conf': musicConf(site, instance),
    'features.conf': featuresConf,
    'res_parking.conf': parkingConf(site.parking_lots),
    'extensions.conf': extensionsConf(site, instance, settings.zone),
  };
  const head = conf`; Rendered by Offhook from its database. What is written here by hand is lost; use custom/ for that.

`;
  return new Map(
    Object.entries(files)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, text]) => [name, head + text]),
  );
}
