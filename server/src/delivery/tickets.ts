import { randomBytes } from 'node:crypto';
import { ServiceError } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Caller } from '../ports/http.ts';
import type { Credentials } from '../ports/stream.ts';

/** Life of an unused ticket, in ms. */
export const TICKET_MS = 30_000;
const MAX_TICKETS = 50_000;
const MAX_EACH = 20;

export interface Tickets {
  /** Throws `too_many_requests` if this caller holds too many unused tickets. */
  issue(caller: Caller): { readonly ticket: string; readonly expires_at: number };
  /** The caller it was issued to; null if it is unknown, used, expired, or its session has ended. */
  redeem(ticket: string): Caller | null;
  /** Forgets the unused tickets of the callers that `of` selects. */
  drop(of: (caller: Caller) => boolean): void;
  close(): void;
}

/** Tickets that another node issued. */
export interface RemoteTickets {
  /** As `Tickets.redeem`. */
  redeem(ticket: string): Caller | null | Promise<Caller | null>;
}
/** Single-use credentials for clients that cannot send headers with a WebSocket; in memory, oldest first. */
export function createTickets({ clock, credentials }: { clock: Clock; credentials: Credentials }): Tickets {
  const open = new Map<string, { readonly caller: Caller; readonly until: number }>();
  const each = new Map<number, number>();
  const drop = (ticket: string): void => {
    const held = open.get(ticket);
    if (held === undefined) return;
    open.delete(ticket);
    const left = (each.get(held.caller.person_id) ?? 1) - 1;
    if (left > 0) each.set(held.caller.person_id, left);
    else each.delete(held.caller.person_id);
  };
  const sweep = (): void => {
    for (const [ticket, { until }] of open) {
      if (until > clock.now()) return;
      drop(ticket);
    }
  };
  const dropAll = (of: (caller: Caller) => boolean): void => {
    for (const [ticket, { caller }] of open) if (of(caller)) drop(ticket);
  };
  const stops = [
    credentials.onSessionEnded((id) => dropAll((caller) => caller.key === null && caller.session_id === id)),
    credentials.onKeyEnded((id) => dropAll((caller) => caller.key?.id === id)),
  ];
  return {
    issue(caller) {
      sweep();
      const mine = each.get(caller.person_id) ?? 0;
      if (mine >= MAX_EACH || open.size >= MAX_TICKETS) {
        throw new ServiceError(
          'too_many_requests',
          'too many tickets were issued and not used; use one or wait until they expire',
          {
            retry_after_seconds: TICKET_MS / 1000,
          },
        );
      }
      const ticket = randomBytes(32).toString('base64url');
      const until = clock.now() + TICKET_MS;
      open.set(ticket, { caller, until });
      each.set(caller.person_id, mine + 1);
      return { ticket, expires_at: until };
    },
    redeem(ticket) {
      const held = open.get(ticket);
      drop(ticket);
      return held === undefined || held.until <= clock.now() ? null : held.caller;
    },
    drop: dropAll,
    close() {
      for (const stop of stops) stop();
    },
  };
}
