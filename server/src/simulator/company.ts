/** Configuration of the simulated site: the demo company, or that of a file. */
import { ConfigDocument, documentField } from '@offhook/contract/config.ts';
import { KINDS } from '@offhook/contract/config-objects.ts';
import { ServiceError } from '../core/errors.ts';
import { checkInput } from '../core/check-input.ts';
import { DEMO_PEOPLE, DEMO_QUEUES } from '../features/pbx-config/demo.ts';
import { readDocumentFile } from '../features/pbx-config/document-file.ts';
import type { Objects } from '../features/pbx-config/put.ts';

/** The demo company, with a line to the outside. */
const DEMO: Objects = {
  extension: DEMO_PEOPLE,
  queue: DEMO_QUEUES,
  trunk: [{ name: 'north', title: 'North', host: '192.0.2.10' }],
  outbound_route: [
    { name: 'out', title: 'Outside', patterns: ['+X!', '00X!'], trunks: [{ trunk: 'north' }] },
  ],
};

/**
 * The company of a document such as `npm run config -- export` writes; a kind that it lacks is as on a new site. Throws
 * `invalid_request`; whether the objects fit each other is the service's own check.
 */
export function companyOf(document: object, name: string): Objects {
  const whole = checkInput(ConfigDocument, document, name) as Readonly<Record<string, unknown>>;
  const company = Object.fromEntries(
    KINDS.flatMap((kind) => {
      const objects = whole[documentField(kind)];
      return objects === undefined ? [] : [[kind, objects]];
    }),
  ) as Objects;
  if (company.extension?.some(({ level }) => level === 'admin') !== true)
    throw new ServiceError('invalid_request', `${name}: no extension has the level admin`);
  return company;
}
/** `seed`: path of a document; without one the demo company. */
export const readCompany = async (seed: string | undefined): Promise<Objects> =>
  seed === undefined ? DEMO : companyOf(await readDocumentFile(seed), seed);
