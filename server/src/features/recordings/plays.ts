import { AuditedReads } from '../../commands/audited-reads.ts';
import { AtOnce } from '../../commands/lanes.ts';
import { say } from '../../core/said.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Actor } from '../../ports/operations.ts';

/** Audits listening: one entry for each listening, stored before the first byte is sent. */
export interface Plays {
  /**
   * Throws `too_many_requests`, or `store_unavailable`, because nothing is played without an audit entry.
   * Call `done` at the end.
   */
  begin(actor: Actor, recording: { readonly id: string; readonly call: string }): Promise<{ done(): void }>;
}
export function createPlays({ audit, clock }: { audit: Audit; clock: Clock }): Plays {
  // A player requests a recording in pieces; a piece soon after the last one belongs to the same listening.
  const listening = new AuditedReads({ audit, clock, since: 'last' });
  /** Pieces being sent to each person or API key; a player that seeks requests two or three. */
  const pieces = new AtOnce((count) => say`${count} recordings are being sent to you already`);
  return {
    async begin(actor, { id, call }) {
      const { caller, ip } = actor;
      const done = pieces.enter(caller.person_id);
      try {
        await listening.record(caller, id, {
          action: 'recordings.play',
          actor: caller.username,
          object: id,
          ip,
          detail: { call_id: call },
        });
        return { done };
      } catch (error) {
        done();
        throw error;
      }
    },
  };
}
