import { includesLevel } from '@offhook/contract/ids.ts';
import type { ConfigBody, Destination } from '@offhook/contract/config-objects.ts';
import type { FeatureCode, Site } from '../../ports/site.ts';
import type { PbxConfig } from './config.ts';

type CodeChange = ConfigBody<'feature_code'>;
/** A feature code as the site dials it, or none. */
function asDialled(code: FeatureCode, changed: CodeChange | undefined): FeatureCode | null {
  if (changed === undefined) return code;
  if (!changed.enabled) return null;
  const own = defaultCode(code);
  return changed.code === own ? code : { ...code, moved: { from: own, to: changed.code } };
}
/** What a code of the exchange begins with where the site changed nothing, e.g. `*22`. */
export const defaultCode = (code: FeatureCode): string =>
  code.patterns
    .map((p) => /^_?([*#][0-9*#]+)/.exec(p)?.[1] ?? p)
    .reduce((a, b) => (b.length < a.length ? b : a));

/**
 * What the renderer is given: active people and enabled trunks only, and the feature codes the exchange knows. A way to
 * somebody who is not active, or over a trunk that is switched off, is no way.
 */
export function toSite(config: PbxConfig, codes: readonly FeatureCode[]): Site {
  const off = new Set(config.people.filter((p) => !p.person.active).map((p) => p.person.extension));
  const trunks = config.trunks.filter((t) => t.enabled);
  const enabled = new Set(trunks.map((t) => t.name));
  const leads = (to: Destination): boolean =>
    to.kind === 'extension' ? !off.has(to.key) : to.kind !== 'trunk' || enabled.has(to.key);
  const changed = new Map(config.feature_codes.map((c) => [c.id, c]));
  const { people, inbound_routes, outbound_routes, ...rest } = config;
  return {
    ...rest,
    extensions: people
      .filter(({ person }) => person.active)
      .map(({ person: { extension, name, email, endpoints, level }, ...own }) => ({
        ...own,
        pickup_everywhere: includesLevel(level, 'supervisor'),
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
  };
}
