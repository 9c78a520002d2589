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

/** What the renderer is given: active people only, and the feature codes the exchange knows. */
export function toSite(config: PbxConfig, codes: readonly FeatureCode[]): Site {
  return {
    extensions: config.people
      .filter(({ person }) => person.active)
      .map(({ person, sip_password, voicemail, voicemail_pin }) => ({
        extension: person.extension,
        name: person.name,
        email: person.email,
        endpoints: person.endpoints,
        sip_password,
        voicemail,
        voicemail_pin,
        pickup_group: pickupGroup(person.department),
      })),
    queues: config.queues,
    services: config.services,
    parking: config.parking,
    pause_reasons: config.pause_reasons,
    feature_codes: codes,
  };
}
