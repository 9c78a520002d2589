import { createHash } from 'node:crypto';
import type { FeatureCode, Site } from '../../ports/site.ts';
import type { PbxConfig } from './config.ts';

/** A department as a pick-up group: its own letters where they are plain, and a hash where two names could meet. */
export function pickupGroup(department: string | null): string | null {
  if (department === null || department.trim() === '') return null;
  const plain = department
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()
    .replaceAll(' ', '-')
    .slice(0, 40);
  if (/^[A-Za-z0-9]+( [A-Za-z0-9]+)*$/.test(department) && department.length <= 40) return plain;
  const hash = createHash('sha256').update(department).digest('hex').slice(0, 8);
  return plain === '' ? `group-${hash}` : `${plain}-${hash}`;
}

/**
 * What the renderer is given: active people only, and the feature codes the exchange knows. A route from outside to a number
 * that is no more, or whose person is not active, is no way in.
 */
export function toSite(config: PbxConfig, codes: readonly FeatureCode[]): Site {
  const numbers = new Set([
    ...config.people.filter(({ person }) => person.active).map(({ person }) => person.extension),
    ...config.queues.map((q) => q.number),
    ...config.services.map((s) => s.number),
  ]);
  return {
    extensions: config.people
      .filter(({ person }) => person.active)
      .map(({ person, sip_password, voicemail, voicemail_pin, forward_outside, recording }) => ({
        extension: person.extension,
        name: person.name,
        email: person.email,
        endpoints: person.endpoints,
        sip_password,
        voicemail,
        voicemail_pin,
        forward_outside,
        recording,
        pickup_group: pickupGroup(person.department),
      })),
    queues: config.queues,
    services: config.services,
    parking: config.parking,
    recording_announcement: config.recording_announcement,
    pause_reasons: config.pause_reasons,
    feature_codes: codes,
    trunks: config.trunks,
    inbound_routes: config.inbound_routes.filter(({ to }) => 'trunk' in to || numbers.has(to.number)),
    outbound_routes: config.outbound_routes,
  };
}
