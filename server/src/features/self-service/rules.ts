import type { Destination } from '@offhook/contract/call-settings.ts';
import { ServiceError } from '../../core/errors.ts';
import { asSaid, say, sayAll } from '../../core/said.ts';
import type { Directory, EndpointKind } from '../../ports/directory.ts';
import { isRung } from '../../ports/engine.ts';
import type { FeatureChanges } from './view.ts';

export interface RuleDeps {
  readonly directory: Pick<Directory, 'byExtension' | 'queues' | 'leadsOut'>;
  /** Whether this is the number of a ring group, a menu or another place of the house that takes calls. */
  readonly isPlace: (number: string) => boolean;
  /** Whether the calls of this extension may be led to this number outside. */
  readonly mayForwardOutside: (extension: string, number: string) => boolean;
  readonly destinationOf: (number: string) => Destination;
}
export const FORWARDS = ['forward', 'forward_busy', 'forward_no_answer'] as const;
/** No right allows these: premium numbers cost money, and callers must not be led to the others. */
const NEVER: ReadonlySet<Destination> = new Set(['premium', 'emergency', 'feature_code']);

/**
 * Throws `invalid_request` for a forward to oneself, `destination_not_allowed` for a number outside that calls may not be led to,
 * `no_route` for one that leads nowhere. The dialplan asks the same at the moment of each call, but for what it costs.
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
  const destination = destinationOf(number);
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
