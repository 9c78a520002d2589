import { ServiceError } from '../core/errors.ts';
import type { Audit, AuditEntry } from '../ports/audit.ts';

/** An audit entry without its outcome. */
export type Line = Omit<AuditEntry, 'outcome'>;
export const codeOf = (error: unknown): string => (error instanceof ServiceError ? error.code : 'internal');
/** The audit entry of a failure, with its error code. */
export const failureOf = (line: Line, error: unknown): AuditEntry => ({
  ...line,
  outcome: error instanceof ServiceError && error.status < 500 ? 'refused' : 'failed',
  detail: { ...line.detail, code: codeOf(error) },
});
/**
 * Runs work that cannot be repeated for its audit entry: the entry is written first, and a second one if the work fails. Throws
 * the error of the work, also where the second entry cannot be stored.
 */
export async function audited<T>(audit: Audit, line: Line, work: () => Promise<T>): Promise<T> {
  await audit.record({ ...line, outcome: 'ok' });
  try {
    return await work();
  } catch (error) {
    await audit.record(failureOf(line, error)).catch(() => undefined);
    throw error;
  }
}
