import { includesLevel } from '@offhook/contract/ids.ts';
import { DisplayName } from '@offhook/contract/config-fields.ts';
import type { Destination } from '@offhook/contract/config-fields.ts';
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import type { FoundAddress } from '../../ports/external-address.ts';
import type { TrunkServers } from '../../ports/trunk-servers.ts';
import type { FeatureCode, Site } from '../../ports/site.ts';
import type { PbxConfig } from './config.ts';

type CodeChange = ConfigBody<'feature_code'>;
/** A feature code as the site dials it; null if it is disabled. */
function asDialled(code: FeatureCode, changed: CodeChange | undefined): FeatureCode | null {
  if (changed === undefined) return code;
  if (!changed.enabled) return null;
  const own = defaultCode(code);
  return changed.code === own ? code : { ...code, moved: { from: own, to: changed.code } };
}
/** Start of a feature code's default, e.g. `*22`. */
export const defaultCode = (code: FeatureCode): string =>
  code.patterns
    .map((p) => /^_?([*#][0-9*#]+)/.exec(p)?.[1] ?? p)
    .reduce((a, b) => (b.length < a.length ? b : a));

/** Name of a shared phone in the engine. */
export const sharedEndpoint = (id: number): string => `desk_${id}`;
/** A title may be longer than a name that the engine shows; the end is left out. */
function shownTitle(title: string): string {
  let shown = title;
  while (!DisplayName.safeParse(shown).success) shown = shown.slice(0, -1).trimEnd();
  return shown;
}
export const sharedPhones = (phones: PbxConfig['phones']): Site['shared_phones'] =>
  phones
    .filter(({ shared }) => shared)
    .map(({ id, name, title, transport, sip_password }) => ({
      name,
      endpoint: sharedEndpoint(id),
      sip_password,
      title: shownTitle(title ?? name),
      srtp: transport === 'tls' ? 'offered' : 'off',
    }));

/** Data that the service determines while it runs. */
interface Found {
  /** External address; used unless the network has a fixed one. */
  readonly address: FoundAddress | null;
  readonly servers: TrunkServers;
  /** SIP proxy that trunks pass. */
  readonly proxy?: Site['trunk_proxy'];
}
/**
 * Site for the renderer: only active people, enabled trunks and known feature codes, and no routes to other people or
 * trunks.
 */
export function toSite(
  config: PbxConfig,
  codes: readonly FeatureCode[],
  found: Found = { address: null, servers: new Map() },
): Site {
  const off = new Set(config.people.filter((p) => !p.person.active).map((p) => p.person.extension));
  const trunks = config.trunks
    .filter((t) => t.enabled)
    .map((t) => ({ ...t, servers: found.servers.get(t.name) ?? [] }));
  const enabled = new Set(trunks.map((t) => t.name));
  const leads = (to: Destination): boolean =>
    to.kind === 'extension' ? !off.has(to.key) : to.kind !== 'trunk' || enabled.has(to.key);
  const changed = new Map(config.feature_codes.map((c) => [c.id, c]));
  const { people, inbound_routes, outbound_routes, phones, phone_layouts: _, ...rest } = config;
  return {
    ...rest,
    trunk_proxy: found.proxy ?? null,
    found_address: rest.network.external_address_source === 'fixed' ? null : found.address,
    extensions: people
      .filter(({ person }) => person.active)
      .map(({ person: { extension, name, email, endpoints, level }, ...own }) => ({
        ...own,
        pickup_everywhere: includesLevel(level, 'supervisor'),
        blocks_callers: includesLevel(level, 'agent'),
        extension,
        name,
        email,
        endpoints,
      })),
    trunks,
    feature_codes: codes.flatMap((code) => asDialled(code, changed.get(code.id)) ?? []),
    inbound_routes: inbound_routes.filter((r) => leads(r.to) && (r.trunk === null || enabled.has(r.trunk))),
    outbound_routes: outbound_routes
      .map((r) => ({ ...r, trunks: r.trunks.filter((t) => enabled.has(t.trunk)) }))
      .filter((r) => r.trunks.length > 0),
    shared_phones: sharedPhones(phones),
  };
}
