import type { Destination } from '@offhook/contract/call-settings.ts';
import { ServiceError } from '../../core/errors.ts';
import { asSaid, say, sayAll } from '../../core/said.ts';
import type { Directory, EndpointKind } from '../../ports/directory.ts';
import { isRung } from '../../ports/engine-state.ts';
import type { FeatureChanges } from './view.ts';

export interface RuleDeps {
  readonly directory: Pick<Directory, 'byExtension' | 'queues' | 'leadsOut' | 'isEmergency'>;
  /** True for the number of a ring group, a menu or another internal destination. */
  readonly isPlace: (number: string) => boolean;
  /** True if calls to this extension may be forwarded to this number outside. */
  readonly mayForwardOutside: (extension: string, number: string) => boolean;
  readonly destinationOf: (number: string) => Destination;
}
export const FORWARDS = ['forward', 'forward_busy', 'forward_no_answer'] as const;
/** Destinations that no right allows: premium numbers cost money, and callers must not reach the others. */
const NEVER: ReadonlySet<Destination> = new Set(['premium', 'emergency', 'feature_code']);

/**
 * Throws `invalid_request` for a forward to the own extension, `no_route` for a number without a route, and
 * `destination_not_allowed` for a number outside that is not permitted. The dialplan checks each call by the same
 * rules, except the class of the destination.
 */
export function checkForward(deps: RuleDeps, extension: string, number: string): void {
  const { directory, isPlace, mayForwardOutside, destinationOf } = deps;
  if (number === '') return;
  if (number === extension)
    throw new ServiceError('invalid_request', 'calls cannot be forwarded to the own extension');
  if (directory.byExtension(number)?.active === true) return;
  if (directory.queues().some((queue) => queue.number === number) || isPlace(number)) return;
  if (!directory.leadsOut(number))
    throw new ServiceError('no_route', say`no route of this site leads to ${number}`);
  if (!mayForwardOutside(extension, number)) {
    throw new ServiceError(
      'destination_not_allowed',
      say`calls of ${extension} may not be forwarded to ${number}`,
    );
  }
  const destination = directory.isEmergency(number) ? 'emergency' : destinationOf(number);
  if (NEVER.has(destination)) {
    throw new ServiceError(
      'destination_not_allowed',
      say`calls cannot be forwarded to ${{ key: `${destination.replace('_', ' ')} numbers`, values: [] }}`,
    );
  }
}
const WORDS: Readonly<Record<EndpointKind, string>> = {
  sip: 'desk phone',
  webrtc: 'softphone',
  mobile: 'mobile phone',
};
export function checkChanges(deps: RuleDeps, extension: string, changes: FeatureChanges): void {
  for (const key of FORWARDS) checkForward(deps, extension, changes[key] ?? '');
  const { devices = 'all' } = changes;
  if (devices === 'all') return;
  const endpoints = deps.directory.byExtension(extension)?.endpoints ?? [];
  if (!endpoints.some(({ kind }) => isRung(devices, kind))) {
    const missing = (Object.keys(WORDS) as EndpointKind[]).filter((kind) => isRung(devices, kind));
    const named = sayAll(
      missing.map((kind) => asSaid(WORDS[kind])),
      ', ',
    );
    throw new ServiceError('invalid_request', say`allowed_phone_mode: ${extension} has no ${named}`);
  }
}
