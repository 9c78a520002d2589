/** Counts the SIP requests that the engine refused and writes them to log and audit trail in bounded form. */
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SipRefusal } from '../../ports/engine.ts';

type Reason = SipRefusal['reason'];
export const REFUSAL_REASONS = [
  'password',
  'account',
  'address',
  'request',
] as const satisfies readonly Reason[];
export interface SipSecurity {
  /** Accepts every refused SIP request. */
  refused(refusal: SipRefusal): void;
  readonly totals: Readonly<Record<Reason, number>>;
  /** Counts of the last minute. */
  lastMinute(): { readonly requests: number; readonly addresses: number };
  /** Writes the counts that are not in the audit trail yet. */
  close(): Promise<void>;
}
/** Limit of addresses per minute with a line of their own. */
export const MOST_ADDRESSES = 50;
const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;
const SECONDS = MINUTE_MS / SECOND_MS;

interface Counted {
  readonly reasons: Record<Reason, number>;
  /** The only account that was tried; null for none, undefined for several. */
  account: string | null | undefined;
}
const none = (): Record<Reason, number> => ({ password: 0, account: 0, address: 0, request: 0 });

export function createSipSecurity({
  audit,
  clock,
  log,
  isAccount,
}: {
  readonly audit: Audit;
  readonly clock: Clock;
  readonly log: Log;
  /** True for an account that exists. */
  readonly isAccount: (account: string) => boolean;
}): SipSecurity {
  const totals = none();
  const seconds = Array.from({ length: SECONDS }, () => ({ at: -1, requests: 0 }));
  let minute = new Map<string, Counted>();
  let others = none();
  /** Addresses with the time of their last refusal; bounded. */
  let recent = new Map<string, number>();
  const stop = new AbortController();
  let flushing: Promise<void> | null = null;

  const sum = (reasons: Readonly<Record<Reason, number>>): number =>
    REFUSAL_REASONS.reduce((all, reason) => all + reasons[reason], 0);
  async function write(): Promise<void> {
    const [counted, rest] = [minute, others];
    minute = new Map();
    others = none();
    const rows = [...counted].map(([ip, { reasons, account }]) => ({
      ip,
      reasons,
      account: account ?? null,
    }));
    if (sum(rest) > 0) rows.push({ ip: '', reasons: rest, account: null });
    for (const { ip, reasons, account } of rows) {
      const detail = { requests: sum(reasons), ...reasons };
      log.warn({ ip, object: account, ...detail }, 'SIP requests were refused');
      await audit
        .record({
          action: 'sip.refused',
          actor: null,
          object: account,
          outcome: 'refused',
          ip: ip === '' ? null : ip,
          detail,
        })
        .catch((error: unknown) =>
          log.error({ error: messageOf(error) }, 'refused SIP requests could not be audited'),
        );
    }
  }
  async function writeAtMinute(): Promise<void> {
    const now = clock.now();
    await clock.sleep(MINUTE_MS - (now % MINUTE_MS), stop.signal).catch(() => undefined);
    flushing = null;
    await write();
  }
  return {
    totals,
    refused({ reason, address, account }) {
      const now = clock.now();
      totals[reason] += 1;
      const second = Math.floor(now / SECOND_MS);
      const slot = seconds[second % SECONDS]!;
      if (slot.at !== second) Object.assign(slot, { at: second, requests: 0 });
      slot.requests += 1;
      recent.delete(address);
      recent.set(address, now);
      if (recent.size > 2 * MOST_ADDRESSES) recent.delete(recent.keys().next().value!);
      const known = isAccount(account) ? account : null;
      const counted = minute.get(address);
      if (counted !== undefined) {
        counted.reasons[reason] += 1;
        if (counted.account !== known) counted.account = undefined;
      } else if (minute.size < MOST_ADDRESSES) {
        minute.set(address, { reasons: { ...none(), [reason]: 1 }, account: known });
      } else {
        others[reason] += 1;
      }
      flushing ??= writeAtMinute();
    },
    lastMinute() {
      const now = clock.now();
      const from = Math.floor(now / SECOND_MS) - SECONDS;
      return {
        requests: seconds.reduce((all, s) => (s.at > from ? all + s.requests : all), 0),
        addresses: [...recent.values()].filter((at) => at > now - MINUTE_MS).length,
      };
    },
    async close() {
      stop.abort();
      await flushing;
      await write();
    },
  };
}
