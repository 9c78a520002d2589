import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { ConnectorFile } from './format/load.ts';
import { readSettings } from './format/settings.ts';
import { fillText } from './format/template.ts';
import type { ConnectorRow } from './store.ts';

type Settings = Pick<ConnectorRow, 'settings' | 'secrets'>;

/** Stored settings for a changed file. A secret is kept only if the new file declares it as a secret, too. */
export function keptOf({ document }: ConnectorFile, { settings, secrets }: Settings): Record<string, string> {
  const known = new Map(Object.entries(document.settings));
  return Object.fromEntries([
    ...Object.entries(settings).filter(([name]) => known.has(name)),
    ...Object.entries(secrets).filter(([name]) => known.get(name)?.secret === true),
  ]);
}
/** Addresses to which secrets are sent. */
function addressesOf(file: ConnectorFile, { settings, secrets }: Settings): readonly (string | undefined)[] {
  const { values } = readSettings(file.document, { ...settings, ...secrets });
  const { base, auth } = file;
  const all = auth.kind === 'oauth2' ? [base, auth.token, auth.authorize] : [base];
  return all.flatMap((one) => (one === undefined ? [] : [fillText(one, { set: values })]));
}
/**
 * True if requests go to a new address. Throws `invalid_request` if a stored secret would be sent there, because the
 * right to change the address is not the right to read the secret.
 */
export function isMoved(
  before: { readonly file: ConnectorFile | null; readonly row: Settings },
  after: { readonly file: ConnectorFile; readonly row: Settings },
  given: Readonly<Record<string, string>>,
): boolean {
  const known = before.file === null ? [] : addressesOf(before.file, before.row);
  if (addressesOf(after.file, after.row).every((one) => known.includes(one))) return false;
  const kept = Object.keys(after.row.secrets).find((name) => !Object.hasOwn(given, name));
  if (kept !== undefined)
    throw new ServiceError(
      'invalid_request',
      say`settings.${kept}: is needed again because the address changes`,
    );
  return true;
}
