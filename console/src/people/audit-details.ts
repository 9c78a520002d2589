/** Details of audit lines, by their names and values. */
import type { AuditRow } from '@offhook/contract/audit.ts';
import { fieldLabel } from '../admin/field-words.ts';
import { codeText } from '../app/error-words.ts';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('audit-values');
const action = wordsOf('audit-actions');
export const actionsOf = (): readonly string[] => action.keys();
/** Text of an action; a code without one is returned unchanged. */
export const actionText = action as (code: string) => string;
const detail = wordsOf('audit-details') as (name: string) => string;
/** Text of a detail's name: a change of one object of the configuration has the names of its fields. */
export function detailName({ action: done, object }: AuditRow, name: string): string {
  const [kind, key] = object?.split(':') ?? [];
  return done.startsWith('config.') && key !== undefined ? fieldLabel(kind!, name) : detail(name);
}

const DATES = ['expires_at', 'since', 'until'];
const REASONS = ['unknown', 'password', 'disabled', 'otp', 'otp_missing'] as const;
/** Text of a value; names given by machines or people stay unchanged. */
export function detailValue({ action: done, outcome }: AuditRow, name: string, value: unknown): string {
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no');
  if (name === 'bytes') return formatNumber(Number(value));
  if (DATES.includes(name)) return formatDateTime(String(value));
  if (name === 'code' && outcome !== 'ok') return codeText(String(value));
  const reason = name === 'reason' && done.startsWith('session.') && REASONS.find((one) => one === value);
  return reason ? t(`reason_${reason}`) : String(value);
}
