import { AtOnce } from '../../commands/lanes.ts';
import { say } from '../../core/said.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Actor } from '../../ports/operations.ts';

/** A player requests a recording in pieces; a piece within this time of the last one belongs to the same listening. */
export const SAME_LISTENING_MS = 5 * 60_000;
const MOST_REMEMBERED = 10_000;

/** Audits listening: one entry for each listening, stored before the first byte is sent. */
export interface Plays {
  /**
   * Throws `too_many_requests`, or `store_unavailable`, because nothing is played without an audit entry.
   * Call `done` at the end.
   */
  begin(actor: Actor, recording: { readonly id: string; readonly call: string }): Promise<{ done(): void }>;
}
export function createPlays({ audit, clock }: { audit: Audit; clock: Clock }): Plays {
  /** Time of the newest piece, by listening. */
  const listening = new Map<string, number>();
  /** Pieces being sent to each person or API key; a player that seeks requests two or three. */
  const pieces = new AtOnce((count) => say`${count} recordings are being sent to you already`);
  const remember = (key: string): void => {
    // Newest last, so that the oldest is dropped first.
    listening.delete(key);
    listening.set(key, clock.now());
    if (listening.size > MOST_REMEMBERED) listening.delete(listening.keys().next().value!);
  };
  return {
    async begin(actor, { id, call }) {
      const { person_id, session_id, username } = actor.caller;
      const done = pieces.enter(person_id);
      try {
        const key = `${person_id} ${session_id} ${id}`;
        if ((listening.get(key) ?? -Infinity) < clock.now() - SAME_LISTENING_MS) {
          await audit.record({
            action: 'recordings.play',
            actor: username,
            object: id,
            outcome: 'ok',
            ip: actor.ip,
            detail: { call_id: call },
          });
        }
        remember(key);
        return { done };
      } catch (error) {
        done();
        throw error;
      }
    },
  };
}
