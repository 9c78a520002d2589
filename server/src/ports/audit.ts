import type { Transaction } from 'kysely';

/** One line of the audit trail. `detail` never holds a secret. */
export interface AuditEntry {
  /** e.g. `session.login`, `session.login_failed`, `agent.pause`. */
  readonly action: string;
  /** Extension or user name of who did it; null when unknown. */
  readonly actor: string | null;
  /** What it was done to. */
  readonly object: string | null;
  readonly outcome: 'ok' | 'refused' | 'failed';
  readonly ip: string | null;
  readonly detail?: Readonly<Record<string, string | number | boolean | null>>;
}
/** Append-only. A trail that cannot be written is `store_unavailable` for actions, and only logged for failed sign-ins. */
export interface Audit {
  record(entry: AuditEntry): Promise<void>;
  /** Writes a line in a transaction of the caller's: it holds if and when that is committed, and costs no flush of its own. */
  recordIn?<T>(trx: Transaction<T>, entry: AuditEntry): Promise<void>;
}
