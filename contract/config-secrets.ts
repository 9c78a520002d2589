/** Finds configuration changes that set or show secrets, which need a confirmed session. */
import { CONFIG_SECRETS } from './config-objects.ts';
import type { ConfigKind } from './config-objects.ts';

/** Kinds whose objects receive generated secrets, which the reply shows. */
const MADE_UP: readonly ConfigKind[] = ['extension', 'mailbox'];
const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** True when an object or a patch sets or removes a secret. The input is not validated yet. */
export const setsSecrets = (kind: ConfigKind, given: unknown): boolean =>
  isFields(given) && CONFIG_SECRETS[kind].some((name) => name in given);
/** True when the reply for a new object would show secrets, or the object contains some. */
export const makesSecrets = (kind: ConfigKind, given: unknown): boolean =>
  MADE_UP.includes(kind) || setsSecrets(kind, given);
const isKind = (value: unknown): value is ConfigKind =>
  typeof value === 'string' && Object.hasOwn(CONFIG_SECRETS, value);
/** True when any of the changes touches a secret. The input is not validated yet. */
export function changesSecrets(body: unknown): boolean {
  const changes = isFields(body) ? body['changes'] : null;
  if (!Array.isArray(changes)) return false;
  return changes.some((change: unknown) => {
    if (!isFields(change)) return false;
    const { op, create, object, patch } = change;
    const { kind } = change;
    if (!isKind(kind)) return false;
    return op === 'create' || create === true
      ? makesSecrets(kind, object)
      : setsSecrets(kind, object) || setsSecrets(kind, patch);
  });
}
