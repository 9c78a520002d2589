import { AtOnce } from '../../commands/lanes.ts';
import { say } from '../../core/said.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Actor } from '../../ports/operations.ts';

/** A player asks for a recording piece by piece: what comes within this time of the piece before is the same listening. */
export const SAME_LISTENING_MS = 5 * 60_000;
const MOST_REMEMBERED = 10_000;

/** Who listens to what: each listening is one line of the audit trail, written before the first byte leaves. */
export interface Plays {
  /** Throws `too_many_requests`, or `store_unavailable`: nothing is played unseen. `done` must be called once it is over. */
  begin(actor: Actor, recording: { readonly id: string; readonly call: string }): Promise<{ done(): void }>;
}
export function createPlays({ audit, clock }: { audit: Audit; clock: Clock }): Plays {
  /** When the newest piece was asked for. */
  const listening = new Map<string, number>();
  /** Pieces under way for each person or key; a player that seeks has two or three. */
  const pieces = new AtOnce((count) => say`${count} recordings are being sent to you already`);
  const remember = (key: string): void => {
    // The newest stand last, so that the oldest is forgotten first.
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
