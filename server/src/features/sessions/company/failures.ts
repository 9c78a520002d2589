/** Failures of a sign-in by the company: what the browser is shown, and what the log and the audit trail keep. */
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { cutText } from '../../../core/cut-text.ts';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import type { AuditEntry } from '../../../ports/audit.ts';
import type { Common } from '../../../ports/common.ts';
import type { Flow } from './flow.ts';

export type FailureDeps = Common<'audit' | 'directory' | 'log'>;
export const FAILED = 'a sign-in by the company failed';
export const LONGEST_TEXT = 300;

/** A refusal: the browser is shown the words of the code, the log has the reason. */
export class Refused extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, reason: string) {
    super(reason);
    this.code = code;
  }
}
export const failed = (reason: string): Refused => new Refused('company_sign_in_failed', reason);
export const codeOf = (error: unknown): ErrorCode =>
  error instanceof Refused || error instanceof ServiceError ? error.code : 'company_sign_in_failed';
/** Page of the console that shows a failure. */
export const failureAt = (code: ErrorCode, window: boolean): string =>
  `/?sign_in_error=${code}${window ? '&window' : ''}`;

/** Members of errors of the library and of answers of a provider that say what is wrong. */
const TELLING = ['code', 'status', 'error', 'error_description', 'expected', 'body', 'issuer'] as const;
/** What an administrator has to know of an error, at most `LONGEST_TEXT` characters. */
export function reasonOf(error: unknown): string {
  const parts: string[] = [];
  for (let one: unknown = error; one !== undefined && one !== null; one = (one as Error).cause) {
    if (one instanceof Error) parts.push(messageOf(one));
    if (typeof one !== 'object') break;
    for (const name of TELLING) {
      const value = (one as Readonly<Record<string, unknown>>)[name];
      if (value !== undefined) parts.push(`${name} ${JSON.stringify(value)}`);
    }
    if (one instanceof URLSearchParams)
      parts.push(one.get('error') ?? '', one.get('error_description') ?? '');
  }
  return cutText(parts.filter(Boolean).join('; '), LONGEST_TEXT);
}

/** The answer is sent even if this cannot be stored. */
async function record(
  { audit, log }: FailureDeps,
  entry: Pick<AuditEntry, 'action' | 'actor' | 'object' | 'detail'>,
  ip: string,
): Promise<void> {
  await audit.record({ ...entry, outcome: 'refused', ip }).catch((error: unknown) => {
    const why = { error: messageOf(error), action: entry.action };
    log.warn(why, 'an entry of the audit trail could not be stored');
  });
}
/** Logs and audits a failure; the address at which the console shows it. */
export async function failure(deps: FailureDeps, flow: Flow, error: unknown, ip: string): Promise<string> {
  const code = codeOf(error);
  deps.log.warn({ code, error: reasonOf(error), ip }, FAILED);
  const again = flow.challenge.again ? flow.session : null;
  if (again !== null) {
    const who = deps.directory.people().find(({ id }) => id === again.person_id)?.extension ?? null;
    await record(
      deps,
      { action: 'session.confirm_failed', actor: who, object: who, detail: { reason: code } },
      ip,
    );
  } else if (code === 'company_account_unknown' || code === 'account_disabled')
    await record(
      deps,
      { action: 'session.login_failed', actor: null, object: null, detail: { reason: code } },
      ip,
    );
  return failureAt(code, flow.window);
}
