import type { Transaction } from 'kysely';

/** One line of the audit trail. `detail` never holds a secret. */
export interface AuditEntry {
  /** e.g. `session.login`, `session.login_failed`, `agent.pause`. */
  readonly action: string;
  /** Extension or user name of the actor; null when unknown. */
  readonly actor: string | null;
  /** The object of the action. */
  readonly object: string | null;
  readonly outcome: 'ok' | 'refused' | 'failed';
  readonly ip: string | null;
  readonly detail?: Readonly<Record<string, string | number | boolean | null>>;
}
/** Append-only. Where the trail cannot be written, actions throw `store_unavailable`; failed sign-ins are only logged. */
export interface Audit {
  record(entry: AuditEntry): Promise<void>;
  /** Writes lines within the caller's transaction: they are kept if that commits, and cost no flush of their own. */
  recordIn?<T>(trx: Transaction<T>, ...entries: readonly AuditEntry[]): Promise<void>;
}
